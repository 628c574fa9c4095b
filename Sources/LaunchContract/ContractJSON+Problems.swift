import Foundation

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
