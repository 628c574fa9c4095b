import Basics
import Foundation
import LaunchContract

/// An ICU regular expression (`NSRegularExpression`) whose matches are ignored.
///
/// An expression such as `(a+)+$` can take exponential time; ``PatternBudget`` limits it.
struct Pattern: Sendable {
  /// Thrown when a search exceeds its budget.
  struct TooSlow: Error, CustomStringConvertible {
    let pattern: String

    var description: String {
      "the pattern '\(pattern.prefix(80))' takes too long; avoid nested repetitions"
    }
  }

  let text: String
  private let expression: NSRegularExpression

  /// - Throws: `CodedError` if the text is not a valid expression.
  init(_ text: String) throws(CodedError) {
    self.text = text
    do {
      expression = try NSRegularExpression(pattern: text)
    } catch {
      throw CodedError(.broken, "'\(text.prefix(80))' is not a valid ICU regular expression")
    }
  }

  /// Removes what the expression matches.
  ///
  /// - Throws: ``TooSlow`` if the budget is exceeded.
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

/// A limit on the time to search for patterns, such as for all texts of a request: two seconds of CPU time by default.
///
/// Quick searches, which nearly all are, are not measured. Not thread-safe.
package final class PatternBudget {
  private let limit: Double
  private var spent = 0.0

  /// - Parameter seconds: the CPU time for all searches together.
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

    /// Whether the search may continue; called repeatedly during a long search.
    package mutating func mayGoOn() -> Bool {
      calls += 1
      guard calls % 64 == 1, !isOver else { return !isOver }
      let now = PatternBudget.processorTime
      let start = start ?? now
      self.start = start
      isOver = budget.spent + now - start > budget.limit
      return !isOver
    }

    /// Adds the search to the budget; false if the budget was exceeded.
    package mutating func end() -> Bool {
      if let start { budget.spent += PatternBudget.processorTime - start }
      return !isOver
    }
  }

  /// The CPU time of this thread in seconds.
  private static var processorTime: Double {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
  }
}

extension [Pattern] {
  /// Removes what each pattern matches, one after the other.
  func removed(from text: String, _ budget: PatternBudget) throws(Pattern.TooSlow) -> String {
    var text = text
    for pattern in self { text = try pattern.removed(from: text, budget) }
    return text
  }

  /// Removes matches from UTF-8 bytes; nil if nothing was removed or the bytes are not UTF-8.
  func removed(from bytes: some Collection<UInt8>, _ budget: PatternBudget) throws(Pattern.TooSlow) -> [UInt8]? {
    guard !isEmpty, let text = String(validating: bytes, as: UTF8.self) else { return nil }
    let kept = try removed(from: text, budget)
    return kept.utf8.count == bytes.count ? nil : [UInt8](kept.utf8)
  }
}
