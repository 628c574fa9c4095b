import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration

extension EnvironmentSpecification {
  /// The maximum number of causes in an advice.
  private static let mostCauses = 3

  /// What to do about a miss.
  ///
  /// - Parameters:
  ///   - misses: the nearest recorded requests.
  ///   - expected: the interaction that has to come next in strict order; nil if any may come.
  /// - Returns: the advice, with the rule that makes the request match, if one does.
  func fix(for misses: [NearMiss], expected: Int?) -> Report.Fix {
    let miss = misses.first { $0.remedy?.rule != nil } ?? misses.first
    guard let miss, let remedy = miss.remedy else {
      return Report.Fix(interaction: nil, causes: [], advice: recordingAdvice(expected), isRecordable: expected == nil)
    }
    let causes = remedy.causes.map { Report.Fix.Cause(location: $0.location, kind: $0.kind.name) }
    if remedy.rule != nil {
      let setting = remedy.redaction == nil ? "this rule" : "this setting"
      let first = remedy.causes.prefix(Self.mostCauses).map(text).joined(separator: "; ")
      let more = causes.count > Self.mostCauses ? "; and \(causes.count - Self.mostCauses) more" : ""
      let isOnlyRule =
        remedy.causes.allSatisfy { if case .value = $0.kind { false } else { true } }
        || remedy.redaction != nil
      let way =
        isOnlyRule
        ? ", with \(setting) in"
        : causes.count > 1 ? "; or add \(setting), which covers all of them, to" : ", or add \(setting) to"
      return Report.Fix(
        interaction: miss.index, causes: causes, advice: "\(first)\(more)\(way) diorama.json",
        rule: remedy.rule, redaction: remedy.redaction, isRecordable: false)
    }
    let values = remedy.causes.filter { if case .value = $0.kind { true } else { false } }
    if remedy.causes.first?.kind == .order {
      return Report.Fix(
        interaction: miss.index, causes: causes,
        advice: "request it in the recorded order, or choose another order with \(orderAdvice)", isRecordable: false)
    }
    guard values.isEmpty else {
      let others = remedy.causes.filter { $0.kind == .other }.map(\.location)
      let first = values.prefix(Self.mostCauses).map(text).joined(separator: "; ")
      let differ = others.count == 1 ? "differs" : "differ"
      let rest =
        others.isEmpty
        ? "no rule can ignore it"
        : "\(others.prefix(Self.mostCauses).joined(separator: ", ")) \(differ), too"
      let advice = others.isEmpty ? "" : ": if that is intended, record the request once everything else matches"
      return Report.Fix(
        interaction: miss.index, causes: causes, advice: "\(first); \(rest)\(advice)", isRecordable: false)
    }
    return Report.Fix(
      interaction: miss.index, causes: causes, advice: recordingAdvice(expected), isRecordable: expected == nil)
  }

  private func text(_ cause: Remedy.Cause) -> String {
    switch cause.kind {
    case .value(.instant): "\(cause.location) follows the machine's clock: take it from \(clockAdvice)"
    case .value(.uuid): "\(cause.location) is a random UUID: get it from \(stringsAdvice)"
    case .value(.nonce): "\(cause.location) is random: get it from \(stringsAdvice)"
    case .value(.counter): "\(cause.location) counts up: start it with the same number in every run"
    case .value(.signature):
      "\(cause.location) is a signature: sign the same in every run, with time and random values of the environment"
    case .value(.redacted):
      credential(of: cause.mark).map {
        "\(cause.location) is redacted as the credential \($0): pass it with \(credentialAdvice($0))"
      } ?? "\(cause.location) is redacted in the recording: redact it in requests, too"
    case .notation(let kind): "\(cause.location) is the same in another notation: compare it as \(kind.rawValue)"
    case .partOrder: "the parts of the form come in another order: compare them in any order"
    case .order, .exhausted, .other: cause.location
    }
  }

  /// `SERVICE/ACCOUNT` in `<redacted:SERVICE/ACCOUNT>`.
  private func credential(of mark: String?) -> String? {
    guard let mark, let start = mark.firstRange(of: "<redacted:")?.upperBound else { return nil }
    return String(mark[start...].prefix { $0 != ">" })
  }

  /// What records the request, where that is possible.
  private func recordingAdvice(_ expected: Int?) -> String {
    guard expected == nil else {
      return "it cannot be added between recorded requests in strict order: re-record with mode record"
    }
    return "the app asked for something that is not recorded: record it with mode extend"
  }

  private var clockAdvice: String {
    switch caller {
    case .test: "controls.clock"
    case .command, .api, .plugin: "the environment's clock (controls.clock, or clock.start in DIORAMA_CONTRACT)"
    case .node: "the environment's clock"
    case .pytest: "diorama.clock"
    }
  }

  private var stringsAdvice: String {
    switch caller {
    case .test: "controls.strings"
    case .command, .api, .plugin: "the string store (controls.strings, or POST $DIORAMA_CONTROL/strings)"
    case .pytest: "diorama.string(KEY)"
    case .node: "the environment's string(KEY)"
    }
  }

  private var orderAdvice: String {
    switch caller {
    case .command: "--order"
    case .test: "order:"
    case .api, .plugin, .pytest, .node: "matching.order"
    }
  }

  private func credentialAdvice(_ name: String) -> String {
    switch caller {
    case .command: "--credential \(ShellWord.quoted("\(name)=env:VARIABLE"))"
    case .test: "credentials:"
    case .api, .plugin, .pytest, .node: "the 'credentials' setting"
    }
  }
}
