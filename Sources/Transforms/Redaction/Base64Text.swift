import Basics
import Cassettes
import Foundation

/// Base64-encoded text within another text. Encoded binary data is ignored, because patterns would match random bytes.
struct Base64Text {
  private static let shortest = 12

  /// The decoded text in UTF-8.
  let text: [UInt8]
  /// The range of the encoded characters in the other text.
  private let range: Range<Int>

  /// Finds all Base64-encoded texts, in either alphabet of RFC 4648. Characters before an encoded text may belong to
  /// the same run, as in a path, so every offset is tried.
  static func all(in text: [UInt8]) -> [Base64Text] {
    text.split { !isDigit($0) }.flatMap { run in
      (0..<4).compactMap { offset -> Base64Text? in
        let digits = run.dropFirst(offset)
        guard digits.count >= shortest, let text = decoded(digits) else { return nil }
        return Base64Text(text: text, range: digits.indices)
      }
    }
  }

  /// The encoded range for a range of the decoded text.
  func place(_ bytes: Range<Int>) -> Range<Int> {
    // Four characters encode three bytes; a character that encodes any part of the range is included.
    let start = range.lowerBound + bytes.lowerBound * 4 / 3
    return start..<min(range.lowerBound + (bytes.upperBound * 4 + 2) / 3, range.upperBound)
  }

  private static func isDigit(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "+/-_".utf8.contains(byte)
    }
  }

  private static func decoded(_ digits: ArraySlice<UInt8>) -> [UInt8]? {
    // A single leftover character holds only six bits, which is not a byte.
    let used = digits.count % 4 == 1 ? digits.dropLast() : digits
    guard let bytes = Base64.decode(String(decoding: used, as: UTF8.self)),
      let text = String(validating: bytes, as: UTF8.self)
    else { return nil }
    let isText = text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F || "\t\r\n".unicodeScalars.contains($0)
    }
    return isText ? bytes : nil
  }
}
