import Foundation
import LaunchContract

/// A regular expression as ICU has them (`NSRegularExpression`), for leaving out what it matches.
///
/// An expression such as `(a+)+$` can take for ever on some texts: ``PatternBudget`` says when that is given up.
struct Pattern: Sendable {
  /// Thrown where a search was given up.
  struct TooSlow: Error, CustomStringConvertible {
    let pattern: String

    var description: String {
      "the pattern '\(pattern.prefix(80))' takes too long on some text; avoid repetitions inside of repetitions"
    }
  }

  let text: String
  private let expression: NSRegularExpression

  /// - Throws: `ContractError` for what is no expression.
  init(_ text: String) throws(ContractError) {
    self.text = text
    do {
      expression = try NSRegularExpression(pattern: text)
    } catch {
      throw ContractError("'\(text.prefix(80))' is no regular expression as ICU has them")
    }
  }

  /// The text without what the expression matches.
  ///
  /// - Throws: ``TooSlow`` where the budget does not last.
  func removed(from text: String, _ budget: PatternBudget) throws(TooSlow) -> String {
    guard !text.isEmpty else { return text }
    var found: [NSRange] = []
    var search = PatternBudget.Search(budget)
    let units = Array(text.utf16)
    expression.enumerateMatches(
      in: text, options: .reportProgress, range: NSRange(location: 0, length: units.count)
    ) { match, _, stop in
      if let match {
        if match.range.length > 0 { found.append(match.range) }
      } else if !search.mayGoOn() {
        stop.pointee = true
      }
    }
    guard search.end() else { throw TooSlow(pattern: self.text) }
    guard !found.isEmpty else { return text }
    var kept: [UInt16] = []
    var index = 0
    for range in found {
      kept += units[index..<range.location]
      index = range.location + range.length
    }
    kept += units[index...]
    return String(decoding: kept, as: UTF16.self)
  }
}

/// How long patterns may be searched for, such as in one request: two seconds of processor time, not of waiting, in all
/// its texts.
///
/// Searches that are quick, as nearly all are, are not even measured. For one thread.
package final class PatternBudget {
  private let limit: Double
  private var spent = 0.0

  /// - Parameter seconds: of processor time, for all searches together.
  package init(seconds: Double = 2) {
    limit = seconds
  }

  /// One search in one text.
  package struct Search {
    private let budget: PatternBudget
    private var calls = 0
    private var start: Double?
    private var isOver = false

    package init(_ budget: PatternBudget) {
      self.budget = budget
    }

    /// Asked again and again while the search takes long.
    package mutating func mayGoOn() -> Bool {
      calls += 1
      guard calls % 64 == 1, !isOver else { return !isOver }
      let now = PatternBudget.processorTime
      let start = start ?? now
      self.start = start
      isOver = budget.spent + now - start > budget.limit
      return !isOver
    }

    /// Counts what it has taken; false where that was too much.
    package mutating func end() -> Bool {
      if let start { budget.spent += PatternBudget.processorTime - start }
      return !isOver
    }
  }

  /// Seconds that this thread has run.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

extension [Pattern] {
  /// The text without what any of them matches, one after the other.
  func removed(from text: String, _ budget: PatternBudget) throws(Pattern.TooSlow) -> String {
    var text = text
    for pattern in self { text = try pattern.removed(from: text, budget) }
    return text
  }

  /// The same of bytes; nil where nothing of them is left out, or they are no text.
  func removed(from bytes: some Collection<UInt8>, _ budget: PatternBudget) throws(Pattern.TooSlow) -> [UInt8]? {
    guard !isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let kept = try removed(from: text, budget)
    return kept.utf8.count == bytes.count ? nil : [UInt8](kept.utf8)
  }
}
