import Basics
import LaunchContract

/// An error in setting up the app's environment or in using it; the description is one line.
public struct DioramaError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The category of the error.
  public enum Kind: Sendable {
    /// The launch contract cannot be read or fulfilled. The app should not start.
    case contract
    /// The environment named in the contract does not respond, or refuses a request.
    case control
    /// An invalid key, length, alphabet or range of a random value.
    case invalidRequest
    /// A replay needs a random value that was not recorded.
    case missingString
    /// The clock does not support the operation.
    case clock
    /// The deadline passed before the work was done.
    case deadline
  }

  /// The category of the error.
  public let kind: Kind
  /// One line: what happened, where, and what to do next.
  public let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  init(_ error: CodedError) {
    self.init(.contract, error.description)
  }
}
