/// A named value of the app's own type that a test can hand over, and what it is without a test.
///
/// ```swift
/// extension ValueKey<Location> {
///   static let location = ValueKey("location", default: .london, purpose: "Where the patient is.")
/// }
/// let here = controls.values[.location]
/// ```
///
/// Besides `Codable` types it takes truth values, numbers, strings and enumerations of strings or whole numbers.
public struct ValueKey<Value: Sendable>: Sendable {
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

extension ValueKey<Bool> {
  /// A truth value: `true` or `false` in the contract.
  public init(_ name: String, default value: Bool, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey<Int> {
  /// A whole number.
  public init(_ name: String, default value: Int, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey<Double> {
  /// A number, whole or not.
  public init(_ name: String, default value: Double, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey<String> {
  /// A text.
  public init(_ name: String, default value: String, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey where Value: RawRepresentable, Value.RawValue == String {
  /// A choice, by the raw value of its case.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension ValueKey where Value: RawRepresentable, Value.RawValue == Int {
  /// A choice, by the raw value of its case.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension ValueKey where Value: Codable {
  /// A value of the app's own type, as JSON.
  @_disfavoredOverload
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .json)
  }
}
