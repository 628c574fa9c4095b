import Basics
import LaunchContract

/// Why an environment could not be provisioned, kept or ended well.
package struct EnvironmentError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure, as sysexits.h names them.
  package enum Kind: Int32, Sendable, CaseIterable {
    /// The caller asked for something that makes no sense (EX_USAGE).
    case usage = 64
    /// A cassette or a contract is broken (EX_DATAERR).
    case broken = 65
    /// There is no such cassette (EX_NOINPUT).
    case noCassette = 66
    /// An upstream cannot be reached, or is not declared (EX_UNAVAILABLE).
    case noUpstream = 69
    /// A file cannot be created or written (EX_CANTCREAT).
    case cannotWrite = 73
    /// Reading failed, or the system refused (EX_IOERR).
    case inputOutput = 74
    /// The app did not do what it was to do, or not in time (EX_TEMPFAIL).
    case unanswered = 75

    /// Its name in a problem document: `noCassette`.
    package var name: String { "\(self)" }

    /// - Parameter name: as in a problem document.
    package init?(name: String) {
      guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = kind
    }
  }

  /// What kind of failure; its raw value is the exit status of a command that ends by it.
  package let kind: Kind
  /// One line: what, where and what to do next.
  package let message: String

  /// - Parameters:
  ///   - kind: what kind of failure.
  ///   - message: what, where and what to do next; what would steer a terminal is escaped.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message.escapedForTerminal
  }

  package var description: String { message }
}
