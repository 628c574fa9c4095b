import Basics
import Gherkin
import Testing

/// Cucumber's own test data. Messages are compared with all ids and locations.
@Suite("Cucumber's test data")
struct CucumberTestDataTests {
  @Test("is complete")
  func complete() {
    #expect(GherkinFixture.good.count(where: { $0.name.hasSuffix(".feature") }) == 50)
    #expect(GherkinFixture.good.count(where: { $0.name.hasSuffix(".md") }) == 5)
    #expect(GherkinFixture.bad.count == 12)
  }

  @Test("has the expected syntax tree and pickles", arguments: GherkinFixture.good)
  func documents(_ fixture: GherkinFixture) throws {
    var ids = IDGenerator()
    let document = try GherkinParser().parse(fixture.text(), uri: fixture.uri, ids: &ids)
    #expect(try [Envelope.gherkinDocument(document).json()] == fixture.expected("ast.ndjson"))
    let pickles = PickleCompiler.pickles(of: document, ids: &ids)
    #expect(try pickles.map { try Envelope.pickle($0).json() } == fixture.expected("pickles.ndjson"))
  }

  @Test("has the expected tokens", arguments: GherkinFixture.good)
  func tokens(_ fixture: GherkinFixture) throws {
    let tokens = try GherkinParser().tokens(of: fixture.text(), uri: fixture.uri)
    let lines = tokens.map(Self.line).joined(separator: "\n") + "\n"
    #expect(try lines == GherkinFixture.text("\(fixture.name).tokens"))
  }

  @Test("is wrapped in the expected messages", arguments: GherkinFixture.good)
  func sources(_ fixture: GherkinFixture) throws {
    let source = try Source(uri: fixture.uri, data: fixture.text())
    #expect(try [Envelope.source(source).json()] == fixture.expected("source.ndjson"))
  }

  @Test("has the expected errors", arguments: GherkinFixture.bad)
  func errors(_ fixture: GherkinFixture) throws {
    let text = try fixture.text()
    let errors = try #require(throws: GherkinErrors.self) { try GherkinParser().parse(text, uri: fixture.uri) }
    #expect(
      try errors.messages.map { try Envelope.parseError($0).json() } == fixture.expected("errors.ndjson"))
  }

  /// A token in the form of the `.tokens` files.
  private static func line(_ token: Token) -> String {
    if token.kind == .eof { return "EOF" }
    let keyword = token.keyword.map { "(\(token.keywordType?.rawValue ?? ""))\($0)" } ?? ""
    let items = token.items.map { "\($0.column):\($0.text)" }.joined(separator: ",")
    return
      "(\(token.location.line):\(token.location.column ?? 0))\(token.kind.rawValue):\(keyword)/\(token.text)/\(items)"
  }
}
