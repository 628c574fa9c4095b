import Basics
import Foundation

/// The environment that a scenario ran in, as its attachments tell.
struct EnvironmentRecord {
  /// The media type of an environment's journal.
  static let journalType = "application/vnd.diorama.journal+ndjson"
  /// The media type of an environment's report.
  static let reportType = "application/vnd.diorama.report+json"

  /// The environment's report; `.null` without an environment.
  var report: JSON = .null
  /// The entries of the journal.
  var entries: [JSON] = []

  /// - Returns: nil if an attempt has no such attachments.
  init?(_ attempt: ScenarioRun.Attempt) {
    let attachments = attempt.allAttachments
    let journals = attachments.filter { $0.mediaType == Self.journalType }
    let reports = attachments.filter { $0.mediaType == Self.reportType }
    guard !journals.isEmpty || !reports.isEmpty else { return nil }
    // The last report is the final one.
    report = reports.last.flatMap { try? JSON.parse($0.bytes) } ?? .null
    for journal in journals {
      entries += journal.bytes.split(separator: 0x0A).compactMap { try? JSON.parse(Array($0)) }
    }
  }

  /// The requests that nothing answered.
  var misses: [Miss] { (report["unmatched"]?.array ?? []).map { Miss($0, in: report) } }

  /// What failed apart from misses, one line each.
  var failures: [String] {
    var lines: [String] = []
    for missing in report["strings"]?["missing"]?.array ?? [] {
      lines.append(
        "missing string: key '\(missing["key"]?.string ?? "")', ordinal \(missing["ordinal"]?.int ?? 0); "
          + "re-record, or use the key as it was recorded")
    }
    for line in report["contractViolations"]?.array ?? [] { lines.append("Violates the contract: \(line.text)") }
    for name in ["upstreamFailures", "brokenOff"] {
      let what = name == "brokenOff" ? "Cancelled by the app" : "Failed upstream"
      for failure in report[name]?.array ?? [] {
        lines.append(
          "\(what): \(failure["method"]?.string ?? "") \(failure["url"]?.string ?? ""): "
            + (failure["cause"]?.string ?? ""))
      }
    }
    return lines + (report["failures"]?.array ?? []).map(\.text)
  }

  /// A request that nothing answered, and what to do about it.
  struct Miss {
    /// What is similar to the request.
    struct Nearest {
      var title: String
      var differences: [String]
      var rules: [String]
    }

    var request: String
    /// Such as `Not recorded`.
    var what: String
    var nearest: [Nearest]
    /// What to do; nil if unknown.
    var advice: String?
    /// A `diorama.json` with the setting that makes the request match; nil for none.
    var setting: String?
    /// The command that records it; nil for none.
    var command: String?

    init(_ unmatched: JSON, in report: JSON) {
      request = "\(unmatched["method"]?.string ?? "") \(unmatched["url"]?.string ?? "")"
      let refusal = unmatched["refusal"]?.string
      what = refusal != nil ? "Refused" : report["mode"]?.string == "mock" ? "No stub" : "Not recorded"
      func strings(_ value: JSON?) -> [String] { (value?.array ?? []).compactMap(\.string) }
      nearest = (unmatched["nearest"]?.array ?? []).prefix(2).map {
        Nearest(
          title: "interaction \($0["index"]?.int ?? 0), \($0["method"]?.string ?? "") \($0["url"]?.string ?? "")",
          differences: strings($0["differences"]), rules: strings($0["rules"]))
      }
      nearest += (unmatched["nearestStubs"]?.array ?? []).prefix(2).map {
        Nearest(title: $0["stub"]?.string ?? "", differences: strings($0["differences"]), rules: [])
      }
      let fix = unmatched["fix"]
      advice = refusal ?? fix?["advice"]?.string
      let setting: JSON? =
        fix?["redaction"].flatMap { $0.object == nil ? nil : .object(["redaction": $0]) }
        ?? fix?["rule"].flatMap {
          $0.object == nil ? nil : .object(["matching": .object(["rules": .array([$0])])])
        }
      self.setting = setting.map { String(decoding: $0.encoded(.line), as: UTF8.self) }
      if refusal == nil, fix?["isRecordable"]?.bool != false { command = report["advice"]?.string }
    }
  }
}

/// Why an attempt failed, and what to do.
enum Finding {
  /// A request that nothing answered.
  case miss(EnvironmentRecord.Miss)
  /// A step without a definition.
  case undefined(ScenarioRun.StepResult)
  /// A step with several definitions.
  case ambiguous(ScenarioRun.StepResult)
  /// A step whose definition is not written yet.
  case pending(ScenarioRun.StepResult)
  /// A step or hook with an error.
  case error(ScenarioRun.StepResult)
  /// The process ended before the step, or before the first one.
  case unfinished(ScenarioRun.StepResult?)
  /// A problem of the environment.
  case environment(String)

