import Foundation
import ScenarioReports
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

/// An element of a parsed XML document.
final class XMLNode {
  let name: String
  let attributes: [String: String]
  var children: [XMLNode] = []
  var text = ""

  init(_ name: String, _ attributes: [String: String]) {
    self.name = name
    self.attributes = attributes
  }

  func all(_ name: String) -> [XMLNode] {
    children.flatMap { ($0.name == name ? [$0] : []) + $0.all(name) }
  }

  /// - Returns: the root; nil if the document is not well formed.
  static func parse(_ xml: String) -> XMLNode? {
    let reader = Reader()
    let parser = XMLParser(data: Data(xml.utf8))
    parser.delegate = reader
    return parser.parse() ? reader.root.children.first : nil
  }

  private final class Reader: NSObject, XMLParserDelegate {
    let root = XMLNode("", [:])
    lazy var open = [root]

    func parser(
      _: XMLParser, didStartElement name: String, namespaceURI _: String?, qualifiedName _: String?,
      attributes: [String: String]
    ) {
      let node = XMLNode(name, attributes)
      open[open.count - 1].children.append(node)
      open.append(node)
    }

    func parser(_: XMLParser, didEndElement _: String, namespaceURI _: String?, qualifiedName _: String?) {
      open.removeLast()
    }

    func parser(_: XMLParser, foundCharacters text: String) { open[open.count - 1].text += text }
  }
}

@Suite("JUnit report")
struct JUnitReportTests {
  private let two =
    "Feature: Booking\n  @slow\n  Scenario: one\n    Given a\n    Then b\n  Scenario: two\n    Given c\n"

  private func report(_ messages: [Message]) throws -> XMLNode {
    try #require(XMLNode.parse(JUnitReport.xml(messages)))
  }

  @Test("has a suite for each feature and a case for each scenario, with steps, tags and times")
  func passed() throws {
    let root = try report(try SampleRun(two).messages)
    #expect(root.name == "testsuites" && root.attributes["tests"] == "2" && root.attributes["failures"] == "0")
    let suite = try #require(root.children.first)
    #expect(suite.attributes["name"] == "Booking" && suite.attributes["file"] == "Tests/clinic.feature")
    #expect(suite.attributes["timestamp"]?.hasPrefix("2026-09-21T") == true)
    let cases = suite.all("testcase")
    #expect(cases.map { $0.attributes["name"] } == ["one", "two"])
    #expect(cases.allSatisfy { Double($0.attributes["time"] ?? "") ?? 0 > 0 })
    #expect(cases[0].all("property").map { $0.attributes["value"] } == ["@slow"])
    #expect(cases[0].all("system-out").first?.text.contains("passed     Given a (1.500 s)\npassed     Then b") == true)
  }

  @Test(
    "fails a case with what to do",
    arguments: [
      (
        SampleRun.Result(status: .failed, message: "expected 1\ngot 2"), "failed", "expected 1",
        "expected 1\ngot 2\nat Tests/clinic.feature:4\n   Tests/Steps.swift:8"
      ),
      (
        .init(status: .undefined, snippet: "Given(\"a\") { }"), "undefined", "Undefined step: Given a",
        "Add this step definition:\nGiven(\"a\") { }\nat Tests/clinic.feature:4"
      ),
      (
        .init(status: .ambiguous, definitions: ["a", "{word}"]), "ambiguous", "Ambiguous step: Given a",
        "a  (Tests/Steps.swift:8)\n  {word}  (Tests/Steps.swift:9)"
      ),
      (
        .init(status: .pending, message: "see #12"), "pending", "Pending step: Given a; see #12",
        "Pending step: Given a\nsee #12"
      ),
    ])
  func failures(result: SampleRun.Result, type: String, message: String, text: String) throws {
    let root = try report(try SampleRun(two, attempts: [[[result, .init(status: .skipped)]]]).messages)
    #expect(root.attributes["failures"] == "1")
    let failures = root.all("failure")
    #expect(failures.count == 1)
    #expect(failures.first?.attributes["type"] == type)
    #expect(failures.first?.attributes["message"] == message)
    #expect(failures.first?.text.contains(text) == true, "\(failures.first?.text ?? "")")
  }

