import LaunchContract

/// Why the app's world could not be set up, or could not answer: one line of what, where and what to do next.
public struct DioramaError: Error, Sendable, Equatable, CustomStringConvertible {
  /// What kind of trouble it is, for code that wants to tell.
  public enum Kind: Sendable {
    /// The launch contract cannot be read, or asks for what cannot be had. The app should not start.
    case contract
    /// The environment that the contract names does not answer, or refuses.
    case control
    /// A key, length, alphabet or range that no random value can be made for.
    case invalidRequest
    /// A replay asks for a random value that was not recorded.
    case missingString
    /// The clock cannot do what was asked of it.
    case clock
    /// Work was not done by its deadline.
    case deadline
  }

  /// What kind of trouble it is.
  public let kind: Kind
  /// One line for a person.
  public let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  init(_ error: ContractError) {
    self.init(.contract, error.description)
  }
}
