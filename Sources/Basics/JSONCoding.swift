package import Foundation

// `Codable` values as JSON with sorted members and unescaped slashes.
extension JSON {
  /// Encodes a value; equal values give equal bytes.
  ///
  /// - Throws: `EncodingError` for a number that JSON cannot express (infinity, NaN).
  package static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let marks = NumberMarks()
    marks.prepare(encoder)
    return marks.resolve(try encoder.encode(value))
  }

  /// Decodes a value; an error names the member and the problem.
  ///
  /// - Parameters:
  ///   - type: the type to decode.
  ///   - data: the JSON.
  ///   - source: the origin of the JSON, for errors: a variable, an argument or a path.
  /// - Returns: the value.
  /// - Throws: ``CodedError`` of kind `broken`.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from data: Data, source: String
  ) throws(CodedError) -> Value {
    let problem: String
    do {
      let decoder = JSONDecoder()
      if let key = CodingUserInfoKey.document { decoder.userInfo[key] = DecodedDocument(data) }
      return try decoder.decode(type, from: data)
    } catch let error as CodedError {
      problem = error.problem
    } catch let error as DecodingError {
      problem = Self.problem(of: error, in: data)
    } catch {
      problem = unreadable(data)
    }
    throw CodedError(.broken, problem.split(whereSeparator: \.isNewline).joined(separator: " "), at: source)
  }

  /// `clock.kind: `, or an empty string for the whole document.
  package static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : path.map(name).joined(separator: ".") + ": "
  }

  private static func name(_ key: any CodingKey) -> String {
    key.intValue.map(String.init) ?? key.stringValue
  }
}

// These messages replace Foundation's, which name Swift types and differ between platforms.
extension JSON {
  /// Describes a decoding error, preceded by the member. Never contains a value, since that may be a secret.
  static func problem(of error: DecodingError, in data: Data) -> String {
    switch error {
    case .keyNotFound(let key, let context): place(context.codingPath) + "'\(key.stringValue)' is missing"
    case .typeMismatch(let type, let context), .valueNotFound(let type, let context):
      place(context.codingPath) + "\(found(at: context.codingPath, in: data)), not \(name(of: type))"
    case .dataCorrupted(let context) where context.codingPath.isEmpty: unreadable(data)
    // The message of a type's own decoding code.
    case .dataCorrupted(let context): place(context.codingPath) + context.debugDescription
    @unknown default: unreadable(data)
    }
  }

  /// Describes a document that the decoder rejected without further details.
  static func unreadable(_ data: Data) -> String {
    let document: JSON
    do { document = try JSON.parse([UInt8](data)) } catch {
      return "not valid JSON: \(error)"
    }
    // The decoder does not report which number does not fit its type.
    let places = unusualNumbers(in: document, at: "")
    return switch places.count {
    case 0: "cannot be parsed; an escape may be half of a surrogate pair"
    case 1: "\(places[0]): it is not a whole number of 64 bits"
    default: "one of \(places.prefix(5).joined(separator: ", ")) is not a whole number of 64 bits"
    }
  }

  private static func unusualNumbers(in value: JSON, at place: String) -> [String] {
    func inner(_ name: some CustomStringConvertible) -> String { place.isEmpty ? "\(name)" : "\(place).\(name)" }
    return switch value {
    case .number(let text): Int(text) == nil ? [place] : []
    case .array(let elements):
      elements.enumerated().flatMap { unusualNumbers(in: $0.element, at: inner($0.offset)) }
    case .object(let members): members.flatMap { unusualNumbers(in: $0.value, at: inner($0.key)) }
    default: []
    }
  }

  /// Describes the value found, as in `it is a string`.
  private static func found(at path: [any CodingKey], in data: Data) -> String {
    switch (try? JSON.parse([UInt8](data)))?.value(at: path) {
    case .null: "it is null"
    case .bool: "it is true or false"
    case .number(let text): text.contains { ".eE".contains($0) } ? "it is a number" : "it is a whole number"
    case .string: "it is a string"
    case .array: "it is an array"
    case .object: "it is an object"
    case nil: "it is missing"
    }
  }

