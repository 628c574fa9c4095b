import Foundation

/// A JSON value: a toggle, a user default or another value of a contract.
///
/// An integer is ``int(_:)`` if it fits into 64 bits. `10.0` is not an integer, and ``ContractJSON`` reads and writes it as
/// `10.0`. Use ``double`` to accept both.
package enum ContractValue: Sendable, Hashable {
  case null
  case bool(Bool)
  case int(Int)
  case double(Double)
  case string(String)
  case array([ContractValue])
  case object([String: ContractValue])

  /// The maximum nesting of arrays and objects: JSON is decoded recursively, and a thread's stack is small.
  package static let maximumDepth = 64
  /// The maximum depth of a value's position in a document, as in `steps.0.toggles.name`.
  private static let deepestPlace = 4

  /// Whether the nesting is within ``maximumDepth``.
  package var isShallow: Bool { isShallow(upTo: Self.maximumDepth) }

  private func isShallow(upTo depth: Int) -> Bool {
    switch self {
    case .array(let values): depth > 0 && values.allSatisfy { $0.isShallow(upTo: depth - 1) }
    case .object(let members): depth > 0 && members.values.allSatisfy { $0.isShallow(upTo: depth - 1) }
    default: true
    }
  }

  /// Parses the value of an option such as `--toggle NAME=VALUE`: JSON, or else a string.
  package init(argument text: String) {
    let value = try? ContractJSON.decode(ContractValue.self, from: Data(text.utf8), source: "")
    self = value ?? .string(text)
  }

  /// The Boolean value; nil for other values.
  package var bool: Bool? {
    if case .bool(let value) = self { value } else { nil }
  }

  /// The integer; nil for other values, including fractions.
  package var int: Int? {
    switch self {
    case .int(let value): value
    case .double(let value): Int(exactly: value)
    default: nil
    }
  }

  /// The number, integer or not; nil for other values.
  package var double: Double? {
    switch self {
    case .int(let value): Double(value)
    case .double(let value): value
    default: nil
    }
  }

  /// The string; nil for other values, including numbers.
  package var string: String? {
    if case .string(let value) = self { value } else { nil }
  }

  /// A string unchanged; other values as JSON with sorted members.
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
      throw ContractError("\(ContractJSON.place(decoder.codingPath))the number does not fit a Double")
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

extension [String: ContractValue] {
  /// Applies a merge patch (RFC 7396): null removes a member, an object is merged into an existing one, and any other value
  /// replaces the old one.
  package mutating func merge(patch: [String: ContractValue]) {
    for (name, change) in patch {
      switch change {
      case .null: self[name] = nil
      case .object(let members):
        var target: [String: ContractValue] = [:]
        if case .object(let old) = self[name] { target = old }
        target.merge(patch: members)
        self[name] = .object(target)
      default: self[name] = change
      }
    }
  }
}
