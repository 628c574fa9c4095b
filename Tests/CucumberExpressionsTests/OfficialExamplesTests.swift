import CucumberExpressions
import Testing

@testable import CassetteConversion

@Suite("The official examples of Cucumber Expressions")
struct OfficialExamplesTests {
  private let registry = ParameterTypeRegistry()

  @Test("are complete")
  func isComplete() throws {
    let counts = try ["matching", "parser", "tokenizer", "transformation"].map { kind in
      try OfficialExample.files("CucumberExpressions/cucumber-expression/\(kind)").count
    }
    #expect(counts == [65, 28, 16, 8])
    #expect(try OfficialExample.files("CucumberExpressions/regular-expression/matching").count == 3)
  }

  @Test(
    "match the same texts with the same values, or fail with the same messages",
    arguments: try OfficialExample.files("CucumberExpressions/cucumber-expression/matching"))
  func matches(_ example: OfficialExample) throws {
    try expectFailure(example) {
      try expect(CucumberExpression(example.expression, registry).match(example.text), example)
    }
  }

  @Test(
    "of regular expressions match the same texts with the same values",
    arguments: try OfficialExample.files("CucumberExpressions/regular-expression/matching"))
  func matchesRegularExpression(_ example: OfficialExample) throws {
    try expect(RegularExpression(example.expression, registry).match(example.text), example)
  }

  @Test(
    "give the same syntax trees, or fail with the same messages",
    arguments: try OfficialExample.files("CucumberExpressions/cucumber-expression/parser"))
  func parses(_ example: OfficialExample) throws {
    try expectFailure(example) {
      let node = try Node.parse(example.expression)
      #expect(outline(node) == outline(try #require(example.yaml["expected_ast"])))
    }
  }

  @Test(
    "give the same tokens, or fail with the same messages",
    arguments: try OfficialExample.files("CucumberExpressions/cucumber-expression/tokenizer"))
  func tokenizes(_ example: OfficialExample) throws {
    try expectFailure(example) {
      let tokens = try Token.tokens(of: example.expression)
      let expected = try #require(example.yaml["expected_tokens"]?.sequence)
      #expect(tokens.map(outline) == expected.map(outline))
    }
  }

  @Test(
    "give the same regular expressions",
    arguments: try OfficialExample.files("CucumberExpressions/cucumber-expression/transformation"))
  func transforms(_ example: OfficialExample) throws {
    let expected = try #require(example.yaml["expected_regex"]?.text)
    #expect(try CucumberExpression(example.expression, registry).regularExpression == expected)
  }

  /// Expects the example's exception; an example without one must not fail.
  private func expectFailure(_ example: OfficialExample, _ body: () throws -> Void) throws {
    guard let message = example.exception else { return try body() }
    let error = #expect(throws: ExpressionError.self, performing: body)
    #expect(error?.message == message)
  }

  private func expect(_ arguments: [Argument]?, _ example: OfficialExample) throws {
    guard let expected = example.yaml["expected_args"]?.sequence else {
      #expect(arguments == nil)
      return
    }
    let values = try #require(arguments).map { try $0.value }
    #expect(values.map { $0.map { "\($0)" } } == expected.map(\.text))
    for (value, node) in zip(values, expected) where node.isPlain && Double(node.text ?? "") != nil {
      #expect(!(value is String), "expected a number")
    }
  }

  private func outline(_ token: Token) -> String {
    "\(token.kind.rawValue) \(token.range.lowerBound) \(token.range.upperBound) '\(token.text)' []"
  }

  private func outline(_ node: Node) -> String {
    "\(node.kind.rawValue) \(node.range.lowerBound) \(node.range.upperBound) '\(node.token)' "
      + "[\(node.children.map(outline).joined(separator: ", "))]"
  }

  private func outline(_ yaml: YAMLNode) -> String {
    let children = yaml["nodes"]?.sequence ?? []
    return "\(yaml["type"]?.text ?? "") \(yaml["start"]?.text ?? "") \(yaml["end"]?.text ?? "") "
      + "'\((yaml["token"] ?? yaml["text"])?.text ?? "")' [\(children.map(outline).joined(separator: ", "))]"
  }
}