  @Test("names the nearest interaction and the rule of a miss before the step's error")
  func miss() throws {
    let sample = try SampleRun(
      two, attempts: [[[.init(status: .failed, message: "status 404")]]],
      attachments: [("application/vnd.diorama.report+json", missReport)])
    let failure = try #require(try report(sample.messages).all("failure").first)
    #expect(failure.attributes["type"] == "miss")
    #expect(failure.attributes["message"] == "Not recorded: GET http://a/b; ignore it")
    #expect(
      failure.text.hasPrefix(
        """
        Not recorded: GET http://a/b
          nearest: interaction 4, GET http://a/c
            path: recorded c, got b
            compared by a rule
          to fix it: ignore it
            {"matching": {"rules": [{"path": "/b"}]}}
        status 404
        """), "\(failure.text)")
  }

  @Test("counts the last attempt, and keeps the others")
  func retries() throws {
    let failed = [SampleRun.Result(status: .failed, message: "late")]
    let root = try report(try SampleRun(two, attempts: [[failed, []], [failed, failed]]).messages)
    let cases = root.all("testcase")
    #expect(root.attributes["failures"] == "1")
    #expect(cases[0].all("failure").isEmpty && cases[0].all("flakyFailure").first?.attributes["message"] == "late")
    #expect(cases[0].all("property").contains { $0.attributes["name"] == "flaky" })
    #expect(cases[1].all("failure").count == 1 && cases[1].all("rerunFailure").count == 1)
  }

  @Test("tells rows of examples apart by their line")
  func rows() throws {
    let feature = "Feature: f\n Rule: r\n  Scenario: s\n   Given <a>\n   Examples:\n    | a |\n    | 1 |\n    | 2 |\n"
    let names = try report(try SampleRun(feature).messages).all("testcase").map { $0.attributes["name"] }
    #expect(names == ["r: s (line 7)", "r: s (line 8)"])
  }

  @Test("skips with the reason, and fails what did not finish")
  func skippedAndUnfinished() throws {
    let skipped = [[SampleRun.Result(status: .skipped, message: "no network"), .init(status: .skipped)]]
    let root = try report(try SampleRun(two, attempts: [skipped], finishes: false).messages)
    #expect(root.all("skipped").first?.attributes["message"] == "no network")
    #expect(
      root.all("failure").first?.attributes["message"]?.contains("process ended during the scenario, in: Given c")
        == true)
    #expect(root.all("error").first?.text.contains("the process ended during the run") == true)
  }

  @Test("is well formed for any text")
  func anyText() throws {
    let text = "]]> <b> & \"q\" ' \u{0}\u{1}\u{1B}[31mred\u{1B}[0m\u{FFFE}\r\n\tz 😀"
    let feature = "Feature: a\u{1} ]]> <f>\n  Scenario: s\u{2}&\"\n    Given x\u{B}\n"
    let root = try report(
      try SampleRun(
        feature,
        attempts: [[[.init(status: .failed, message: text, attachments: [("text/x.cucumber.log+plain", text)])]]]
      ).messages)
    let failure = try #require(root.all("failure").first)
    #expect(
      failure.text.contains("]]> <b> & \"q\" ' \u{FFFD}\u{FFFD}red\u{FFFD}\n\tz 😀"),
      "\(failure.text.debugDescription)")
    #expect(root.all("testsuite").first?.attributes["name"] == "a\u{FFFD} ]]> <f>")
  }

  @Test("is well formed and counts for the compatibility kit's messages", arguments: KitSample.all)
  func kit(sample: KitSample) throws {
    let root = try report(try sample.messages())
    let cases = root.all("testcase")
    #expect(root.attributes["tests"] == "\(cases.count)")
    #expect(root.attributes["failures"] == "\(root.all("failure").count)")
    #expect(root.attributes["errors"] == "\(root.all("error").count)")
    // The kit says whether the run succeeded; a run whose only fault is in its end has no failed case.
    let isSuccess = try sample.text().contains(#""success":true"#)
    #expect(isSuccess == (root.all("failure").isEmpty && root.all("error").isEmpty))
  }

  @Test("puts several runs into one report")
  func merging() throws {
    let first = try SampleRun(two, uri: "a.feature", attempts: [[[.init(status: .failed, message: "m")]]])
    // With the same ids, as another process could write.
    let second = try SampleRun("Feature: Other\n  Scenario: three\n    Given d\n", uri: "b.feature")
    let root = try report(first.messages + second.messages)
    #expect(root.all("testsuite").map { $0.attributes["name"] } == ["Booking", "Other"])
    #expect(root.all("testcase").map { $0.attributes["name"] } == ["one", "two", "three"])
    #expect(root.attributes["failures"] == "1")
  }
}

/// An environment's report with a miss.
let missReport = """
  {"mode": "replay", "ok": false, "unmatched": [{"method": "GET", "url": "http://a/b", "nearest": [{"index": 4,
  "method": "GET", "url": "http://a/c", "differences": ["path: recorded c, got b"], "rules": ["a rule"]}],
  "fix": {"advice": "ignore it", "causes": [], "isRecordable": false, "rule": {"path": "/b"}}}]}
  """
