package import Basics
import CPCRE2
import LaunchContract

/// A PCRE2 regular expression. Letters, digits, white space and line breaks are those of Unicode.
///
/// An expression such as `(a+)+$` can take exponential time; ``PatternBudget`` limits its steps.
package final class Pattern: Sendable {
  /// Thrown when a search exceeds its budget.
  package struct TooSlow: Error, CustomStringConvertible {
    package let pattern: String

    package var description: String {
      "the pattern '\(pattern.prefix(80))' takes too long; avoid nested repetitions"
    }
  }

  package let text: String
  // "The data in the compiled pattern is fixed, and does not change when the pattern is matched. Therefore, it is
  // thread-safe" (pcre2api(3), which the other quotations here come from, too).
  private nonisolated(unsafe) let code: OpaquePointer
  /// Additional steps to count for each item tried: a fixed repetition, as in `[a-z]{500}`, can fail after that many
  /// characters without a callout.
  fileprivate let itemSteps: Int
  /// The groups that back references refer to.
  fileprivate let references: [Int]

  /// - Parameters:
  ///   - text: the expression.
  ///   - written: the expression as messages show it; nil for the same text.
  /// - Throws: `CodedError` if the text is not a valid expression.
  package init(_ text: String, writtenAs written: String? = nil) throws(CodedError) {
    self.text = written ?? text
    isAboutMarkup = Self.isAboutMarkup(text)
    let translated = try Self.translated(text)
    let counts = translated.matches(of: /\\[xop]\{|\{([0-9]{1,5})/).compactMap { $0.1.flatMap { Int($0) } }
    itemSteps = (counts.max() ?? 0) / 32
    guard let context = pcre2_compile_context_create_8(nil) else { throw CodedError(.broken, "out of memory") }
    defer { pcre2_compile_context_free_8(context) }
    pcre2_set_newline_8(context, UInt32(PCRE2_NEWLINE_ANY))
    pcre2_set_bsr_8(context, UInt32(PCRE2_BSR_UNICODE))
    let bytes = Array(translated.utf8)
    var problem: Int32 = 0
    var offset = 0
    // "automatically inserts callout items, all with number 255, before each pattern item": there PatternBudget counts.
    let options = PCRE2_UTF | PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C | UInt32(PCRE2_AUTO_CALLOUT)
    guard var code = pcre2_compile_8(bytes, bytes.count, options, &problem, &offset, context) else {
      var message = [UInt8](repeating: 0, count: 256)
      pcre2_get_error_message_8(problem, &message, message.count)
      throw CodedError(
        .broken,
        "'\(text.prefix(80))' is not a valid regular expression: "
          + String(decoding: message.prefix { $0 != 0 }, as: UTF8.self))
    }
    var firstCodeType: UInt32 = 0
    pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_FIRSTCODETYPE), &firstCodeType)
    if firstCodeType == 1, translated.contains(/\(\?[a-z^]*i/) {
      // To find a first letter of either case, each search looks for both to the end of the text. With many matches and
      // one case absent, this would take quadratic time that no limit counts.
      let slower = pcre2_compile_8(bytes, bytes.count, options | PCRE2_NO_START_OPTIMIZE, &problem, &offset, context)
      pcre2_code_free_8(code)
      guard let slower else { throw CodedError(.broken, "out of memory") }
      code = slower
    }
    self.code = code
    // "the number of the highest backreference in the pattern"
    var highest: UInt32 = 0
    pcre2_pattern_info_8(code, UInt32(PCRE2_INFO_BACKREFMAX), &highest)
    let numbers = translated.matches(of: /\\([1-9][0-9]?)/).compactMap { Int($0.1) }
    let isNamed = translated.contains(/\\[gk]|\(\?P=/)
    references = highest == 0 ? [] : isNamed ? Array(1...Int(highest)) : numbers
  }

  deinit { pcre2_code_free_8(code) }

  /// Finds all matches except empty ones.
  ///
  /// - Parameters:
  ///   - text: the text in UTF-8.
  ///   - budget: the remaining steps.
  /// - Returns: the byte ranges of the matches, in order.
  /// - Throws: ``TooSlow`` if the budget is exceeded.
  package func matches(in text: [UInt8], _ budget: PatternBudget) throws(TooSlow) -> [Range<Int>] {
    guard budget.admit(self, text.count) else { throw TooSlow(pattern: self.text) }
    var found: [Range<Int>] = []
    var start = 0
    while start <= text.count {
      budget.position = start
      // "You might want to do this for the second and subsequent calls to pcre2_match() if you are making repeated
      // calls to find multiple matches in the same subject string."
      let options = start == 0 ? 0 : PCRE2_NO_UTF_CHECK
      let result = pcre2_match_8(code, text, text.count, start, options, budget.data, budget.context)
      if result == PCRE2_ERROR_NOMATCH { break }
      guard result >= 0, let ends = pcre2_get_ovector_pointer_8(budget.data) else { throw TooSlow(pattern: self.text) }
      if ends[0] < ends[1] {
        found.append(ends[0]..<ends[1])
        start = ends[1]
      } else {
        start = ends[1] + 1
        while start < text.count, text[start] & 0xC0 == 0x80 { start += 1 }
      }
    }
    return found
  }

  /// Whether the whole text matches, as with Java's `String.matches`.
  ///
  /// - Throws: ``TooSlow`` if the budget is exceeded.
  package func matchesWhole(_ text: [UInt8], _ budget: PatternBudget) throws(TooSlow) -> Bool {
    guard budget.admit(self, text.count) else { throw TooSlow(pattern: self.text) }
    budget.position = 0
    let result = pcre2_match_8(
      code, text, text.count, 0, PCRE2_ANCHORED | PCRE2_ENDANCHORED, budget.data, budget.context)
    // A text that is not valid UTF-8 matches nothing: "PCRE2_ERROR_UTF8_ERR1" and the following codes.
    if result == PCRE2_ERROR_NOMATCH || (-23...(-3)).contains(result) { return false }
    guard result >= 0 else { throw TooSlow(pattern: self.text) }
    return true
  }

  /// Finds all matches except empty ones, with what their groups match.
  ///
  /// - Parameters:
  ///   - text: the text in UTF-8.
  ///   - budget: the remaining steps.
  /// - Returns: for each match its byte range, then that of each group; nil for groups that took no part.
  /// - Throws: ``TooSlow`` if the budget is exceeded.
  package func groups(in text: [UInt8], _ budget: PatternBudget) throws(TooSlow) -> [[Range<Int>?]] {
    guard budget.admit(self, text.count), let data = pcre2_match_data_create_from_pattern_8(code, nil) else {
      throw TooSlow(pattern: self.text)
    }
    defer { pcre2_match_data_free_8(data) }
    var found: [[Range<Int>?]] = []
    for range in try matches(in: text, budget) {
      budget.position = range.lowerBound
      let result = pcre2_match_8(code, text, text.count, range.lowerBound, PCRE2_NO_UTF_CHECK, data, budget.context)
      guard result > 0, let ends = pcre2_get_ovector_pointer_8(data) else { throw TooSlow(pattern: self.text) }
      let count = Int(pcre2_get_ovector_count_8(data))
      found.append(
        (0..<count).map { $0 < result && ends[2 * $0] <= ends[2 * $0 + 1] ? ends[2 * $0]..<ends[2 * $0 + 1] : nil })
    }
    return found
  }

  /// Whether the expression contains `<` or `>` outside of a character set, so that it is about markup. In XML, it is
  /// applied to the source.
  package let isAboutMarkup: Bool

  /// Finds `<` and `>` that are neither in a set nor part of the syntax, as in `(?<name>` and `\\k<name>`.
  private static func isAboutMarkup(_ text: String) -> Bool {
    var rest = text.unicodeScalars[...]
    while let next = rest.popFirst() {
      switch next {
      case "<", ">": return true
      case "[":
        // A bracket that comes first, also after `^`, is a character.
        if rest.first == "^" { rest.removeFirst() }
        if rest.first == "]" { rest.removeFirst() }
        while let inside = rest.popFirst(), inside != "]" { if inside == "\\" { _ = rest.popFirst() } }
      case "(" where rest.first == "?":
        rest.removeFirst()
        if rest.first == "P" { rest.removeFirst() }
        guard let kind = rest.first, kind == "<" || kind == ">" else { continue }
        rest.removeFirst()
        if kind == "<", let name = rest.first, name != "=", name != "!" { rest = rest.drop { $0 != ">" }.dropFirst() }
      case "\\":
        switch rest.popFirst() {
        case "<", ">": return true
        case "k", "g": if rest.first == "<" { rest = rest.drop { $0 != ">" }.dropFirst() }
        case "x": if ["3C", "3E", "3c", "3e"].contains(String(rest.prefix(2))) { return true }
        default: break
        }
      default: break
      }
    }
    return false
  }

  /// Whether the expression matches the empty string.
  package var matchesEmptyText: Bool {
    let budget = PatternBudget()
    return pcre2_match_8(code, [], 0, 0, 0, budget.data, budget.context) != PCRE2_ERROR_NOMATCH
  }

  /// An expression that matches a text literally.
  package static func quoted(_ text: String) -> String {
    "\\Q" + text.replacing("\\E", with: "\\E\\\\E\\Q") + "\\E"
  }

  /// Removes all matches from UTF-8 bytes.
  fileprivate func removed(from text: [UInt8], _ budget: PatternBudget) throws(TooSlow) -> [UInt8] {
    var kept: [UInt8] = []
    var index = 0
    for range in try matches(in: text, budget) {
      kept += text[index..<range.lowerBound]
      index = range.upperBound
    }
    return index == 0 ? text : kept + text[index...]
  }

  /// Converts ICU's escapes `\u00E9` and `\U000000E9` to PCRE2's `\x{00E9}`.
  ///
  /// - Throws: `CodedError` for ICU's set operations, which PCRE2 would read as plain characters.
  private static func translated(_ text: String) throws(CodedError) -> String {
    var output = "".unicodeScalars
    var rest = text.unicodeScalars[...]
    var isInSet = false
    func take(through end: String) {
      while let next = rest.popFirst() {
        output.append(next)
        if output.suffix(2).elementsEqual(end.unicodeScalars) { return }
      }
    }
    while let next = rest.popFirst() {
      switch next {
      case "\\":
        let length = rest.first == "u" ? 4 : rest.first == "U" ? 8 : 0
        let digits = rest.dropFirst().prefix(length)
        if length > 0, digits.count == length, digits.allSatisfy(\.properties.isASCIIHexDigit) {
          output.append(contentsOf: "\\x{\(String(String.UnicodeScalarView(digits)))}".unicodeScalars)
          rest.removeFirst(1 + length)
        } else {
          output.append(next)
          if rest.first == "Q" { take(through: "\\E") } else if let escaped = rest.popFirst() { output.append(escaped) }
        }
      case "[" where isInSet && rest.first == ":":
        output.append(next)
        take(through: ":]")
      case "[" where isInSet, "&" where isInSet && rest.first == "&", "-" where isInSet && rest.first == "-":
        throw CodedError(
          .broken,
          "'\(text.prefix(80))' uses a set operation; write [a-z&&[^x]] as (?!x)[a-z], and the character as \\\(next)"
        )
      default:
        if next == "[" || next == "]" { isInSet = next == "[" }
        output.append(next)
      }
    }
    return String(output)
  }
}

/// A limit for a group of pattern searches, such as those in all texts of a request: ten million steps, plus eight for
/// each byte of text.
///
/// A step is an attempt to match an item of a pattern, or eight bytes matched. Unlike time, steps do not depend on the
/// machine. Not thread-safe.
package final class PatternBudget {
  private static let steps = 10_000_000
  private static let stepsPerByte = 8

  private var left = PatternBudget.steps
  private var itemSteps = 0
  private var references: [Int] = []
  /// The byte index at which the last item was tried.
  fileprivate var position = 0
  fileprivate let data: OpaquePointer?
  fileprivate let context: OpaquePointer?

  package init() {
    // "If captured substrings are not of interest, pcre2_match() may be called with a match data block whose ovector is
    // of minimum length (that is, one pair)."
    data = pcre2_match_data_create_8(1, nil)
    context = pcre2_match_context_create_8(nil)
    // "For patterns that are not anchored, the count restarts from zero for each position in the subject string." So it
    // does not limit a search in a long text; counting in callouts does. JIT is not used: it ignores the depth and heap
    // limits, counts differently, and is not available on all platforms (pcre2jit(3)).
    pcre2_set_match_limit_8(context, UInt32(Self.steps))
    pcre2_set_depth_limit_8(context, 500_000)
    // In KiB.
    pcre2_set_heap_limit_8(context, 64 << 10)
    pcre2_set_callout_8(
      context,
      { block, budget in
        guard let block, let budget else { return PCRE2_ERROR_CALLOUT }
        return Unmanaged<PatternBudget>.fromOpaque(budget).takeUnretainedValue().count(block)
      }, Unmanaged.passUnretained(self).toOpaque())
  }

  deinit {
    pcre2_match_data_free_8(data)
    pcre2_match_context_free_8(context)
  }

  /// Prepares a search; returns false if no steps are left.
  fileprivate func admit(_ pattern: Pattern, _ length: Int) -> Bool {
    itemSteps = pattern.itemSteps
    references = pattern.references
    left += Self.stepsPerByte * length
    return left > 0 && data != nil && context != nil
  }

  /// "If the value is less than zero, the match is abandoned, and pcre2_match() returns the negative value."
  private func count(_ block: UnsafeMutablePointer<pcre2_callout_block_8>) -> Int32 {
    let reached = block.pointee.current_position
    var passed = max(0, reached - position)
    position = reached
    // A back reference compares up to the whole length of its group. Unset groups count as empty.
    for group in references where group < block.pointee.capture_top {
      passed += block.pointee.offset_vector[2 * group + 1] - block.pointee.offset_vector[2 * group]
    }
    left -= 1 + itemSteps + passed / 8
    return left < 0 ? PCRE2_ERROR_CALLOUT : 0
  }
}

extension [Pattern] {
  /// Removes the matches of each pattern in turn.
  func removed(from text: String, _ budget: PatternBudget) throws(Pattern.TooSlow) -> String {
    guard !isEmpty, !text.isEmpty else { return text }
    return try removed(from: text.utf8, budget).map { String(decoding: $0, as: UTF8.self) } ?? text
  }

  /// Removes matches from UTF-8 bytes; nil if nothing was removed or the bytes are not UTF-8.
  func removed(from bytes: some Collection<UInt8>, _ budget: PatternBudget) throws(Pattern.TooSlow) -> [UInt8]? {
    guard !isEmpty, String(validating: bytes, as: UTF8.self) != nil else { return nil }
    var kept = [UInt8](bytes)
    for pattern in self { kept = try pattern.removed(from: kept, budget) }
    return kept.count == bytes.count ? nil : kept
  }
}
