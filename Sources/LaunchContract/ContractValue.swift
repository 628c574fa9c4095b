import Foundation

/// Any JSON value: what a toggle, a user default or a free value of a contract may be.
///
/// A whole number reads as ``int(_:)`` where it fits into 64 bits; `10.0` is none, and stays `10.0` when ``ContractJSON``
/// reads and writes it. Whoever wants a `Double` takes ``double`` and gets both.
package enum ContractValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([ContractValue])
  case object([String: ContractValue])

  /// Arrays and objects of one value may lie this deep in each other: JSON is read by recursion, and the stack of a
  /// thread is small.
  package static let maximumDepth = 64
  /// The deepest place in a document where a value begins: `steps.0.toggles.name`.
  private static let deepestPlace = 4

  /// Whether arrays and objects lie no deeper in each other than an app can read.
  package var isShallow: Bool { isShallow(upTo: Self.maximumDepth) }

  private func isShallow(upTo depth: Int) -> Bool {
    switch self {
    case .array(let values): depth > 0 && values.allSatisfy { $0.isShallow(upTo: depth - 1) }
    case .object(let members): depth > 0 && members.values.allSatisfy { $0.isShallow(upTo: depth - 1) }
    default: true
    }
  }

  /// Reads the value of an option such as `--toggle NAME=VALUE`: JSON, and what is not JSON is the string itself.
  package init(argument text: String) {
    let value = try? ContractJSON.decode(ContractValue.self, from: Data(text.utf8), source: "")
    self = value ?? .string(text)
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
    guard decoder.codingPath.count <= Self.maximumDepth + Self.deepestPlace else {
      throw ContractError(
        "\(ContractJSON.place(Array(decoder.codingPath.prefix(Self.deepestPlace))))arrays and objects lie more than "
          + "\(Self.maximumDepth) deep in each other")
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Int.self) {
      self = WholeFractions.isWritten(at: decoder) ? .double(try container.decode(Double.self)) : .int(value)
    } else if let value = try? container.decode(Double.self) {
      self = .double(value)
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [ContractValue] = []
      while !elements.isAtEnd { values.append(try elements.decode(ContractValue.self)) }
      self = .array(values)
    } else if let members = try? decoder.container(keyedBy: AnyKey.self) {
      var values: [String: ContractValue] = [:]
      for key in members.allKeys { values[key.stringValue] = try members.decode(ContractValue.self, forKey: key) }
      self = .object(values)
    } else {
      throw ContractError("\(ContractJSON.place(decoder.codingPath))it is a number beyond what a Double can hold")
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .int(let value): try container.encode(value)
    case .double(let value):
      if let text = FractionMarks.of(encoder)?.text(of: value) {
        try container.encode(text)
      } else {
        try container.encode(value)
      }
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object(let value): try container.encode(value)
    }
  }
}
