import Basics
import Foundation

/// Base64-encoded text within another text. Encoded binary data is ignored, because patterns would match random bytes.
struct Base64Text {
  private static let shortest = 12
  private static let runs = try? NSRegularExpression(pattern: "[A-Za-z0-9+/_-]{\(shortest),}")

  /// The decoded text.
  let text: String
  /// The range of the encoded characters in the other text, in UTF-16 units.
  private let range: Range<Int>

  /// Finds all Base64-encoded texts, in either alphabet of RFC 4648. Characters before an encoded text may belong to
  /// the same run, as in a path, so every offset is tried.
  static func all(in text: String) -> [Base64Text] {
    guard let runs else { return [] }
    let whole = text as NSString
    return runs.matches(in: text, range: NSRange(location: 0, length: whole.length)).flatMap { match in
      let run = whole.substring(with: match.range)
      return (0..<4).compactMap { offset -> Base64Text? in
        let start = match.range.location + offset
        guard start + shortest <= match.range.upperBound, let text = decoded(run.dropFirst(offset)) else { return nil }
        return Base64Text(text: text, range: start..<match.range.upperBound)
      }
    }
  }

  /// The encoded range for a range of UTF-16 units of the decoded text.
  func place(_ units: Range<Int>) -> Range<Int> {
    let start = text.utf16.index(text.startIndex, offsetBy: units.lowerBound)
    let end = text.utf16.index(text.startIndex, offsetBy: units.upperBound)
    let first = text.utf8.distance(from: text.startIndex, to: start)
    let last = text.utf8.distance(from: text.startIndex, to: end)
    // Four characters encode three bytes; a character that encodes any part of the range is included.
    return (range.lowerBound + first * 4 / 3)..<min(range.lowerBound + (last * 4 + 2) / 3, range.upperBound)
  }

  private static func decoded(_ run: Substring) -> String? {
    // A single leftover character holds only six bits, which is not a byte.
    let used = run.utf8.count % 4 == 1 ? run.dropLast() : run
    guard let bytes = Base64.decode(String(used)), let text = String(validating: bytes, as: UTF8.self) else {
      return nil
    }
    let isText = text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F || "\t\r\n".unicodeScalars.contains($0)
    }
    return isText ? text : nil
  }
}
