import LaunchContract

/// A named switch or value that a test can steer the app with, and what it is without a test.
///
/// ```swift
/// extension Toggle<Bool> {
///   static let skipOnboarding = Toggle("skip-onboarding", default: false)
/// }
/// if controls.toggles[.skipOnboarding] { … }
/// ```
public struct Toggle<Value: Sendable>: Sendable {
  /// The name by which a test sets it.
  public let name: String
  /// The value where no test sets it.
  public let defaultValue: Value

  /// Takes the value out of the contract; nil when it is of another type.
  let read: @Sendable (ContractValue) -> Value?
  /// Says in a report what the app got.
  let write: @Sendable (Value) -> ContractValue

  private init(
    name: String, defaultValue: Value, read: @escaping @Sendable (ContractValue) -> Value?,
    write: @escaping @Sendable (Value) -> ContractValue
  ) {
    self.name = name
    self.defaultValue = defaultValue
    self.read = read
    self.write = write
  }
}

extension Toggle<Bool> {
  /// A switch: `true` or `false` in the contract.
  public init(_ name: String, default value: Bool) {
    self.init(name: name, defaultValue: value, read: \.bool, write: ContractValue.bool)
  }
}

extension Toggle<Int> {
  /// A whole number.
  public init(_ name: String, default value: Int) {
    self.init(name: name, defaultValue: value, read: \.int, write: ContractValue.int)
  }
}

extension Toggle<Double> {
  /// A number, whole or not.
  public init(_ name: String, default value: Double) {
    self.init(name: name, defaultValue: value, read: \.double, write: ContractValue.double)
  }
}

extension Toggle<String> {
  /// A text.
  public init(_ name: String, default value: String) {
    self.init(name: name, defaultValue: value, read: \.string, write: ContractValue.string)
  }
}
