package import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// Finds the matches of regular expressions, and the values of query items by name in URLs within a text.
///
/// An expression such as `(a+)+$` can take practically unlimited time on some texts. After a fixed number of steps it
/// is abandoned and the whole text is redacted: text that may contain a secret is never kept.
package struct PatternScanner: Sendable {
  private let patterns: [Pattern]
  /// The expressions that exceeded the limit.
  private let slow = Guarded<[String]>([])
  /// Existing marks, which stay unchanged.
  private static let marks = try? Pattern("(?:<|&lt;|%3C)redacted(?:(?::|%3A)[\\w./%-]*?)?(?:>|&gt;|%3E)")

  /// - Parameters:
  ///   - patterns: PCRE2 regular expressions.
  ///   - query: names of query items whose values are redacted.
  /// - Throws: ``CodedError`` for the first invalid rule.
  package init(patterns: [String], query: [String] = []) throws(CodedError) {
    var compiled: [Pattern] = []
    for (number, text) in patterns.enumerated() {
      let pattern = try CodedError.translating(at: "patterns[\(number)]", try Pattern(text))
      guard !pattern.matchesEmptyText else {
        throw CodedError(
          .broken, "patterns[\(number)]: it also matches the empty string; write + instead of *")
      }
      compiled.append(pattern)
    }
    if !query.isEmpty { compiled += try CodedError.translating(at: "query", try Self.items(query[...])) }
    self.patterns = compiled
  }

  /// Patterns for the values of query items: in literal URLs, and in URLs in HTML, in a JSON string and inside another
  /// URL.
  private static func items(_ names: ArraySlice<String>) throws(CodedError) -> [Pattern] {
    let quoted = names.flatMap { Set([$0, FormItem.encode($0)]) }.map(Pattern.quoted)
    do {
      // `\K` keeps what was matched before it.
      return [
        try Pattern(
          "(?i)(?:[?&]|&amp;|\\\\u0026|%3F|%26)(?:\(quoted.joined(separator: "|")))(?:=|%3D|\\\\u003d)\\K"
            + "(?:(?!%26|%23|\\\\u0026)[^&#\\s\"'<>\\\\])+")
      ]
    } catch {
      // PCRE2 limits the size of a pattern: split the names.
      guard names.count > 1 else { throw error }
      let middle = names.startIndex + names.count / 2
      return try items(names[..<middle]) + items(names[middle...])
    }
  }

  private init() { patterns = [] }

  /// A scanner without patterns.
  package static let none = PatternScanner()

  package var isEmpty: Bool { patterns.isEmpty }

  /// The expressions that exceeded the limit on some text, without duplicates.
  package var givenUp: [String] { slow.withLock { $0 } }

  /// Replaces all matches with marks. Returns nil if nothing matches.
  func redact(_ text: String, _ spelling: RedactionMark.Spelling = .plain) -> String? {
    guard !patterns.isEmpty else { return nil }
    let whole = Array(text.utf8)
    guard let ranges = ranges(in: whole) else {
      return RedactionMark.plain.spelled(spelling, length: whole.count)
    }
    guard !ranges.isEmpty else { return nil }
    var output: [UInt8] = []
    var copied = 0
    for range in ranges {
      output += whole[copied..<range.lowerBound]
      output += RedactionMark.plain.spelled(spelling, length: range.count).utf8
      copied = range.upperBound
    }
    return String(decoding: output + whole[copied...], as: UTF8.self)
  }

  /// The ranges of all matches, sorted and without overlaps. Includes matches in Base64-encoded text.
  ///
  /// - Parameter text: the text in UTF-8.
  /// - Returns: nil if the search exceeded the limit. Any part of the text may then be a secret.
  func ranges(in text: [UInt8]) -> [Range<Int>]? {
    let budget = PatternBudget()
    var found: [Range<Int>] = []
    var marks: [Range<Int>] = []
    do {
      for pattern in patterns { found += try pattern.matches(in: text, budget) }
      for inner in Base64Text.all(in: text) {
        for pattern in patterns { found += try pattern.matches(in: inner.text, budget).map(inner.place) }
      }
      if !found.isEmpty { marks = try Self.marks?.matches(in: text, budget) ?? [] }
    } catch {
      slow.withLock { if !$0.contains(error.pattern) { $0.append(error.pattern) } }
      return nil
    }
    found.removeAll { range in marks.contains { $0.lowerBound <= range.lowerBound && range.upperBound <= $0.upperBound }
    }
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
    guard let found = scanner.ranges(in: text.utf8) else {
      isGone = true
      hasFound = true
      defer { held = [] }
      return Array(RedactionMark.plain.spelled(spelling, length: held.count).utf8)
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
      output += RedactionMark.plain.spelled(spelling, length: range.count).utf8
      copied = range.upperBound
    }
    if copied < cut { output += held[copied..<cut] }
    let kept = max(0, text.boundary(before: cut - Self.context))
    held.removeFirst(kept)
    done = max(cut, copied) - kept
    return output
  }
}

/// Bytes as text for matching: unchanged if they are UTF-8, except for a character cut off at the end; otherwise with
/// one character for each byte.
private struct DecodedText {
  let utf8: [UInt8]
  private let isUTF8: Bool

  init(_ bytes: [UInt8]) {
    var end = bytes.count
    var steps = 0
    while end > 0, steps < 3, bytes[end - 1] & 0xC0 == 0x80 {
      end -= 1
      steps += 1
    }
    if end > 0, bytes[end - 1] >= 0xC0 { end -= 1 } else { end = bytes.count }
    let valid = [bytes, Array(bytes[..<end])].first { String(validating: $0, as: UTF8.self) != nil }
    isUTF8 = valid != nil
    utf8 = valid ?? bytes.flatMap { $0 < 0x80 ? [$0] : [0xC0 | $0 >> 6, 0x80 | $0 & 0x3F] }
  }

  /// The beginning of the character that contains an index of the bytes.
  func boundary(before place: Int) -> Int {
    var place = place
    while isUTF8, place > 0, place < utf8.count, utf8[place] & 0xC0 == 0x80 { place -= 1 }
    return place
  }

  /// Converts ranges of the text to ranges of the bytes.
  func byteRanges(_ ranges: [Range<Int>]) -> [Range<Int>] {
    guard !isUTF8 else { return ranges }
    var index = 0
    var count = 0
    func characters(before end: Int) -> Int {
      while index < end {
        if utf8[index] & 0xC0 != 0x80 { count += 1 }
        index += 1
      }
      return count
    }
    return ranges.map { range in
      let start = characters(before: range.lowerBound)
      return start..<characters(before: range.upperBound)
    }
  }
}
