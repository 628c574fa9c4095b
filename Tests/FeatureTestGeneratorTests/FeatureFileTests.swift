import Basics
import FeatureTestSources
import Testing

@Suite("Feature files in a build")
struct FeatureFileTests {
  private func problems(_ text: String) -> [String] {
    do {
      _ = try FeatureFile.read(text, "/tests/a.feature")
      return []
    } catch { return (error as? FeatureFile.Problems)?.lines ?? ["\(error)"] }
  }

  @Test("report all errors of the syntax at their places")
  func syntax() {
    let text = "Feature: A\n  Scenario: b\n    Given c\n  oops\n      | a |\n      | a | b |\n"
    let lines = problems(text)
    #expect(lines.count == 2, "\(lines)")
    #expect(lines.first?.hasPrefix("/tests/a.feature:4:3: error: ") == true, "\(lines)")
    #expect(lines.last?.hasPrefix("/tests/a.feature:6:7: error: ") == true, "\(lines)")
    #expect(problems("# language: xx\n").first?.hasPrefix("/tests/a.feature:1:1: error: ") == true)
  }

  @Test(
    "say what was probably meant",
    arguments: [
      ("Scenari: b", "; did you mean 'Scenario:'?"),
      ("Scenario b: c", "; write a colon after 'Scenario'"),
      ("Scenario Outline b", "; write a colon after 'Scenario Outline'"),
      ("Whn c", "; did you mean 'When'?"),
      ("Whn the patients:", "; did you mean 'When'?"),
      ("Something else: entirely", ", got 'Something else: entirely'"),
      ("Feature: B", ", got 'Feature: B'"),
    ])
  func advice(_ line: String, _ end: String) {
    // After a step there is no description.
    let lines = problems("Feature: A\r\n  Scenario: b\r\n    Given c\r\n    \(line)\r\n# language: de\r\n")
    #expect(lines.count == 1 && lines.first?.hasSuffix(end) == true, "\(lines)")
  }

  @Test("say what was probably meant, in their language")
  func adviceInGerman() {
    let lines = problems("# language: de\nFunktionalität: A\n  Szenario: b\n    Wenn c\n  Szenaro: d\n")
    #expect(lines.first?.hasSuffix("; did you mean 'Szenario:'?") == true, "\(lines)")
  }

  @Test("report each wrong tag once, where it is")
  func tags() {
    let text = """
      @smoke @mode:rply
      Feature: A
        @frozen:today
        Rule: R
          @seed:
          Scenario: b
          Scenario Outline: <c>
            @ok @manual:1
            Examples:
              | c |
              | 1 |
              | 2 |
      """
    #expect(
      problems(text).map { $0.prefix { $0 != "@" } } == [
        "/tests/a.feature:1:8: error: ", "/tests/a.feature:3:3: error: ", "/tests/a.feature:5:5: error: ",
        "/tests/a.feature:8:11: error: ",
      ])
    #expect(problems(text).first?.contains("'rply'") == true)
  }

  @Test("may have other tags")
  func otherTags() {
    #expect(problems("@smoke @JIRA-1:2 @retry:2\nFeature: A\n@manual @frozen:2018-10-08\nScenario: b").isEmpty)
  }

  @Test("are tests of the library that the settings name")
  func settings() throws {
    #expect(try TestLibrary(settings: #"{"tests": "xctest"}"#) == .xctest)
    #expect(try TestLibrary(settings: #"{"tests": "swift-testing"}"#) == .swiftTesting)
  }

  @Test(
    "have settings without mistakes",
    arguments: [
      ("", "not JSON"), ("[]", "expected an object such as {\"tests\": \"xctest\"}"),
      ("{}", "'tests' is missing; set it to 'swift-testing' or 'xctest'"),
      (#"{"tests": "XCTest"}"#, "'tests' must be 'swift-testing' or 'xctest'"),
      (#"{"tests": 1}"#, "'tests' must be 'swift-testing' or 'xctest'"),
      (#"{"test": "xctest"}"#, "'test' is not a setting; the only one is 'tests'"),
    ])
  func wrongSettings(text: String, message: String) {
    let error = #expect(throws: CodedError.self) { try TestLibrary(settings: text) }
    #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
  }
}
