import LaunchContract

/// Why an environment could not be provisioned, changed or ended.
package struct EnvironmentError: Error, Sendable, CustomStringConvertible {
  /// The kind of failure. The raw values are the exit statuses of `sysexits.h`.
  package enum Kind: Int32, Sendable, CaseIterable {
    /// The caller asked for something that is not valid (EX_USAGE).
    case usage = 64
    /// A cassette or a launch contract is corrupt (EX_DATAERR).
    case broken = 65
    /// The cassette does not exist (EX_NOINPUT).
    case noCassette = 66
    /// An upstream cannot be reached, or is not declared (EX_UNAVAILABLE).
    case noUpstream = 69
    /// A file cannot be created or written (EX_CANTCREAT).
    case cannotWrite = 73
    /// Reading failed, or the system refused an operation (EX_IOERR).
    case inputOutput = 74
    /// The app did not do what was expected, or not in time (EX_TEMPFAIL).
    case unanswered = 75

    /// The kind's name in a problem document, such as `noCassette`.
    package var name: String { "\(self)" }

    /// - Parameter name: a name from a problem document.
    package init?(name: String) {
      guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
      self = kind
    }
  }

  /// The kind of failure; its raw value is the exit status of a command that fails with this error.
  package let kind: Kind
  /// One line: what happened, where, and what to do next.
  package let message: String

  /// - Parameters:
  ///   - kind: the kind of failure.
  ///   - message: what happened, where, and what to do next. Control characters are escaped.
  package init(_ kind: Kind, _ message: String) {
    self.kind = kind
    self.message = message.escapedForTerminal
  }

  package var description: String { message }
}
