import LaunchContract

/// Why a daemon did not do what it was asked for, or could not be asked.
package struct DaemonClientError: Error, Sendable, CustomStringConvertible {
  /// What to tell apart.
  package enum Kind: Sendable, Equatable {
    /// None has been started for this state folder.
    case noDaemon
    /// There was one; nothing answers at its socket any more.
    case dead
    /// Its process is stopped, as by Ctrl-Z.
    case suspended
    /// Its process runs and does not answer in time.
    case unresponsive
    /// It could not be started.
    case notStarted
    /// What is in the state folder cannot be trusted or read.
    case unusable
    /// It answered, and said no: the words are its own.
    ///
    /// `problem` is the `kind` of its problem document.
    case refused(status: Int, problem: String?)
    /// What answered is no daemon of ours, or one of another version.
    case notUnderstood
  }

  /// What went wrong.
  package let kind: Kind
  /// One line: what, where and what to do next.
  package let message: String

  /// - Parameters:
  ///   - kind: what went wrong.
  ///   - message: what, where and what to do next; what would steer a terminal is escaped.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message.escapedForTerminal
  }

  package var description: String { message }
}
