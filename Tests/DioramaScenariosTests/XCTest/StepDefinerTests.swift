import CucumberExpressions
import Gherkin
import Testing

@testable import DioramaScenarios

@Suite("StepDefiner") struct StepDefinerTests {
  @Test(
    "shows the names of groups as words",
    arguments: [
      ("as (?<aRegisteredUser>.+)", "as Nick", "as a registered user"),
      ("(?<from>\\w+) to (.+) by (?<aTrain>\\w+)", "Bonn to Köln by ICE", "from to Köln by a train"),
      ("(?<outer>a(?<inner>b))c", "xABcx", "xoutercx"),
      (#"\((?<x>\d)\)[(?<y>](z)"#, "(1)<z", "(x)<z"),
      ("a(?<name>b)?", "a", "a"),
      ("no groups", "no groups", "no groups"),
      ("(?<flag>.)!", "🇩🇪🚂!", "🇩🇪flag!"),
    ])
  func showsNames(source: String, text: String, expected: String) {
    #expect(SearchedExpression(source).readable(text) == expected)
  }

  @Test("rejects an invalid regular expression when a step is matched")
  func rejectsInvalidExpressions() {
    #expect(throws: ExpressionError.self) { try SearchedExpression("a(").match("a") }
  }

  @Test("gives captures by name and index, without groups that took no part")
  func givesCaptures() throws {
    let matches = try StepMatches<Int>(SearchedExpression("(?<first>\\d)(x)?(\\d)").captures(of: "12"))
    #expect(matches["first"] == 1)
    #expect(matches.matches == [1, 2])
    #expect(matches[1] == 2)
  }

  @Test("gives an error for a closure that takes more values than there are groups")
  func rejectsTooFewGroups() {
    final class Steps: StepDefiner {
      override func defineSteps() { step("one (.+)") { (_: String, _: String) in } }
    }
    let catalog = StepCatalog(Steps().steps)
    #expect {
      guard case .one(let match) = try catalog.match("one two") else { return }
      _ = try match.bound(to: .init(keyword: "", text: "one two", line: 1, column: 1))
    } throws: {
      "\($0)" == "the closure takes 2 values, but the regular expression 'one (.+)' has 1 group"
    }
  }

  @Test("writes Codable values as JSON in one line, and reads them")
  func writesJSON() {
    #expect("\(Person(name: "Zoë / \"Z\""))" == #"{"name":"Zoë / \"Z\""}"#)
    #expect(Person(fromMatch: #"{"name":"Zoë"}"#) == Person(name: "Zoë"))
    #expect(Person(fromMatch: "Zoë") == nil)
  }
}
