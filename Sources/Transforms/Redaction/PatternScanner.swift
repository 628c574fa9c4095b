import Basics
import Cassettes
import Foundation
import HTTPMessages

/// Finds the matches of regular expressions, and the values of query items by name in URLs within a text.
///
/// An expression such as `(a+)+$` can take practically unlimited time on some texts. After a time limit it is abandoned
/// and the whole text is redacted: text that may contain a secret is never kept.
package struct PatternScanner: Sendable {
  /// A regular expression. If `keepsGroup` is set, the first capture group is not redacted.
  private struct Rule: @unchecked Sendable {
    let expression: NSRegularExpression
    var keepsGroup = false
  }

  private let rules: [Rule]
  /// The expressions that exceeded the time limit.
  private let slow = Guarded<[String]>([])
  /// The time limit for one text, in seconds of processor time. Shorter once an expression was abandoned, because many
  /// such texts may follow.
  private static let patience = 2.0
  private static let impatience = 0.1
  /// Existing marks, which stay unchanged.
  private static let marks =
    (try? NSRegularExpression(
      pattern: "(?:<|&lt;|%3C)redacted(?:(?::|%3A)[\\w./%-]*?)?(?:>|&gt;|%3E)")).map { Rule(expression: $0) }

  /// - Parameters:
  ///   - patterns: regular expressions in ICU syntax.
  ///   - query: names of query items.
  /// - Throws: ``Invalid`` for the first pattern that cannot be used.
  package init(patterns: [String], query: [String] = []) throws(Invalid) {
    var rules: [Rule] = []
    for (number, pattern) in patterns.enumerated() {
      guard !pattern.isEmpty, let expression = try? NSRegularExpression(pattern: pattern) else {
        throw Invalid(number: number)
      }
      guard expression.firstMatch(in: "", range: NSRange(location: 0, length: 0)) == nil else {
        throw Invalid(number: number, isEmpty: true)
      }
      rules.append(Rule(expression: expression))
    }
    if !query.isEmpty {
      let names = query.map { name in
        NSRegularExpression.escapedPattern(for: name) + "|"
          + NSRegularExpression.escapedPattern(for: FormItem.encode(name))
      }
      // Literal URLs, and URLs in HTML, in a JSON string and inside another URL.
      let pattern =
        "((?:[?&]|&amp;|\\\\u0026|%3F|%26)(?:\(names.joined(separator: "|")))(?:=|%3D|\\\\u003d))"
        + "(?:(?!%26|%23|\\\\u0026)[^&#\\s\"'<>\\\\])+"
      if let expression = try? NSRegularExpression(pattern: pattern, options: .caseInsensitive) {
        rules.append(Rule(expression: expression, keepsGroup: true))
      }
    }
    self.rules = rules
  }

  /// A pattern that cannot be used.
  package struct Invalid: Error {
    package let number: Int
    /// Whether the pattern would also match the empty string.
    package var isEmpty = false
  }

  private init() { rules = [] }

  /// A scanner without patterns.
  package static let none = PatternScanner()

  package var isEmpty: Bool { rules.isEmpty }

  /// The expressions that exceeded the time limit on some text, without duplicates.
  package var givenUp: [String] { slow.withLock { $0 } }

  /// Replaces all matches with marks. Returns nil if nothing matches.
  func redact(_ text: String, _ spelling: RedactionMark.Spelling = .plain) -> String? {
    guard !rules.isEmpty else { return nil }
    guard let ranges = ranges(in: text) else { return RedactionMark.plain.spelled(spelling) }
    guard !ranges.isEmpty else { return nil }
    let whole = text as NSString
    var output = ""
    var copied = 0
    for range in ranges {
      output += whole.substring(with: NSRange(location: copied, length: range.lowerBound - copied))
      output += RedactionMark.plain.spelled(spelling)
      copied = range.upperBound
    }
    return output + whole.substring(from: copied)
  }

  /// The ranges of all matches in UTF-16 units, sorted and without overlaps. Includes matches in Base64-encoded text.
  ///
  /// Returns nil if the search exceeded the time limit. Any part of the text may then be secret.
  func ranges(in text: String) -> [Range<Int>]? {
    guard !rules.isEmpty else { return [] }
    let all = NSRange(location: 0, length: text.utf16.count)
    let budget = PatternBudget(seconds: givenUp.isEmpty ? Self.patience : Self.impatience)
    guard var found = matches(in: text, budget) else { return nil }
    for inner in Base64Text.all(in: text) {
      guard let matches = matches(in: inner.text, budget) else { return nil }
      found += matches.map(inner.place)
    }
    guard !found.isEmpty else { return [] }
    let marks = (Self.marks?.expression.matches(in: text, range: all) ?? []).map { $0.range }
    found.removeAll { range in marks.contains { $0.location <= range.lowerBound && range.upperBound <= $0.upperBound } }
    found.sort { $0.lowerBound < $1.lowerBound }
    return found.reduce(into: []) { united, range in
      if let last = united.last, range.lowerBound <= last.upperBound {
        united[united.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        united.append(range)
      }
    }
  }
}

extension PatternScanner {
  /// Returns nil if the budget is exhausted.
  private func matches(in text: String, _ budget: PatternBudget) -> [Range<Int>]? {
    let all = NSRange(location: 0, length: text.utf16.count)
    var found: [Range<Int>] = []
    for rule in rules {
      var search = PatternBudget.Search(budget)
      rule.expression.enumerateMatches(in: text, options: .reportProgress, range: all) { match, _, stop in
        guard let match else {
          if !search.mayGoOn() { stop.pointee = true }
          return
        }
        guard match.range.length > 0 else { return }
        let start = rule.keepsGroup ? match.range(at: 1).upperBound : match.range.location
        if start < match.range.upperBound { found.append(start..<match.range.upperBound) }
      }
      guard search.end() else {
        let pattern = rule.expression.pattern
        slow.withLock { if !$0.contains(pattern) { $0.append(pattern) } }
        return nil
      }
    }
    return found
  }
}

/// Redacts pattern matches in a body while it streams. The stream is examined in windows of 256 KiB; a match across the
/// border of two windows is found in full if it is at most 64 KiB long.
struct PatternStream {
  private static let window = 256 << 10
  private static let overlap = 64 << 10
  /// The number of passed-on bytes to keep, because a pattern may depend on the bytes before a match.
  private static let context = 256

  let scanner: PatternScanner
  let spelling: RedactionMark.Spelling
  private(set) var hasFound = false
  private var held: [UInt8] = []
  /// The number of held bytes that were already passed on.
  private var done = 0
  /// Whether a pattern was abandoned. The rest of the body is then dropped.
  private var isGone = false

  init(_ scanner: PatternScanner, _ spelling: RedactionMark.Spelling) {
    self.scanner = scanner
    self.spelling = spelling
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    guard !scanner.isEmpty else { return chunk }
    guard !isGone else { return [] }
    held += chunk
    guard isLast || held.count >= Self.window else { return [] }
    let text = DecodedText(held)
    guard let found = scanner.ranges(in: text.text) else {
      isGone = true
      hasFound = true
      held = []
      return Array(RedactionMark.plain.spelled(spelling).utf8)
    }
    let ranges = text.byteRanges(found).filter { $0.upperBound > done }
    var cut = isLast ? held.count : held.count - Self.overlap
    // A match that spans the cut waits for more bytes, unless it covers the whole window.
    if !isLast, let over = ranges.first(where: { $0.lowerBound < cut && cut < $0.upperBound }) {
      cut = over.lowerBound > done ? over.lowerBound : over.upperBound
    }
    if !isLast { cut = text.boundary(before: cut) }
    var output: [UInt8] = []
    var copied = done
    for range in ranges where range.upperBound <= cut {
      hasFound = true
      if range.lowerBound > copied { output += held[copied..<range.lowerBound] }
      output += RedactionMark.plain.spelled(spelling).utf8
      copied = range.upperBound
    }
    if copied < cut { output += held[copied..<cut] }
    let kept = max(0, text.boundary(before: cut - Self.context))
    held.removeFirst(kept)
    done = max(cut, copied) - kept
    return output
  }
}

/// Bytes decoded as text for matching: as UTF-8 if they are valid, apart from a character that is cut off at the end;
/// otherwise one character for each byte.
private struct DecodedText {
  let text: String
  private let bytes: [UInt8]
  private let isUTF8: Bool

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    var end = bytes.count
    var steps = 0
    while end > 0, steps < 3, bytes[end - 1] & 0xC0 == 0x80 {
      end -= 1
      steps += 1
    }
    if end > 0, bytes[end - 1] >= 0xC0 { end -= 1 } else { end = bytes.count }
    if let text = String(validating: bytes, as: UTF8.self) ?? String(validating: bytes[..<end], as: UTF8.self) {
      self.text = text
      isUTF8 = true
    } else {
      var scalars = String.UnicodeScalarView()
      for byte in bytes { scalars.append(Unicode.Scalar(byte)) }
      text = String(scalars)
      isUTF8 = false
    }
  }

  /// The beginning of the character that contains an index.
  func boundary(before place: Int) -> Int {
    var place = place
    while isUTF8, place > 0, place < bytes.count, bytes[place] & 0xC0 == 0x80 { place -= 1 }
    return place
  }

  /// Converts ranges in UTF-16 units to byte ranges.
  func byteRanges(_ ranges: [Range<Int>]) -> [Range<Int>] {
    guard isUTF8, !ranges.isEmpty else { return ranges }
    var unit = 0
    var byte = 0
    func advance(to target: Int) -> Int {
      while unit < target, byte < bytes.count {
        let lead = bytes[byte]
        byte += lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        unit += lead < 0xF0 ? 1 : 2
      }
      return byte
    }
    return ranges.map { range in
      let start = advance(to: range.lowerBound)
      return start..<advance(to: range.upperBound)
    }
  }
}
