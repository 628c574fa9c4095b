/// A named value of the app that a test can set, with its default.
///
/// ```swift
/// extension ValueKey<Location> {
///   static let location = ValueKey("location", default: .london, purpose: "Where the patient is.")
/// }
/// let here = controls.values[.location]
/// ```
///
/// Besides `Codable` types, it supports Booleans, numbers, strings, and enumerations of strings or integers.
public struct ValueKey<Value: Sendable>: Sendable {
  @usableFromInline let declared: Declared<Value>

  /// The name that tests use.
  public var name: String { declared.name }
  /// The value unless a test sets it.
  public var defaultValue: Value { declared.defaultValue }
  /// Its purpose, in a sentence; may be empty.
  public var purpose: String { declared.purpose }

  private init(_ name: String, _ value: Value, _ purpose: String, _ form: ValueForm<Value>) {
    declared = Declared(name, value, purpose, form)
  }
}

extension ValueKey<Bool> {
  /// A Boolean: `true` or `false` in the contract.
  public init(_ name: String, default value: Bool, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey<Int> {
  /// An integer.
  public init(_ name: String, default value: Int, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey<Double> {
  /// A floating-point number.
  public init(_ name: String, default value: Double, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey<String> {
  /// A string.
  public init(_ name: String, default value: String, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension ValueKey where Value: RawRepresentable, Value.RawValue == String {
  /// An enumeration; the contract has the raw value.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension ValueKey where Value: RawRepresentable, Value.RawValue == Int {
  /// An enumeration; the contract has the raw value.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension ValueKey where Value: Codable {
  /// A value of the app's own type; the contract has its JSON.
  @_disfavoredOverload
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .json)
  }
}
