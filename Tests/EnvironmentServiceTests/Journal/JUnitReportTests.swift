import ControlAPI
import Foundation
import Testing

#if canImport(FoundationXML)
  import FoundationXML
#endif

@Suite("A report as JUnit XML")
struct JUnitReportTests {
  private func report(_ change: (inout Report) -> Void = { _ in }) -> Report {
    var report = Report(ended: "e", name: "booking", mode: "replay", cassette: nil, because: "x")
    report.failures = []
    report.ok = true
    report.durationSeconds = 1.5
    change(&report)
    return report
  }

  private func testCase(_ junit: JUnitReport) throws -> (suite: XMLElement, testCase: XMLElement) {
    let document = try XMLDocument(xmlString: junit.document)
    let root = try #require(document.rootElement())
    #expect(root.name == "testsuites")
    let suite = try #require(root.elements(forName: "testsuite").first)
    return (suite, try #require(suite.elements(forName: "testcase").first))
  }

  @Test("has a test case with the environment's name and time, and the report")
  func passed() throws {
    let (suite, testCase) = try testCase(JUnitReport(report()))
    #expect(suite.attribute(forName: "tests")?.stringValue == "1")
    #expect(suite.attribute(forName: "failures")?.stringValue == "0")
    #expect(testCase.attribute(forName: "name")?.stringValue == "booking")
    #expect(testCase.attribute(forName: "time")?.stringValue == "1.500")
    #expect(testCase.elements(forName: "failure").isEmpty)
    #expect(testCase.elements(forName: "system-out").first?.stringValue?.hasPrefix("replay ok: 0 requests") == true)
  }

  @Test("has no failure if the run permitted the requests that nothing answered")
  func permitted() throws {
    let unmatched = report { $0.unmatched = [.init(method: "GET", url: "http://a.example/a", nearest: [])] }
    let (suite, testCase) = try testCase(JUnitReport(unmatched))
    #expect(suite.attribute(forName: "failures")?.stringValue == "0")
    #expect(testCase.elements(forName: "failure").isEmpty)
  }

  @Test("has a failure with what failed first, and the whole report")
  func failed() throws {
    for (change, kind, message) in [
      (
        { (report: inout Report) in
          report.ok = false
          report.unmatched = ["/a", "/b"].map { .init(method: "GET", url: "http://a.example\($0)", nearest: []) }
        }, "unmatched", "not recorded: GET http://a.example/a and 1 more"
      ),
      (
        {
          $0.ok = false
          $0.failures = ["too old"]
        }, "environment", "too old"
      ),
      (
        {
          $0.ok = false
          $0.strings.missing = [.init(key: "email", ordinal: 0)]
        }, "environment", "missing string: 'email'"
      ),
      ({ $0.commandStatus = 7 }, "command", "the command exited with status 7"),
    ] as [((inout Report) -> Void, String, String)] {
      let (suite, testCase) = try testCase(JUnitReport(report(change)))
      let failure = try #require(testCase.elements(forName: "failure").first)
      #expect(suite.attribute(forName: "failures")?.stringValue == "1")
      #expect(failure.attribute(forName: "type")?.stringValue == kind)
      #expect(failure.attribute(forName: "message")?.stringValue == message)
      #expect(failure.stringValue?.hasPrefix("replay ") == true)
    }
    let (_, aborted) = try testCase(JUnitReport(report(), hasFailed: true))
    #expect(aborted.elements(forName: "failure").count == 1)
  }

  @Test("is well-formed with any text, and keeps what XML can express")
  func hostileText() throws {
    let hostile = "]]><!-- \u{0}\u{8}\u{FFFE}\u{1B}[31m & \"'é🙂\u{85}"
    let junit = JUnitReport(
      report {
        $0.environment.name = "a\tb\nc " + hostile
        $0.ok = false
        $0.failures = [hostile]
      })
    let (_, testCase) = try testCase(junit)
    let name = try #require(testCase.attribute(forName: "name")?.stringValue)
    #expect(name == "a\tb\nc ]]><!-- \u{FFFD}\u{FFFD}\u{FFFD}\u{FFFD}[31m & \"'é🙂\u{85}")
    #expect(testCase.elements(forName: "failure").first?.stringValue?.contains("]]><!--") == true)
  }
}
