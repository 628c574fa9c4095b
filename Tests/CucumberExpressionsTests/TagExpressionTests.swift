import CucumberExpressions
import Testing

@testable import CassetteConversion

@Suite("A tag expression")
struct TagExpressionTests {
  @Test("has the official normal form", arguments: try OfficialExample.elements("TagExpressions/parsing.yml"))
  func isFormatted(_ example: OfficialExample) throws {
    let formatted = try #require(example.yaml["formatted"]?.text)
    #expect(try "\(TagExpression(example.expression))" == formatted)
    #expect(try "\(TagExpression(formatted))" == formatted)
  }

  @Test("fails with the official message", arguments: try OfficialExample.elements("TagExpressions/errors.yml"))
  func fails(_ example: OfficialExample) throws {
    let error = #expect(throws: ExpressionError.self) { try TagExpression(example.expression) }
    #expect(error?.message == example.yaml["error"]?.text)
  }

  @Test(
    "holds for the official sets of tags", arguments: try OfficialExample.elements("TagExpressions/evaluations.yml"))
  func evaluates(_ example: OfficialExample) throws {
    let expression = try TagExpression(example.expression)
    let tests = try #require(example.yaml["tests"]?.sequence)
    #expect(!tests.isEmpty)
    for test in tests {
      let tags = try #require(test["variables"]?.sequence).compactMap(\.text)
      #expect(expression.evaluate(tags: tags) == (test["result"]?.text == "true"), "\(tags)")
    }
  }

  @Test("fails if a backslash escapes nothing, or an operand is missing")
  func failsAtEnd() {
    for (text, problem) in [
      (#"x\"#, "Illegal escape at the end"), ("()", "Expected operand"), ("( a and", "Expected operand"),
    ] {
      let error = #expect(throws: ExpressionError.self) { try TagExpression(text) }
      #expect(
        error?.message == "Tag expression \"\(text)\" could not be parsed because of syntax error: \(problem).")
    }
  }

  @Test("can be long and nested", .timeLimit(.minutes(1)))
  func isLong() throws {
    let count = 20_000
    let long = try TagExpression(Array(repeating: "@a", count: count).joined(separator: " and "))
    #expect(long.evaluate(tags: ["@a"]))
    #expect("\(long)".hasPrefix("( ( ( "))
    let deep = try TagExpression(
      String(repeating: "not (", count: count) + "@a" + String(repeating: ")", count: count))
    #expect(deep.evaluate(tags: ["@a"]))
    #expect("\(deep)".utf8.count == count * 8 + 2)
  }
}
