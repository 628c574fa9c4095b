import Foundation

/// A text that stands in base64 in another text: what in it is no text is left alone, since patterns would find anything
/// in random bytes.
struct Base64Text {
  private static let shortest = 12
  private static let runs = try? NSRegularExpression(pattern: "[A-Za-z0-9+/_-]{\(shortest),}")

  /// What it says.
  let text: String
  /// Where its first character in base64 stands, and the end of the last, in UTF-16 units.
  private let range: Range<Int>

  /// All that stand in a text, in either alphabet of RFC 4648. What stands before one may belong to the same run of
  /// characters, as in a path.
  static func all(in text: String) -> [Base64Text] {
    guard let runs else { return [] }
    let whole = text as NSString
    return runs.matches(in: text, range: NSRange(location: 0, length: whole.length)).flatMap { match in
      let run = whole.substring(with: match.range)
        .replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
      return (0..<4).compactMap { offset -> Base64Text? in
        let start = match.range.location + offset
        guard start + shortest <= match.range.upperBound, let text = decoded(run.dropFirst(offset)) else { return nil }
        return Base64Text(text: text, range: start..<match.range.upperBound)
      }
    }
  }

  /// Where a range of its UTF-16 units stands in base64.
  func place(_ units: Range<Int>) -> Range<Int> {
    let start = text.utf16.index(text.startIndex, offsetBy: units.lowerBound)
    let end = text.utf16.index(text.startIndex, offsetBy: units.upperBound)
    let first = text.utf8.distance(from: text.startIndex, to: start)
    let last = text.utf8.distance(from: text.startIndex, to: end)
    // Three bytes are four characters; a character that holds a part of it goes.
    return (range.lowerBound + first * 4 / 3)..<min(range.lowerBound + (last * 4 + 2) / 3, range.upperBound)
  }

  private static func decoded(_ run: Substring) -> String? {
    // One character alone is six bits of a byte that is not there.
    let used = run.utf8.count % 4 == 1 ? run.dropLast() : run
    let padding = String(repeating: "=", count: (4 - used.utf8.count % 4) % 4)
    guard let data = Data(base64Encoded: used + padding), let text = String(validating: data, as: UTF8.self) else {
      return nil
    }
    let isText = text.unicodeScalars.allSatisfy {
      $0.value >= 0x20 && $0.value != 0x7F || "\t\r\n".unicodeScalars.contains($0)
    }
    return isText ? text : nil
  }
}
