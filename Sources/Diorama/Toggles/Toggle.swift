import Basics
import LaunchContract

/// A named setting of the app that a test can override, with its default.
///
/// ```swift
/// extension Toggle<Bool> {
///   static let skipOnboarding = Toggle("skip-onboarding", default: false, purpose: "Goes straight to the booking.")
/// }
/// if controls.toggles[.skipOnboarding] { … }
/// ```
///
/// Declare it once, as a static constant, so that repeated readings are fast.
public struct Toggle<Value: Sendable>: Sendable {
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

extension Toggle<Bool> {
  /// A Boolean toggle: `true` or `false` in the contract.
  public init(_ name: String, default value: Bool, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle<Int> {
  /// An integer toggle.
  public init(_ name: String, default value: Int, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle<Double> {
  /// A floating-point toggle.
  public init(_ name: String, default value: Double, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle<String> {
  /// A string toggle.
  public init(_ name: String, default value: String, purpose: String = "") {
    self.init(name, value, purpose, .scalar)
  }
}

extension Toggle where Value: RawRepresentable, Value.RawValue == String {
  /// An enumeration toggle; the contract has the raw value: `"dark"`.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension Toggle where Value: RawRepresentable, Value.RawValue == Int {
  /// An enumeration toggle; the contract has the raw value: `2`.
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .raw)
  }
}

extension Toggle where Value: Codable {
  /// A toggle of the app's own type; the contract has its JSON.
  @_disfavoredOverload
  public init(_ name: String, default value: Value, purpose: String = "") {
    self.init(name, value, purpose, .json)
  }
}

/// The value of a toggle with its origin, like OpenFeature's evaluation details.
///
/// ```swift
/// let details = controls.toggles.details(.darkMode)
/// print(details.flagKey, details.value, details.reason.rawValue)   // dark-mode true STATIC
/// ```
public struct ToggleDetails<Value: Sendable>: Sendable {
  /// The toggle's name.
  public let flagKey: String
  /// The toggle's value.
  public let value: Value
  /// The value as text if it is a Boolean, a number, a string or an enumeration; nil for other types and errors.
  public let variant: String?
  /// The origin of the value.
  public let reason: EvaluationReason
  /// The error, if ``reason`` is ``EvaluationReason/error``.
  public let errorCode: EvaluationErrorCode?
  /// A description of the error, on one line.
  public let errorMessage: String?
}

/// The origin of a toggle's value: a subset of OpenFeature's reasons.
public enum EvaluationReason: String, Sendable {
  /// Set by a test.
  case `static` = "STATIC"
  /// The declaration's default, because no test sets the toggle.
  case `default` = "DEFAULT"
  /// The declaration's default, because the test's value is not usable or the toggle is unknown.
  case error = "ERROR"
}

/// An error in a toggle's value: a subset of OpenFeature's error codes.
public enum EvaluationErrorCode: String, Sendable {
  /// The contract's value has a different type.
  case typeMismatch = "TYPE_MISMATCH"
  /// The toggle is missing from the app's registry, and no test sets it.
  case flagNotFound = "FLAG_NOT_FOUND"
}

extension Toggles {
  /// The value of a toggle and its origin.
  ///
  /// Without a contract every toggle has its default, with the reason ``EvaluationReason/default``. This is slower than
  /// the subscript, and counts as a reading.
  public func details<Value>(_ toggle: Toggle<Value>) -> ToggleDetails<Value> {
    let declared = toggle.declared
    var value = declared.defaultValue
    var reason = EvaluationReason.default
    var error: (code: EvaluationErrorCode, message: String)?
    #if DEBUG || Controlled
      if let store = reader.store {
        let resolution = store.resolve(declared)
        value = resolution.value
        if resolution.isGiven {
          reason = .static
        } else if let problem = resolution.problem {
          error = (.typeMismatch, problem)
        } else if let known = store.hooks.known, !known.contains(declared.name) {
          error = (.flagNotFound, ControlRegistry.unknown("the toggle \(declared.name)", declared.name, among: known))
        }
      }
    #endif
    return ToggleDetails(
      flagKey: declared.name, value: value, variant: error == nil ? declared.form.write(value).scalarText : nil,
      reason: error == nil ? reason : .error, errorCode: error?.code, errorMessage: error?.message)
  }
}

extension JSON {
  /// The text of a Boolean, number or string.
  fileprivate var scalarText: String? {
    switch self {
    case .bool, .number, .string: text
    case .null, .array, .object: nil
    }
  }
}
