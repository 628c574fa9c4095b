import EnvironmentService
import Foundation

/// The report as a person reads it at the end of a run.
struct ReportText {
  /// Unmatched requests and unused interactions that are listed; the report as JSON has all.
  private static let listed = 10

  let report: Report
  let sealed: Result<CassetteSealer.Outcome?, EnvironmentError>
  let environment: Environment

  func write(to terminal: Terminal) {
    terminal.line(summary(terminal))
    for unmatched in report.unmatched.prefix(Self.listed) {
      if let refusal = unmatched.refusal {
        terminal.more(terminal.styled("refused: \(unmatched.method) \(unmatched.url)", .red) + ": \(refusal)")
        continue
      }
      terminal.more(terminal.styled("not recorded: \(unmatched.method) \(unmatched.url)", .red))
      for nearest in unmatched.nearest.prefix(2) {
        terminal.more("  nearest: interaction \(nearest.index), \(nearest.method) \(nearest.url)")
        for difference in nearest.differences.prefix(5) { terminal.more("    \(difference)") }
      }
    }
    rest(of: report.unmatched.count, "unmatched requests", terminal)
    if report.mode != "mock", report.unmatched.contains(where: { $0.refusal == nil }) {
      terminal.more("to record what is missing: \(environment.recordAdvice)")
    }
    for unused in report.unused.prefix(Self.listed) {
      terminal.more(terminal.styled("unused: interaction \(unused.index), \(unused.method) \(unused.url)", .yellow))
    }
    rest(of: report.unused.count, "unused interactions", terminal)
    for missing in report.strings.missing.prefix(Self.listed) {
      terminal.more(
        terminal.styled("missing string: key '\(missing.key)', ordinal \(missing.ordinal)", .red)
          + "; record again, or use the key as it was recorded")
    }
    for unused in report.strings.unused.prefix(Self.listed) {
      terminal.more(terminal.styled("unused string: key '\(unused.key)', ordinal \(unused.ordinal)", .yellow))
    }
    for failure in report.failures { terminal.more(terminal.styled(failure, .red)) }
  }

  private func rest(of count: Int, _ what: String, _ terminal: Terminal) {
    if count > Self.listed { terminal.more("… and \(count - Self.listed) more \(what); --report FILE lists them") }
  }

  private func summary(_ terminal: Terminal) -> String {
    let requests = report.requests
    let state = report.ok ? terminal.styled("ok", .green) : terminal.styled("failed", .red)
    var parts: [String] = []
    let counts = [
      ("replayed", requests.replayed), ("recorded", requests.recorded), ("forwarded", requests.forwarded),
      ("mocked", requests.mocked), ("unmatched", requests.unmatched), ("failed upstream", requests.failed),
    ]
    for (what, count) in counts where count > 0 { parts.append("\(count) \(what)") }
    let total = counted(requests.total, "request")
    var text = "\(report.mode) \(state): \(total)"
    if !parts.isEmpty { text += " (\(parts.joined(separator: ", ")))" }
    if report.strings.read > 0 { text += ", \(counted(report.strings.read, "string"))" }
    if report.clock.kind != "system", let start = report.clock.start {
      text += ", clock \(report.clock.kind) at \(start)"
    }
    if let cassette = environment.specification.cassette { text += sealedText("\(cassette).har") }
    return text + String(format: ", %.2f s", report.durationSeconds)
  }

  private func sealedText(_ cassette: String) -> String {
    switch sealed {
    case .success(let outcome?) where outcome.isWritten:
      ", \(cassette) written with \(counted(outcome.interactions, "interaction"))"
    case .success(.some):
      ", nothing recorded, "
        + (environment.specification.cassette?.exists == true ? "\(cassette) left as it was" : "no cassette")
    case .success(.none): ", from \(cassette)"
    case .failure: ", not sealed"
    }
  }
}
