import LaunchContract

/// How a toggle came to its value, in the words of OpenFeature's evaluation details.
///
/// ```swift
/// let details = controls.toggles.details(.darkMode)
/// print(details.flagKey, details.value, details.reason.rawValue)   // dark-mode true STATIC
/// ```
public struct ToggleDetails<Value: Sendable>: Sendable {
  /// The toggle's name.
  public let flagKey: String
  /// What reading the toggle gives.
  public let value: Value
  /// The value's text, where it is a truth value, a number, a string or a choice; nil for others and for errors.
  public let variant: String?
  /// Why it is that value.
  public let reason: EvaluationReason
  /// What went wrong, where ``reason`` is ``EvaluationReason/error``.
  public let errorCode: EvaluationErrorCode?
  /// One line on what went wrong.
  public let errorMessage: String?
}

/// Why a toggle has its value: the reasons of OpenFeature that occur here.
public enum EvaluationReason: String, Sendable {
  /// A test has set it.
  case `static` = "STATIC"
  /// Nobody has set it: the declaration's default.
  case `default` = "DEFAULT"
  /// What a test has set cannot be used, or nobody knows the toggle: the declaration's default.
  case error = "ERROR"
}

/// What went wrong with a toggle: the error codes of OpenFeature that occur here.
public enum EvaluationErrorCode: String, Sendable {
  /// The contract's value is of another type than the toggle.
  case typeMismatch = "TYPE_MISMATCH"
  /// The app has declared what it knows, this toggle is not among it, and no test has set it.
  case flagNotFound = "FLAG_NOT_FOUND"
}

extension Toggles {
  /// The value of a toggle, and how it came to it.
  ///
  /// Live every toggle has its default, with the reason ``EvaluationReason/default``. This takes longer than a reading
  /// by subscript, and counts as one.
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

extension ContractValue {
  /// The text of what is neither a structure nor nothing.
  fileprivate var scalarText: String? {
    switch self {
    case .bool, .int, .double, .string: text
    case .null, .array, .object: nil
    }
  }
}