  /// The value at a coding path.
  fileprivate func value(at path: [any CodingKey]) -> JSON? {
    var value: JSON? = self
    for key in path {
      if let index = key.intValue, let elements = value?.array {
        value = elements.indices ~= index ? elements[index] : nil
      } else {
        value = value?[key.stringValue]
      }
    }
    return value
  }

  private static func name(of type: Any.Type) -> String {
    switch type {
    case is String.Type: "a string"
    case is Bool.Type: "true or false"
    case is any FixedWidthInteger.Type: "a whole number of 64 bits"
    case is any BinaryFloatingPoint.Type: "a number"
    case is [Any].Type: "an array"
    case is [String: Any].Type: "an object"
    default: "of the expected type"
    }
  }
}

extension KeyedDecodingContainer {
  /// Decodes one of a set of words; an error lists them.
  package func decodeWord<Word: RawRepresentable & CaseIterable>(
    _ type: Word.Type, forKey key: Key
  ) throws -> Word where Word.RawValue == String {
    let text = try decode(String.self, forKey: key)
    guard let word = Word(rawValue: text) else {
      let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
      throw CodedError(.broken, "\(JSON.place(codingPath + [key]))'\(text)' is not one of \(words)")
    }
    return word
  }

  /// Decodes one of a set of words; nil if absent.
  package func decodeWordIfPresent<Word: RawRepresentable & CaseIterable>(
    _ type: Word.Type, forKey key: Key
  ) throws -> Word? where Word.RawValue == String {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try decodeWord(type, forKey: key)
  }
}

/// A coding key with any name.
package struct AnyKey: CodingKey {
  package let stringValue: String
  package var intValue: Int? { nil }

  package init(stringValue: String) { self.stringValue = stringValue }
  package init?(intValue: Int) { nil }
}

// A value that is decoded from a contract, a message or a file of ours.
extension JSON: Codable {
  /// The maximum nesting of decoded values: `JSONDecoder` is recursive, and a thread's stack is small.
  package static let maximumDecodedDepth = 64
  /// The maximum depth of a value's position in a document, as in `steps.0.toggles.name`.
  private static let deepestPlace = 4

  /// Whether the nesting is within ``maximumDecodedDepth``.
  package var isShallow: Bool { isShallow(upTo: Self.maximumDecodedDepth) }

  private func isShallow(upTo depth: Int) -> Bool {
    switch self {
    case .array(let values): depth > 0 && values.allSatisfy { $0.isShallow(upTo: depth - 1) }
    case .object(let members): depth > 0 && members.allSatisfy { $0.value.isShallow(upTo: depth - 1) }
    default: true
    }
  }

  /// Parses the value of an option such as `--toggle NAME=VALUE`: JSON, or else a string.
  package init(argument text: String) {
    self = (try? JSON.decode(JSON.self, from: Data(text.utf8), source: "")) ?? .string(text)
  }

