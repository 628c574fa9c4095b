import Basics
import Foundation
import Gherkin

/// A run as JUnit XML, as Jenkins and GitLab read it: a suite for each feature, a test case for each scenario.
package enum JUnitReport {
  /// The document.
  ///
  /// - Parameter messages: the messages of a run, or of several one after another.
  /// - Returns: XML 1.0. Of several attempts at a scenario the last counts; the others are `flakyFailure` or
  ///   `rerunFailure`.
  package static func xml(_ messages: [Message]) -> String {
    let run = ScenarioRun(messages)
    var suites = run.features.map(suite)
    if let suite = problems(of: run) { suites.append(suite) }
    var xml = XMLText()
    xml.lines.append(#"<?xml version="1.0" encoding="UTF-8"?>"#)
    let total = suites.reduce(into: Counts()) { $0.add($1.counts) }
    xml.open(
      "testsuites",
      [
        ("name", "scenarios"), ("tests", "\(total.tests)"), ("failures", "\(total.failures)"),
        ("errors", "\(total.errors)"), ("time", seconds(run.seconds)),
      ])
    for suite in suites { xml.lines += suite.lines }
    xml.close("testsuites")
    return xml.lines.joined(separator: "\n") + "\n"
  }

  private struct Counts {
    var tests = 0
    var failures = 0
    var errors = 0
    var skipped = 0

    mutating func add(_ other: Counts) {
      tests += other.tests
      failures += other.failures
      errors += other.errors
      skipped += other.skipped
    }
  }

  private struct Suite {
    var counts: Counts
    var lines: [String]
  }

  private static func seconds(_ value: Double) -> String { String(format: "%.3f", value) }

  private static func suite(_ feature: ScenarioRun.FeatureResult) -> Suite {
    let scenarios = feature.scenarios
    var counts = Counts(tests: scenarios.count)
    counts.failures = scenarios.count(where: \.hasFailed)
    counts.skipped = scenarios.count { $0.status == .skipped }
    let start = scenarios.compactMap { $0.attempts.first?.start }.min() ?? 0
    var xml = XMLText()
    xml.open(
      "testsuite",
      [
        ("name", feature.name), ("tests", "\(counts.tests)"), ("failures", "\(counts.failures)"), ("errors", "0"),
        ("skipped", "\(counts.skipped)"), ("time", seconds(scenarios.reduce(0) { $0 + $1.seconds })),
        ("timestamp", String(RFC3339.format(seconds: Int(start)).dropLast())), ("file", feature.uri),
      ])
    for scenario in scenarios { append(scenario, of: feature, to: &xml) }
    xml.close("testsuite")
    return Suite(counts: counts, lines: xml.lines)
  }

  private static func append(
    _ scenario: ScenarioRun.ScenarioResult, of feature: ScenarioRun.FeatureResult, to xml: inout XMLText
  ) {
    let name = [scenario.rule?.name, scenario.pickle.name].compactMap { $0 }.filter { !$0.isEmpty }
    // Rows of an outline have the same name, by which readers tell test cases apart.
    let isRow = scenario.scenario?.examples.isEmpty == false
    let title = (name.isEmpty ? feature.uri : name.joined(separator: ": ")) + (isRow ? " (line \(scenario.line))" : "")
    xml.open(
      "testcase", [("classname", feature.name), ("name", title), ("time", seconds(scenario.seconds))])
    let tags = scenario.pickle.tags.map(\.name)
    if !tags.isEmpty || scenario.isFlaky {
      xml.open("properties")
      for tag in tags { xml.element("property", [("name", "tag"), ("value", tag)]) }
      if scenario.isFlaky { xml.element("property", [("name", "flaky"), ("value", "true")]) }
      xml.close("properties")
    }
    for attempt in scenario.attempts.dropLast() {
      let findings = Finding.all(in: attempt)
      xml.open(
        scenario.isFlaky ? "flakyFailure" : "rerunFailure",
        [("type", attempt.status.word), ("message", findings.first?.headline ?? attempt.status.word)])
      xml.element("stackTrace", text: text(findings))
      xml.close(scenario.isFlaky ? "flakyFailure" : "rerunFailure")
    }
    if let last = scenario.attempts.last {
      let findings = Finding.all(in: last)
      if scenario.hasFailed {
        let message = findings.first.map(message) ?? last.status.word
        xml.element(
          "failure", [("type", findings.first?.kind ?? last.status.word), ("message", message)],
          text: text(findings) + "\n" + place(of: scenario, last))
      } else if last.status == .skipped {
        let reason = last.steps.lazy.compactMap { $0.status == .skipped ? $0.error : nil }.first
        xml.element("skipped", [("message", reason ?? "skipped")])
      }
      xml.element("system-out", text: output(of: scenario))
    }
    xml.close("testcase")
  }

  /// The headline, with what to do unless that needs more than a line.
  private static func message(_ finding: Finding) -> String {
    guard let advice = finding.advice, !advice.hasSuffix(":") else { return finding.headline }
    return "\(finding.headline); \(advice)"
  }

  private static func text(_ findings: [Finding]) -> String {
    findings.flatMap(\.lines).joined(separator: "\n")
  }

  /// The places of the first step that did not pass.
  private static func place(of scenario: ScenarioRun.ScenarioResult, _ attempt: ScenarioRun.Attempt) -> String {
    let failed = attempt.steps.first { $0.status.rank > ScenarioRun.Status.unknown.rank }
    let line = failed?.line ?? scenario.line
    let definition = (failed?.definitions.first?.sourceReference ?? failed?.hook?.sourceReference)?.place
    return "at \(scenario.pickle.uri):\(line)" + (definition.map { "\n   \($0)" } ?? "")
  }

  /// The steps with their results, and what was logged.
  private static func output(of scenario: ScenarioRun.ScenarioResult) -> String {
    var lines: [String] = []
    for attempt in scenario.attempts {
      if scenario.attempts.count > 1 { lines.append("attempt \(attempt.number + 1): \(attempt.status.word)") }
      for step in attempt.steps where step.step != nil || step.status != .passed {
        let time = step.seconds > 0 ? " (\(seconds(step.seconds)) s)" : ""
        lines.append("\(step.status.word.padding(toLength: 10, withPad: " ", startingAt: 0)) \(step.title)\(time)")
        if let text = step.step?.argument?.docString?.content {
          lines += text.split(separator: "\n", omittingEmptySubsequences: false).map { "           | \($0)" }
        }
        for row in step.step?.argument?.dataTable?.rows ?? [] {
          lines.append("           | " + row.cells.map(\.value).joined(separator: " | ") + " |")
        }
        for log in step.attachments where log.isLog { lines.append("           \(log.text)") }
      }
    }
    return lines.joined(separator: "\n")
  }

  /// What failed apart from scenarios, as a suite with errors; nil for nothing.
  private static func problems(of run: ScenarioRun) -> Suite? {
    var errors: [(name: String, message: String)] = []
    for error in run.parseErrors {
      errors.append(("\(error.source.uri):\(error.source.location.line)", error.message))
    }
    for type in run.undefinedTypes {
      errors.append((type.expression, "undefined parameter type '\(type.name)'; define it with ParameterType"))
    }
    for hook in run.hooks where hook.result.map({ $0.status != .passed && $0.status != .skipped }) ?? true {
      let result = hook.result
      errors.append(
        (
          hook.hook?.title ?? "Hook",
          result?.message ?? result?.exception?.message ?? result?.status.word ?? "unfinished"
        ))
    }
    for error in run.errors { errors.append(("run", error)) }
    if run.unfinished > 0 {
      errors.append(("run", "the process ended during the run; look for a crash or a timeout in its output"))
    }
    guard !errors.isEmpty else { return nil }
    var xml = XMLText()
    xml.open(
      "testsuite",
      [
        ("name", "run"), ("tests", "\(errors.count)"), ("failures", "0"), ("errors", "\(errors.count)"),
        ("skipped", "0"), ("time", "0.000"),
      ])
    for error in errors {
      xml.open("testcase", [("classname", "run"), ("name", error.name), ("time", "0.000")])
      let line = error.message.split(whereSeparator: \.isNewline).first.map(String.init) ?? error.message
      xml.element("error", [("type", "run"), ("message", line)], text: error.message)
      xml.close("testcase")
    }
    xml.close("testsuite")
    return Suite(counts: Counts(tests: errors.count, errors: errors.count), lines: xml.lines)
  }
}

extension Message.Attachment {
  /// Whether it is a line of a log.
  var isLog: Bool { mediaType == "text/x.cucumber.log+plain" }
}

/// XML 1.0 in lines, with escapes.
private struct XMLText {
  var lines: [String] = []

  mutating func open(_ name: String, _ attributes: [(String, String)] = []) {
    lines.append("<\(name)\(Self.text(attributes))>")
  }

  mutating func close(_ name: String) { lines.append("</\(name)>") }

  mutating func element(_ name: String, _ attributes: [(String, String)] = [], text: String = "") {
    lines.append(
      text.isEmpty
        ? "<\(name)\(Self.text(attributes))/>" : "<\(name)\(Self.text(attributes))>\(Self.escaped(text))</\(name)>")
  }

  private static func text(_ attributes: [(String, String)]) -> String {
    attributes.map { " \($0)=\"\(escaped($1, isAttribute: true))\"" }.joined()
  }

  /// The text with references. Characters that XML 1.0 forbids, even as references, become U+FFFD.
  private static func escaped(_ text: String, isAttribute: Bool = false) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": escaped += "&amp;"
      case "<": escaped += "&lt;"
      // `]]>` is not allowed in text.
      case ">": escaped += "&gt;"
      case "\"": escaped += "&quot;"
      case "\r": escaped += "&#13;"
      // In an attribute, a line break would be read as a space.
      case "\t" where isAttribute, "\n" where isAttribute: escaped += "&#\(scalar.value);"
      case "\t", "\n": escaped.unicodeScalars.append(scalar)
      case _ where scalar.value < 0x20 || 0xFFFE...0xFFFF ~= scalar.value: escaped += "\u{FFFD}"
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }
}
