import Basics
import Foundation

/// The report as text, for the end of a run or a failed test.
package struct ReportText {
  /// The meaning of a part of a line, for output in color.
  package enum Style: Sendable {
    case good, bad, doubtful
  }

  /// How many unmatched requests and unused interactions are listed. The JSON report lists all.
  private static let listed = 10

  /// The option of `diorama run` that writes the whole report.
  package static let reportOption = "--report FILE"

  private let report: Report
  private let cassette: String?
  private let whole: String?

  /// - Parameters:
  ///   - report: the environment's final report.
  ///   - cassette: the cassette's path as the user wrote it; nil for its absolute path.
  ///   - whole: where to find lists that are shortened here, such as `--report FILE`.
  package init(_ report: Report, cassette: String? = nil, wholeIn whole: String? = nil) {
    self.report = report
    self.cassette = cassette ?? report.cassette
    self.whole = whole
  }

  /// A line made of parts with and without a style.
  private struct Line: ExpressibleByStringInterpolation {
    private var parts: [(text: String, style: Style?)]

    init(stringLiteral text: String) { parts = [(text, nil)] }

    init(_ text: String, _ style: Style? = nil) { parts = [(text, style)] }

    static func + (left: Line, right: Line) -> Line {
      var line = left
      line.parts += right.parts
      return line
    }

    /// Whether the line begins with what failed.
    var isFailure: Bool { parts.first?.style == .bad }

    /// The line with its styles; other control characters are escaped.
    func text(_ styled: (String, Style) -> String) -> String {
      parts.map { part in
        let text = part.text.escapedForTerminal
        return part.style.map { styled(text, $0) } ?? text
      }.joined()
    }
  }

  /// The summary, then what failed, then what was not used.
  ///
  /// - Parameter styled: adds a style to a text.
  /// - Returns: the lines. Only `styled` can add control characters; those in URLs, methods and texts are escaped.
  package func lines(_ styled: (String, Style) -> String = { text, _ in text }) -> [String] {
    lines.map { $0.text(styled) }
  }

  /// Why the environment failed, in one line; nil if it did not.
  package var failure: String? {
    guard !report.ok else { return nil }
    // The lines that say why are those of the report with a part in this style at their beginning.
    let reasons = lines.dropFirst().filter(\.isFailure).map { $0.text { text, _ in text } }
    let first = reasons.first ?? summary.text { text, _ in text }
    let more = reasons.count > 1 ? " (and \(reasons.count - 1) more)" : ""
    return reasons.isEmpty ? first : "\(report.mode) failed: \(first)\(more)"
  }

  private var lines: [Line] {
    var lines = [summary]
    var rules: Set<JSON> = []
    for unmatched in report.unmatched.prefix(Self.listed) {
      if let refusal = unmatched.refusal {
        lines.append(Line("refused: \(unmatched.method) \(unmatched.url)", .bad) + ": \(refusal)")
        continue
      }
      let what = report.mode == "mock" ? "no stub" : "not recorded"
      lines.append(Line("\(what): \(unmatched.method) \(unmatched.url)", .bad))
      for nearest in Self.shown(unmatched) {
        lines.append("  nearest: interaction \(nearest.index), \(nearest.method) \(nearest.url)")
        for difference in nearest.differences.prefix(5) { lines.append("    " + Self.difference(difference)) }
        for rule in (nearest.rules ?? []).prefix(3) { lines.append("    compared by \(rule)") }
      }
      for nearest in (unmatched.nearestStubs ?? []).prefix(2) {
        lines.append("  nearest: \(nearest.stub)")
        for difference in nearest.differences.prefix(5) { lines.append("    \(difference)") }
      }
      if let fix = unmatched.fix, !fix.isRecordable {
        // Repeats of a request have the same rule.
        let setting = fix.setting.flatMap { rules.insert($0).inserted ? $0 : nil }
        lines.append(Line("  to fix it: \(fix.advice)" + (setting == nil ? "" : ":")))
        if let setting { lines.append(Line("    " + String(decoding: setting.encoded(.line), as: UTF8.self))) }
      }
    }
    if !rules.isEmpty, whole == Self.reportOption, let cassette {
      let name = cassette.hasSuffix(".har") ? String(cassette.dropLast(4)) : cassette
      let what = rules.count == 1 ? "it" : "them"
      lines.append(
        "to add \(what) to diorama.json, write the report with \(Self.reportOption), then run: "
          + "diorama rules suggest \(name) --from FILE --write")
    }
    rest(of: report.unmatched.count, "unmatched requests", &lines)
    let isRecording = report.recording != nil
    for (what, failures) in [
      ("failed upstream", report.upstreamFailures ?? []), ("cancelled by the app", report.brokenOff ?? []),
    ] {
      for failure in failures.prefix(Self.listed) {
        let times = failure.count == 1 ? "" : " (\(failure.count) times)"
        lines.append(
          Line("\(what): \(failure.method) \(failure.url)", isRecording ? .bad : .doubtful)
            + ": \(failure.cause)\(times)")
      }
      rest(of: failures.count, "requests \(what)", &lines)
    }
    if let permission = report.recording?.permission {
      lines.append("to save a recording that lacks these responses: \(permission)")
    }
    if report.mode == "mock", report.requests.mocked == 0,
      report.unmatched.contains(where: { $0.refusal == nil && $0.nearestStubs == nil })
    {
      lines.append("mode mock answers from stubs, and there are none; to answer from a recording, use mode once")
    }
    if let advice = report.advice { lines.append("to record what is missing: \(advice)") }
    if report.isolation != nil, !unknownHosts.isEmpty {
      let options = unknownHosts.prefix(Self.listed).map { "--deny \($0)" }.joined(separator: " ")
      lines.append(Line("or refuse hosts that the command does not need: \(options)"))
    }
    for unused in report.unused.prefix(Self.listed) {
      lines.append(Line("unused: interaction \(unused.index), \(unused.method) \(unused.url)", .doubtful))
    }
    rest(of: report.unused.count, "unused interactions", &lines)
    for stub in (report.unusedStubs ?? []).prefix(Self.listed) { lines.append(Line("unused: \(stub)", .doubtful)) }
    rest(of: report.unusedStubs?.count ?? 0, "unused stubs", &lines)
    for fault in (report.faults ?? []).prefix(Self.listed) {
      let text = "fault \(fault.fault): "
      lines.append(
        fault.requests == 0
          ? Line(text + "no request", .doubtful) : Line(text + counted(fault.requests, "request")))
    }
    rest(of: report.faults?.count ?? 0, "faults", &lines)
    for line in (report.contractViolations ?? []).prefix(Self.listed) {
      lines.append(Line("violates the contract", .bad) + ": \(line)")
    }
    rest(of: report.contractViolations?.count ?? 0, "violations of the contract", &lines)
    for line in (report.contractNotes ?? []).prefix(Self.listed) {
      lines.append(Line("contract", .doubtful) + ": \(line)")
    }
    rest(of: report.contractNotes?.count ?? 0, "notes about the contract", &lines)
    if let isolation = report.isolation, let reason = isolation.reason {
      lines.append(Line("isolated by \(isolation.kind) only", .doubtful) + ": \(reason)")
    }
    for line in (report.isolation?.missing ?? []).prefix(Self.listed) { lines.append(Line(line, .doubtful)) }
    rest(of: report.isolation?.missing?.count ?? 0, "remarks about the isolation", &lines)
    for command in (report.isolation?.interrupted ?? []).prefix(Self.listed) {
      lines.append(
        Line("the command was still running when the environment ended, and was stopped: \(command)", .doubtful))
    }
    rest(of: report.isolation?.interrupted?.count ?? 0, "commands that were ended", &lines)
    for line in (report.isolation?.relayed ?? []).prefix(Self.listed) {
      lines.append(Line("not recorded", .doubtful) + ": \(line)")
    }
    rest(of: report.isolation?.relayed.count ?? 0, "relayed connections", &lines)
    for missing in report.strings.missing.prefix(Self.listed) {
      lines.append(
        Line("missing string: key '\(missing.key)', ordinal \(missing.ordinal)", .bad)
          + "; re-record, or use the key as it was recorded")
    }
    for unused in report.strings.unused.prefix(Self.listed) {
      lines.append(Line("unused string: key '\(unused.key)', ordinal \(unused.ordinal)", .doubtful))
    }
    for resource in (report.resources ?? []).prefix(Self.listed) { lines.append("leased: \(resource)") }
    rest(of: report.resources?.count ?? 0, "leased resources", &lines)
    for text in (report.keptAsSent ?? []).prefix(Self.listed) { lines.append(Line(text, .doubtful)) }
    rest(of: report.keptAsSent?.count ?? 0, "bodies kept as sent", &lines)
    for text in (report.unechoed ?? []).prefix(Self.listed) {
      lines.append(Line("not echoed", .doubtful) + ": \(text)")
    }
    rest(of: report.unechoed?.count ?? 0, "values not echoed", &lines)
    if let redacted = report.redacted {
      let more = redacted.count > Self.listed ? " and \(redacted.count - Self.listed) more" : ""
      lines.append(Line("redacted: \(redacted.prefix(Self.listed).joined(separator: ", "))\(more)"))
    }
    for failure in report.failures { lines.append(Line(failure, .bad)) }
    if let recording = report.recording, recording.outcome == .aside, let file = recording.file, let cassette {
      let name = cassette.hasSuffix(".har") ? String(cassette.dropLast(4)) : cassette
      let reason =
        report.ok
        ? "the program or test failed or was interrupted, so its recording" : "the recording of this failed run"
      lines.append(
        "\(reason) is in \(file), not in the cassette; to make it the cassette: diorama cassette check --recover \(name)"
      )
    }
    return lines
  }

  /// The nearest interaction, and a second one if it has the method and the path of the request.
  private static func shown(_ unmatched: Report.Unmatched) -> [Report.Nearest] {
    func path(_ url: String) -> String? { URLComponents(string: url)?.path }
    return unmatched.nearest.prefix(1)
      + unmatched.nearest.dropFirst().prefix(1).filter {
        $0.method == unmatched.method && path($0.url) == path(unmatched.url)
      }
  }

  /// The hosts of the requests that are missing and resemble nothing in the recording.
  private var unknownHosts: [String] {
    var hosts: [String] = []
    for unmatched in report.unmatched where unmatched.refusal == nil && unmatched.fix?.isRecordable == true {
      guard let host = URLComponents(string: unmatched.url)?.host, !hosts.contains(host),
        !unmatched.nearest.contains(where: { URLComponents(string: $0.url)?.host == host })
      else { continue }
      hosts.append(host)
    }
    return hosts
  }

  /// A difference in the wording of `Difference`, with its two sides in different styles.
  private static func difference(_ text: String) -> Line {
    if let place = text.firstRange(of: ": not recorded, got ") {
      let got = text.index(place.upperBound, offsetBy: -4)
      return Line(String(text[..<got])) + Line(String(text[got...]), .bad)
    }
    guard let place = text.firstRange(of: ": recorded ") else { return Line(text) }
    let start = text.index(place.lowerBound, offsetBy: 2)
    // Recorded values may contain this phrase, so only the one at the end counts.
    let missing = ", missing in the request"
    let end =
      text.hasSuffix(missing)
      ? text.index(text.endIndex, offsetBy: -missing.count) : text[start...].firstRange(of: ", got ")?.lowerBound
    guard let end else { return Line(text) }
    let actual = text.index(end, offsetBy: 2)
    return Line(String(text[..<start])) + Line(String(text[start..<end]), .good) + ", "
      + Line(String(text[actual...]), .bad)
  }

  private func rest(of count: Int, _ what: String, _ lines: inout [Line]) {
    guard count > Self.listed else { return }
    lines.append(Line("… and \(count - Self.listed) more \(what)" + (whole.map { "; \($0) lists them" } ?? "")))
  }

  private var summary: Line {
    let requests = report.requests
    var parts: [String] = []
    // The others are requests whose recording could not be written, for example.
    let upstream = min(requests.failed, (report.upstreamFailures ?? []).reduce(0) { $0 + $1.count })
    let counts = [
      ("replayed", requests.replayed), ("recorded", requests.recorded), ("forwarded", requests.forwarded),
      ("mocked", requests.mocked), ("unmatched", requests.unmatched), ("failed upstream", upstream),
      ("failed", requests.failed - upstream), ("cancelled by the app", requests.left ?? 0),
      ("faulted", requests.faulted ?? 0),
    ]
    for (what, count) in counts where count > 0 { parts.append("\(count) \(what)") }
    var text = ": \(counted(requests.total, "request"))"
    if !parts.isEmpty { text += " (\(parts.joined(separator: ", ")))" }
    if report.strings.read > 0 { text += ", \(counted(report.strings.read, "string"))" }
    if report.clock.kind != "system", report.clock.start != nil {
      let rate = report.clock.rate.map { ":" + (Int(exactly: $0).map(String.init) ?? "\($0)") } ?? ""
      text += ", clock \(report.clock.kind)\(rate) at \(report.clock.now)"
    }
    if let cassette { text += sealedText(cassette) }
    text += String(format: ", %.2f s", report.durationSeconds)
    // The environment is ok, but the recording was not saved because the program or test failed.
    let isAside = report.recording?.outcome == .aside
    let verdict = !report.ok ? Line("failed", .bad) : isAside ? Line("not saved", .doubtful) : Line("ok", .good)
    return "\(report.mode) " + verdict + Line(text)
  }

  private func sealedText(_ cassette: String) -> String {
    switch report.recording?.outcome {
    case .written:
      ", \(cassette) written with \(counted(report.recording?.interactions ?? 0, "interaction"))"
        + (report.commandStatus.map { $0 == 0 ? "" : ", although the command failed with status \($0)" } ?? "")
    case .unchanged: ", nothing recorded, \(cassette) unchanged"
    case .nothing: ", nothing recorded, no cassette"
    case .unsealed: ", cassette not saved"
    case .aside: ", \(counted(report.recording?.interactions ?? 0, "interaction")) kept aside"
    // Before its end, a recording has no cassette.
    case nil: report.mode == "record" || report.mode == "mock" ? "" : ", from \(cassette)"
    }
  }
}
