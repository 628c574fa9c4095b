import Foundation

/// The report as a person reads it at the end of a run or in a failed test.
package struct ReportText {
  /// What a part of a line says, for those who can show it in colours.
  package enum Style: Sendable {
    case good, bad, doubtful
  }

  /// Unmatched requests and unused interactions that are listed; the report as JSON has all.
  private static let listed = 10

  private let report: Report
  private let cassette: String?
  private let whole: String?

  /// - Parameters:
  ///   - report: what the end of the environment answered.
  ///   - cassette: the cassette's file in the words of whoever asked for it; nil for its absolute path.
  ///   - whole: where all of a list stands that is cut short here, such as `--report FILE`.
  package init(_ report: Report, cassette: String? = nil, wholeIn whole: String? = nil) {
    self.report = report
    self.cassette = cassette ?? report.cassette
    self.whole = whole
  }

  /// The summary first, then what went wrong and what was left over.
  package func lines(_ styled: (String, Style) -> String = { text, _ in text }) -> [String] {
    var lines = [summary(styled)]
    for unmatched in report.unmatched.prefix(Self.listed) {
      if let refusal = unmatched.refusal {
        lines.append(styled("refused: \(unmatched.method) \(unmatched.url)", .bad) + ": \(refusal)")
        continue
      }
      lines.append(styled("not recorded: \(unmatched.method) \(unmatched.url)", .bad))
      for nearest in unmatched.nearest.prefix(2) {
        lines.append("  nearest: interaction \(nearest.index), \(nearest.method) \(nearest.url)")
        for difference in nearest.differences.prefix(5) { lines.append("    " + Self.difference(difference, styled)) }
        for rule in (nearest.rules ?? []).prefix(3) { lines.append("    compared by \(rule)") }
      }
    }
    rest(of: report.unmatched.count, "unmatched requests", &lines)
    if let advice = report.advice { lines.append("to record what is missing: \(advice)") }
    for unused in report.unused.prefix(Self.listed) {
      lines.append(styled("unused: interaction \(unused.index), \(unused.method) \(unused.url)", .doubtful))
    }
    rest(of: report.unused.count, "unused interactions", &lines)
    for missing in report.strings.missing.prefix(Self.listed) {
      lines.append(
        styled("missing string: key '\(missing.key)', ordinal \(missing.ordinal)", .bad)
          + "; record again, or use the key as it was recorded")
    }
    for unused in report.strings.unused.prefix(Self.listed) {
      lines.append(styled("unused string: key '\(unused.key)', ordinal \(unused.ordinal)", .doubtful))
    }
    for failure in report.failures { lines.append(styled(failure, .bad)) }
    return lines
  }

  /// A difference with its two sides told apart, as `Difference` words them.
  private static func difference(_ text: String, _ styled: (String, Style) -> String) -> String {
    if let place = text.firstRange(of: ": not recorded, got ") {
      let got = text.index(place.upperBound, offsetBy: -4)
      return text[..<got] + styled(String(text[got...]), .bad)
    }
    guard let place = text.firstRange(of: ": recorded ") else { return text }
    let start = text.index(place.lowerBound, offsetBy: 2)
    // Values may have these words in them: the last is ours where it says that something is missing.
    let missing = ", missing in the request"
    let end =
      text.hasSuffix(missing)
      ? text.index(text.endIndex, offsetBy: -missing.count) : text[start...].firstRange(of: ", got ")?.lowerBound
    guard let end else { return text }
    let actual = text.index(end, offsetBy: 2)
    return text[..<start] + styled(String(text[start..<end]), .good) + ", " + styled(String(text[actual...]), .bad)
  }

  private func rest(of count: Int, _ what: String, _ lines: inout [String]) {
    guard count > Self.listed else { return }
    lines.append("… and \(count - Self.listed) more \(what)" + (whole.map { "; \($0) lists them" } ?? ""))
  }

  private func summary(_ styled: (String, Style) -> String) -> String {
    let requests = report.requests
    let state = report.ok ? styled("ok", .good) : styled("failed", .bad)
    var parts: [String] = []
    let counts = [
      ("replayed", requests.replayed), ("recorded", requests.recorded), ("forwarded", requests.forwarded),
      ("mocked", requests.mocked), ("unmatched", requests.unmatched), ("failed upstream", requests.failed),
      ("broken off by the app", requests.left ?? 0),
    ]
    for (what, count) in counts where count > 0 { parts.append("\(count) \(what)") }
    let total = counted(requests.total, "request")
    var text = "\(report.mode) \(state): \(total)"
    if !parts.isEmpty { text += " (\(parts.joined(separator: ", ")))" }
    if report.strings.read > 0 { text += ", \(counted(report.strings.read, "string"))" }
    if report.clock.kind != "system", let start = report.clock.start {
      text += ", clock \(report.clock.kind) at \(start)"
    }
    if let cassette { text += sealedText(cassette) }
    return text + String(format: ", %.2f s", report.durationSeconds)
  }

  private func sealedText(_ cassette: String) -> String {
    switch report.recording?.outcome {
    case .written: ", \(cassette) written with \(counted(report.recording?.interactions ?? 0, "interaction"))"
    case .unchanged: ", nothing recorded, \(cassette) left as it was"
    case .nothing: ", nothing recorded, no cassette"
    case .unsealed: ", not sealed"
    case nil: ", from \(cassette)"
    }
  }
}

/// A number with its noun: `1 request`, `2 requests`.
package func counted(_ count: Int, _ noun: String) -> String {
  count == 1 ? "1 \(noun)" : "\(count) \(noun)s"
}
