import Basics
package import Foundation

/// The JSON of contracts, with sorted members and unescaped slashes.
package enum ContractJSON {
  /// Encodes a value; equal values give equal bytes.
  ///
  /// - Throws: `EncodingError` for a number that JSON cannot express (infinity, NaN).
  package static func encode(_ value: some Encodable) throws -> Data {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    let marks = FractionMarks()
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
  /// - Throws: ``ContractError``.
  package static func decode<Value: Decodable>(
    _ type: Value.Type, from data: Data, source: String
  ) throws(ContractError) -> Value {
    do {
      let decoder = JSONDecoder()
      WholeFractions.prepare(decoder, for: data)
      return try decoder.decode(type, from: data)
    } catch let error as ContractError {
      throw ContractError(error.problem, source: source)
    } catch let error as DecodingError {
      throw ContractError(problem(of: error, in: data), source: source)
    } catch {
      throw ContractError(unreadable(data), source: source)
    }
  }

  /// `clock.kind: `, or an empty string for the whole document.
  static func place(_ path: [any CodingKey]) -> String {
    path.isEmpty ? "" : path.map(name).joined(separator: ".") + ": "
  }

  private static func name(_ key: any CodingKey) -> String {
    key.intValue.map(String.init) ?? key.stringValue
  }
}

// These messages replace Foundation's, which name Swift types and differ between platforms.
extension ContractJSON {
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
    do throws(JSONError) {
      document = try JSON.parse([UInt8](data))
    } catch {
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
    var value = try? JSON.parse([UInt8](data))
    for key in path {
      if let index = key.intValue, let elements = value?.array, elements.indices ~= index {
        value = elements[index]
      } else {
        value = value?[key.stringValue]
      }
    }
    return switch value {
    case .null: "it is null"
    case .bool: "it is true or false"
    case .number(let text): text.contains { ".eE".contains($0) } ? "it is a number" : "it is a whole number"
    case .string: "it is a string"
    case .array: "it is an array"
    case .object: "it is an object"
    case nil: "it is missing"
    }
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
  func decodeWord<Word: RawRepresentable & CaseIterable>(
    _ type: Word.Type, forKey key: Key
  ) throws -> Word where Word.RawValue == String {
    let text = try decode(String.self, forKey: key)
    guard let word = Word(rawValue: text) else {
      let words = Word.allCases.map(\.rawValue).joined(separator: ", ")
      throw ContractError("\(ContractJSON.place(codingPath + [key]))'\(text)' is not one of \(words)")
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

/// A launch contract cannot be read or written.
package struct ContractError: Error, Equatable, CustomStringConvertible {
  /// The problem, preceded by the member: `clock.kind: …`. Never contains a secret.
  package let problem: String
  /// The variable, argument or path of the contract; empty if unknown.
  package let source: String

  package init(_ problem: String, source: String = "") {
    self.problem = problem.split(whereSeparator: \.isNewline).joined(separator: " ")
    self.source = source
  }

  package var description: String {
    source.isEmpty ? "launch contract: \(problem)" : "launch contract in \(source): \(problem)"
  }
}

/// A coding key with any name.
struct AnyKey: CodingKey {
  let stringValue: String
  var intValue: Int? { nil }

  init(stringValue: String) { self.stringValue = stringValue }
  init?(intValue: Int) { nil }
}

// To Foundation, the `Double` 10.0 and the `Int` 10 are the same JSON number: it writes both as `10` and reads either as
// both. Programs in typed languages read `10` as an integer and reject it where they expect a fraction.

extension CodingUserInfoKey {
  /// The document being decoded, if it may contain integers with a fraction or an exponent.
  fileprivate static var document: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "diorama.document") }
  /// The marks for integers to be written with a fraction.
  fileprivate static var marks: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "diorama.marks") }
}

/// Reading: the text of the number in the document decides.
enum WholeFractions {
  /// Gives the decoder access to the document's numbers as text.
  static func prepare(_ decoder: JSONDecoder, for data: Data) {
    guard let key = CodingUserInfoKey.document, mayHave(data), let document = try? JSON.parse([UInt8](data)) else {
      return
    }
    decoder.userInfo[key] = document
  }

  /// Whether the number at the decoder's position has a fraction or an exponent.
  static func isWritten(at decoder: any Decoder) -> Bool {
    guard let key = CodingUserInfoKey.document, let document = decoder.userInfo[key] as? JSON else { return false }
    var value: JSON? = document
    for key in decoder.codingPath {
      if let index = key.intValue, let elements = value?.array {
        value = elements.indices ~= index ? elements[index] : nil
      } else {
        value = value?[key.stringValue]
      }
    }
    guard case .number(let text)? = value else { return false }
    return text.utf8.contains { $0 == UInt8(ascii: ".") || $0 | 0x20 == UInt8(ascii: "e") }
  }

  /// Whether the data contains something like `0.0` or `1e3`, perhaps in a string; only then is it parsed twice.
  private static func mayHave(_ data: Data) -> Bool {
    data.withUnsafeBytes { bytes in
      func isDigit(_ index: Int) -> Bool { bytes.indices ~= index && bytes[index] &- 0x30 < 10 }
      func hasExponent(_ byte: UInt8) -> Bool { places(of: byte, in: bytes) { isDigit($0 - 1) } }
      return hasExponent(UInt8(ascii: "e")) || hasExponent(UInt8(ascii: "E"))
        || places(of: UInt8(ascii: "."), in: bytes) { index in
          var end = index + 1
          while end < bytes.count, bytes[end] == 0x30 { end += 1 }
          return isDigit(index - 1) && end > index + 1 && !isDigit(end)
        }
    }
  }

  /// Whether the byte occurs at a position that `isMeant` accepts; documents may contain megabytes of text.
  private static func places(of byte: UInt8, in bytes: UnsafeRawBufferPointer, where isMeant: (Int) -> Bool) -> Bool {
    guard let start = bytes.baseAddress else { return false }
    var offset = 0
    while offset < bytes.count, let found = memchr(start + offset, Int32(byte), bytes.count - offset) {
      let index = UnsafeRawPointer(found) - start
      if isMeant(index) { return true }
      offset = index + 1
    }
    return false
  }
}

/// Writing: such numbers are encoded as strings with a unique mark, which is removed at the end.
final class FractionMarks: @unchecked Sendable {
  // An encoder works on one thread.
  private var mark: String?

  /// The marks of an encoder that removes them at the end.
  static func of(_ encoder: any Encoder) -> FractionMarks? {
    CodingUserInfoKey.marks.flatMap { encoder.userInfo[$0] as? FractionMarks }
  }

  func prepare(_ encoder: JSONEncoder) {
    if let key = CodingUserInfoKey.marks { encoder.userInfo[key] = self }
  }

  /// The text to encode for a number.
  ///
  /// - Returns: nil for a number that has a fraction anyway, or cannot be encoded.
  func text(of number: Double) -> String? {
    guard number.isFinite, number.rounded() == number else { return nil }
    let mark = mark ?? "diorama-\(UInt64.random(in: 0 ... .max))-"
    self.mark = mark
    return "\(mark)\(number)"
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
