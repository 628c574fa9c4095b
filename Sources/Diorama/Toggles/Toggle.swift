/// A named switch or value that a test can steer the app with, and what it is without a test.
///
/// ```swift
/// extension Toggle<Bool> {
///   static let skipOnboarding = Toggle("skip-onboarding", default: false, purpose: "Goes straight to the booking.")
/// }
/// if controls.toggles[.skipOnboarding] { … }
/// ```
///
/// Declare it once, as a static constant: a reading is fast from the second time on.
public struct Toggle<Value: Sendable>: Sendable {
  @usableFromInline let declared: Declared<Value>

  /// The name by which a test sets it.
  public var name: String { declared.name }
  /// The value where no test sets it.
  public var defaultValue: Value { declared.defaultValue }
  /// What it is for, in a sentence; may be empty.
  public var purpose: String { declared.purpose }

  private init(_ name: String, _ value: Value, _ purpose: String, _ form: ValueForm<Value>) {
    declared = Declared(name, value, purpose, form)
  }
}

extension Toggle<Bool> {
  /// A switch: `true` or `false` in the contract.
  public init(_ name: String, default value: Bool, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle<Int> {
  /// A whole number.
  public init(_ name: String, default value: Int, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle<Double> {
  /// A number, whole or not.
  public init(_ name: String, default value: Double, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle<String> {
  /// A text.
  public init(_ name: String, default value: String, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle where Value: RawRepresentable, Value.RawValue == String {
  /// A choice, by the raw value of its case: `"dark"`.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension Toggle where Value: RawRepresentable, Value.RawValue == Int {
  /// A choice, by the raw value of its case: `2`.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension Toggle where Value: Codable {
  /// A value of the app's own type, as JSON.
  @_disfavoredOverload
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .json)
  }
}
