import Foundation

/// Any JSON value: what a toggle, a user default or a free value of a contract may be.
///
/// A whole number reads as ``int(_:)`` where it fits into 64 bits, as JSON knows no other difference; whoever wants a
/// `Double` takes ``double`` and gets both.
package enum ContractValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([ContractValue])
  case object([String: ContractValue])

  /// Reads the value of an option such as `--toggle NAME=VALUE`: JSON, and what is not JSON is the string itself.
  package init(argument text: String) {
    self = (try? JSONDecoder().decode(ContractValue.self, from: Data(text.utf8))) ?? .string(text)
  }

  /// The truth value; nil for anything but `true` and `false`.
  package var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The whole number; nil for anything else, also for a fraction.
  package var int: Int? {
    switch self {
    case .int(let value): value
    case .double(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, whole or not.
  package var double: Double? {
    switch self {
    case .int(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The string; nil for anything else, also for a number.
  package var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// A string as it is, anything else as JSON with its members in the order of their names.
  package var text: String {
    if case .string(let value) = self { return value }
    guard let data = try? ContractJSON.encode(self) else { return "" }
    return String(decoding: data, as: UTF8.self)
  }
}

extension ContractValue: Codable {
  package init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int.self) {
      self = .int(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if let value = try? container.decode([ContractValue].self) {
      self = .array(value)
    } else {
      self = .object(try container.decode([String: ContractValue].self))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .double(let value): try container.encode(value)
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
