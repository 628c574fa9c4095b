import Foundation

// To Foundation, the `Double` 10.0 and the `Int` 10 are the same JSON number: it writes both as `10` and reads either as
// both. Programs in typed languages take `10` for an integer and reject it where they expect a fraction.

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