  /// Decodes a value. Members are sorted by name; of duplicates, the first is used. Numbers keep their text with
  /// ``decode(_:from:source:)``; `JSONDecoder` does not provide it.
  package init(from decoder: any Decoder) throws {
    guard decoder.codingPath.count <= Self.maximumDecodedDepth + Self.deepestPlace else {
      throw CodedError(
        .broken,
        "\(JSON.place(Array(decoder.codingPath.prefix(Self.deepestPlace))))arrays and objects are nested more than "
          + "\(Self.maximumDecodedDepth) levels deep")
    }
    let container = try decoder.singleValueContainer()
    if container.decodeNil() {
      self = .null
    } else if let value = try? container.decode(String.self) {
      self = .string(value)
    } else if let value = try? container.decode(Bool.self) {
      self = .bool(value)
    } else if let value = try? container.decode(Double.self) {
      if let text = Self.number(at: decoder) {
        self = .number(text)
      } else if let integer = try? container.decode(Int.self) {
        self = .int(integer)
      } else {
        self = .double(value)
      }
    } else if var elements = try? decoder.unkeyedContainer() {
      var values: [JSON] = []
      while !elements.isAtEnd { values.append(try elements.decode(JSON.self)) }
      self = .array(values)
    } else if let members = try? decoder.container(keyedBy: AnyKey.self) {
      var values: [String: JSON] = [:]
      for key in members.allKeys { values[key.stringValue] = try members.decode(JSON.self, forKey: key) }
      self = .object(values)
    } else {
      throw CodedError(.broken, "\(JSON.place(decoder.codingPath))the number does not fit a Double")
    }
  }

  /// The text of the number at the decoder's position, if the decoder is ours.
  private static func number(at decoder: any Decoder) -> String? {
    guard let key = CodingUserInfoKey.document, let document = decoder.userInfo[key] as? DecodedDocument,
      case .number(let text)? = document.value?.value(at: decoder.codingPath)
    else { return nil }
    return text
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    switch self {
    case .null: try container.encodeNil()
    case .bool(let value): try container.encode(value)
    case .number(let text):
      if let integer = Int(text), String(integer) == text {
        try container.encode(integer)
      } else if let number = Double(text), number.isFinite, let marked = NumberMarks.of(encoder)?.marked(text) {
        try container.encode(marked)
      } else {
        try container.encode(Double(text) ?? .nan)
      }
    case .string(let value): try container.encode(value)
    case .array(let value): try container.encode(value)
    case .object: try container.encode(dictionary)
    }
  }
}

// To Foundation, the `Double` 10.0 and the `Int` 10 are the same JSON number: it writes both as `10` and reads either as
// both. Programs in typed languages read `10` as an integer and reject it where they expect a fraction. So a number's text
// is taken from the document, and written as a string with a unique mark, which is removed at the end.

extension CodingUserInfoKey {
  /// The document being decoded.
  fileprivate static var document: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "diorama.document") }
  /// The marks for numbers to be written verbatim.
  fileprivate static var marks: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "diorama.marks") }
}

/// The document being decoded, parsed on first use.
private final class DecodedDocument: @unchecked Sendable {
  // A decoder works on one thread.
  lazy var value: JSON? = try? JSON.parse([UInt8](data))
  private let data: Data

  init(_ data: Data) { self.data = data }
}

/// The marks of numbers to be written verbatim.
private final class NumberMarks: @unchecked Sendable {
  // An encoder works on one thread.
  private var mark: String?

  /// The marks of an encoder that removes them at the end.
  static func of(_ encoder: any Encoder) -> NumberMarks? {
    CodingUserInfoKey.marks.flatMap { encoder.userInfo[$0] as? NumberMarks }
  }

  func prepare(_ encoder: JSONEncoder) {
    if let key = CodingUserInfoKey.marks { encoder.userInfo[key] = self }
  }

  /// The string to encode for a number.
  func marked(_ number: String) -> String {
    let mark = mark ?? "diorama-\(UInt64.random(in: 0 ... .max))-"
    self.mark = mark
    return mark + number
  }

  /// Replaces the marked strings with numbers.
  func resolve(_ data: Data) -> Data {
    guard let mark else { return data }
    let start = Data("\"\(mark)".utf8)
    var output = Data()
    var rest = data[...]
    while let found = rest.firstRange(of: start) {
      output += rest[..<found.lowerBound]
      rest = rest[found.upperBound...]
      let end = rest.firstIndex(of: UInt8(ascii: "\"")) ?? rest.endIndex
      output += rest[..<end]
      rest = rest[end...].dropFirst()
    }
    return output + rest
  }
}