  /// The findings of an attempt, the most helpful first; none if it passed.
  static func all(in attempt: ScenarioRun.Attempt) -> [Finding] {
    guard attempt.status != .passed, attempt.status != .skipped else { return [] }
    let record = EnvironmentRecord(attempt)
    var findings = (record?.misses ?? []).map(Finding.miss)
    let steps = attempt.steps.sorted { $0.status.rank > $1.status.rank }
    for step in steps {
      switch step.status {
      case .undefined: findings.append(.undefined(step))
      case .ambiguous: findings.append(.ambiguous(step))
      case .pending: findings.append(.pending(step))
      case .failed: findings.append(.error(step))
      case .unknown, .passed, .skipped: break
      }
    }
    findings += (record?.failures ?? []).map(Finding.environment)
    if attempt.end == nil { findings.append(.unfinished(attempt.steps.last { $0.hasStarted })) }
    return findings
  }

  /// The kind, as a word without spaces.
  var kind: String {
    switch self {
    case .miss: "miss"
    case .undefined: "undefined"
    case .ambiguous: "ambiguous"
    case .pending: "pending"
    case .error: "failed"
    case .unfinished: "unfinished"
    case .environment: "environment"
    }
  }

  /// What happened, in one line.
  var headline: String {
    switch self {
    case .miss(let miss): "\(miss.what): \(miss.request)"
    case .undefined(let step): "Undefined step: \(step.title)"
    case .ambiguous(let step): "Ambiguous step: \(step.title)"
    case .pending(let step): "Pending step: \(step.title)"
    case .error(let step):
      (step.error ?? "failed without a message").split(whereSeparator: \.isNewline).first.map(String.init) ?? "failed"
    case .unfinished(let step):
      "The process ended during the scenario" + (step.map { ", in: \($0.title)" } ?? "")
    case .environment(let text): text
    }
  }

  /// What to do, in one line; nil if the headline says it.
  var advice: String? {
    switch self {
    case .miss(let miss): miss.advice ?? miss.command.map { "to record it: \($0)" }
    case .undefined(let step):
      step.snippets.isEmpty ? "Add a step definition for it." : "Add this step definition:"
    case .ambiguous: "Keep one of these definitions, or make their expressions more specific:"
    case .pending(let step): step.error ?? "Implement its step definition."
    case .error, .environment: nil
    case .unfinished: "Look for a crash or a timeout in the output of the test run."
    }
  }

  /// The finding in lines of text, the headline first.
  var lines: [String] {
    var lines = [headline]
    switch self {
    case .miss(let miss):
      for nearest in miss.nearest {
        lines.append("  nearest: \(nearest.title)")
        lines += nearest.differences.map { "    \($0)" }
        lines += nearest.rules.map { "    compared by \($0)" }
      }
      if let advice { lines.append("  to fix it: \(advice)") }
      if let setting = miss.setting { lines.append("    \(setting)") }
      if let command = miss.command, advice?.contains(command) != true {
        lines.append("  to record what is missing: \(command)")
      }
    case .undefined(let step):
      if let advice { lines.append(advice) }
      lines += step.snippets.prefix(1)
    case .ambiguous(let step):
      if let advice { lines.append(advice) }
      for definition in step.definitions {
        lines.append("  \(definition.pattern.source)  (\(definition.sourceReference.place ?? "unknown place"))")
      }
      if let error = step.error { lines.append(error) }
    case .error(let step):
      let rest = step.error.map { $0.split(whereSeparator: \.isNewline).dropFirst().map(String.init) } ?? []
      lines += rest
      if let trace = step.trace { lines.append(trace) }
    case .pending, .unfinished: if let advice { lines.append(advice) }
    case .environment: break
    }
    return lines
  }
}

extension Message.Attachment {
  /// The decoded body.
  var bytes: [UInt8] {
    switch contentEncoding {
    case .identity: Array(body.utf8)
    case .base64: Data(base64Encoded: body, options: .ignoreUnknownCharacters).map { [UInt8]($0) } ?? []
    }
  }

  /// The decoded body as text.
  var text: String { contentEncoding == .identity ? body : String(decoding: bytes, as: UTF8.self) }
}

extension String {
  /// The text without the escape sequences that color it in a terminal.
  var withoutTerminalColors: String {
    guard utf8.contains(0x1B) else { return self }
    var rest = unicodeScalars[...]
    var result = String.UnicodeScalarView()
    while let scalar = rest.popFirst() {
      guard scalar == "\u{1B}", rest.first == "[" else {
        result.append(scalar)
        continue
      }
      rest = rest.dropFirst().drop { !(0x40...0x7E).contains($0.value) }.dropFirst()
    }
    return String(result)
  }
}
