import Foundation

// A `Double` 10.0 and an `Int` 10 are the same JSON number to Foundation: it writes both as `10`, and reads both as
// either. Programs in typed languages take `10` for a whole number and refuse it where they want one with a fraction.

extension CodingUserInfoKey {
  /// The document that is decoded, where some whole number in it may be written with a fraction or an exponent.
  fileprivate static var document: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "diorama.document") }
  /// Takes the whole numbers that are to be written with a fraction.
  fileprivate static var marks: CodingUserInfoKey? { CodingUserInfoKey(rawValue: "diorama.marks") }
}

/// Reading: the number's text decides, which only the document itself has.
enum WholeFractions {
  /// Makes the decoder's values know how their numbers are written.
  static func prepare(_ decoder: JSONDecoder, for data: Data) {
    guard let key = CodingUserInfoKey.document, mayHave(data), let document = try? JSON.parse([UInt8](data)) else {
      return
    }
    decoder.userInfo[key] = document
  }

  /// Whether the number at a decoder's place is written with a fraction or an exponent.
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

  /// Whether there is something like `0.0` or `1e3`, perhaps in a string: a document is read twice only then.
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

  /// Whether a byte stands at some place that is meant; documents may have megabytes of text.
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

/// Writing: as a string with a mark that no other string has, and the mark is taken away in the end.
final class FractionMarks: @unchecked Sendable {
  // An encoder works on one thread.
  private var mark: String?

  /// The marks of an encoder, where somebody takes them away in the end.
  static func of(_ encoder: any Encoder) -> FractionMarks? {
    CodingUserInfoKey.marks.flatMap { encoder.userInfo[$0] as? FractionMarks }
  }

  func prepare(_ encoder: JSONEncoder) {
    if let key = CodingUserInfoKey.marks { encoder.userInfo[key] = self }
  }

  /// What to encode for a number.
  ///
  /// - Returns: nil for one that is written with a fraction anyway, or not at all.
  func text(of number: Double) -> String? {
    guard number.isFinite, number.rounded() == number else { return nil }
    let mark = mark ?? "diorama-\(UInt64.random(in: 0 ... .max))-"
    self.mark = mark
    return "\(mark)\(number)"
  }

  /// The document with the numbers themselves.
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
