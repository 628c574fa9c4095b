/// Parses feature files, and Markdown with Gherkin, as Cucumber does.
///
/// ```swift
/// let document = try GherkinParser().parse(text, uri: "Features/shop.feature")
/// ```
package struct GherkinParser: Sendable {
  /// The language of files that declare no other.
  package let language: String

  /// - Parameter language: the language of files that declare no other, such as `en`. (In Markdown it cannot be declared.)
  package init(language: String = "en") {
    self.language = language
  }

  /// Parses a file.
  ///
  /// - Parameters:
  ///   - text: the file's text.
  ///   - uri: the path or URL of the file; one that ends in `.md` is Markdown.
  ///   - ids: the generator of the nodes' ids; they are numbered as nodes end.
  /// - Returns: the syntax tree.
  /// - Throws: all errors.
  package func parse(
    _ text: String, uri: String, ids: inout IDGenerator
  ) throws(GherkinErrors) -> GherkinDocument {
    var parse = try Parse(text, uri: uri, language: language, ids: ids)
    let document = try parse.run(uri: uri)
    ids = parse.ids
    return document
  }

  /// Parses a file, with ids from 0.
  package func parse(_ text: String, uri: String) throws(GherkinErrors) -> GherkinDocument {
    var ids = IDGenerator()
    return try parse(text, uri: uri, ids: &ids)
  }

  /// The lines of a file and what they are; the last token is the end of the file.
  package func tokens(of text: String, uri: String) throws(GherkinErrors) -> [Token] {
    var parse = try Parse(text, uri: uri, language: language, ids: IDGenerator())
    parse.tokens = []
    _ = try parse.run(uri: uri)
    return parse.tokens ?? []
  }
}

/// One run of the parser.
///
/// A function reads each rule of the grammar. They ask for the next line of the kinds that may come now; where another
/// comes, it is reported and skipped, so that one run finds all errors.
private struct Parse {
  /// Ends the run; the errors are known.
  struct Stop: Error {}
  typealias Kind = Token.Kind

  private var matcher: TokenMatcher
  private var position = 0
  /// A token that was read too early.
  private var unread: Token?
  private var comments: [Comment] = []
  private var errors: [GherkinError] = []
  var ids: IDGenerator
  /// All tokens, if they are wanted.
  var tokens: [Token]?

  init(_ text: String, uri: String, language: String, ids: IDGenerator) throws(GherkinErrors) {
    guard let dialect = GherkinDialect(language) else {
      let location = Location(line: 1, column: 1)
      throw GherkinErrors(
        uri: uri, errors: [GherkinError(location: location, message: "Language not supported: \(language)")])
    }
    matcher = TokenMatcher(
      lines: SourceLine.lines(of: text), isMarkdown: SourceMediaType(uri: uri) == .markdown, dialect: dialect)
    self.ids = ids
  }

  mutating func run(uri: String) throws(GherkinErrors) -> GherkinDocument {
    let feature = try? feature()
    guard errors.isEmpty else { throw GherkinErrors(uri: uri, errors: errors) }
    return GherkinDocument(uri: uri, feature: feature ?? nil, comments: comments)
  }

  // MARK: lines

  /// The next line of one of these kinds. Comments are kept; empty lines are skipped.
  private mutating func next(_ expected: [Kind]) throws(Stop) -> Token {
    if let token = unread {
      unread = nil
      return token
    }
    while position < matcher.lines.count {
      position += 1
      for kind in expected {
        if let token = try match(kind) { return recorded(token) }
      }
      if try comment() { continue }
      if let token = try match(.empty) {
        tokens?.append(token)
        continue
      }
      let line = matcher.lines[position - 1]
      try report("expected: \(Self.list(expected)), got '\(line.body.string)'", line.location)
    }
    return try end(expected)
  }

  private mutating func end(_ expected: [Kind]) throws(Stop) -> Token {
    let line = SourceLine([], number: matcher.lines.count + 1)
    guard expected.first == .eof else {
      try report(
        "unexpected end of file, expected: \(Self.list(expected))", Location(line: line.number, column: nil))
      throw Stop()
    }
    return recorded(Token(.eof, line))
  }

  /// What the last line is, if it is of this kind. A line that is wrong in itself is reported.
  private mutating func match(_ kind: Kind) throws(Stop) -> Token? {
    do throws(GherkinError) { return try matcher.match(kind, at: position - 1) } catch {
      try report(error.message, error.location)
      return nil
    }
  }

  private mutating func comment() throws(Stop) -> Bool {
    guard let token = try match(.comment) else { return false }
    comments.append(Comment(location: token.location, text: token.text))
    tokens?.append(token)
    return true
  }

  private mutating func recorded(_ token: Token) -> Token {
    tokens?.append(token)
    return token
  }

  private mutating func report(_ message: String, _ location: Location) throws(Stop) {
    let error = GherkinError(location: location, message: message)
    guard !errors.contains(error) else { return }
    errors.append(error)
    if errors.count > 10 { throw Stop() }
  }

  private static func list(_ kinds: [Kind]) -> String {
    (kinds + (kinds.contains(.other) ? [] : [.comment, .empty])).map { "#" + $0.rawValue }.joined(separator: ", ")
  }

  /// Whether a line of this kind follows, after tags, comments and empty lines.
  private mutating func isAhead(_ kind: Kind) -> Bool {
    var index = position
    while index < matcher.lines.count {
      if (try? matcher.match(kind, at: index)) != nil { return true }
      guard matcher.isEmpty(at: index) || matcher.isComment(at: index) || matcher.hasTags(at: index) else {
        return false
      }
      index += 1
    }
    return false
  }

  // MARK: grammar

  private static let scenariosFollow: [Kind] = [.tagLine, .scenarioLine, .ruleLine]
  private static let examplesFollow: [Kind] = [.tagLine, .examplesLine, .scenarioLine, .ruleLine]

  private mutating func feature() throws(Stop) -> Feature? {
    var first = try next([.eof, .language, .tagLine, .featureLine])
    if first.kind == .eof { return nil }
    if first.kind == .language { first = try next([.tagLine, .featureLine]) }
    let (tagLines, title) = try tagged(first, .featureLine)
    let language = matcher.dialect.language
    let description = try description(until: [.backgroundLine] + Self.scenariosFollow)
    var children: [FeatureChild] = []
    if let background = try background() { children.append(.background(background)) }
    while let scenario = try scenario() { children.append(.scenario(scenario)) }
    while let rule = try rule() { children.append(.rule(rule)) }
    return Feature(
      location: title.location, tags: tags(tagLines), language: language, keyword: title.keyword, name: title.text,
      description: description, children: children)
  }

  private mutating func rule() throws(Stop) -> Rule? {
    let first = try next([.eof, .tagLine, .ruleLine])
    if first.kind == .eof { return nil }
    let (tagLines, title) = try tagged(first, .ruleLine)
    let description = try description(until: [.backgroundLine] + Self.scenariosFollow)
    var children: [RuleChild] = []
    if let background = try background() { children.append(.background(background)) }
    while let scenario = try scenario() { children.append(.scenario(scenario)) }
    return Rule(
      location: title.location, tags: tags(tagLines), keyword: title.keyword ?? "", name: title.text,
      description: description, children: children, id: ids.next())
  }

  private mutating func background() throws(Stop) -> Background? {
    let title = try next([.eof, .backgroundLine] + Self.scenariosFollow)
    guard title.kind == .backgroundLine else {
      unread = title
      return nil
    }
    let description = try description(until: [.stepLine] + Self.scenariosFollow)
    let steps = try steps(until: Self.scenariosFollow)
    return Background(
      location: title.location, keyword: title.keyword ?? "", name: title.text, description: description,
      steps: steps, id: ids.next())
  }

  private mutating func scenario() throws(Stop) -> Scenario? {
    let first = try next([.eof] + Self.scenariosFollow)
    // A line of tags may also belong to a rule.
    guard first.kind == .scenarioLine || first.kind == .tagLine && isAhead(.scenarioLine) else {
      unread = first
      return nil
    }
    let (tagLines, title) = try tagged(first, .scenarioLine)
    let description = try description(until: [.stepLine] + Self.examplesFollow)
    let steps = try steps(until: Self.examplesFollow)
    var all: [Examples] = []
    while let examples = try examples() { all.append(examples) }
    return Scenario(
      location: title.location, tags: tags(tagLines), keyword: title.keyword ?? "", name: title.text,
      description: description, steps: steps, examples: all, id: ids.next())
  }

  private mutating func examples() throws(Stop) -> Examples? {
    let first = try next([.eof] + Self.examplesFollow)
    guard first.kind == .examplesLine || first.kind == .tagLine && isAhead(.examplesLine) else {
      unread = first
      return nil
    }
    let (tagLines, title) = try tagged(first, .examplesLine)
    let description = try description(until: [.tableRow] + Self.examplesFollow)
    var rows: [TableRow] = []
    let token = try next([.eof, .tableRow] + Self.examplesFollow)
    if token.kind == .tableRow {
      (rows, unread) = try table(token, or: [.eof, .tableRow] + Self.examplesFollow)
    } else {
      unread = token
    }
    return Examples(
      location: title.location, tags: tags(tagLines), keyword: title.keyword ?? "", name: title.text,
      description: description, tableHeader: rows.first, tableBody: Array(rows.dropFirst()), id: ids.next())
  }

  private mutating func steps(until follow: [Kind]) throws(Stop) -> [Step] {
    var steps: [Step] = []
    var token = try next([.eof, .stepLine] + follow)
    while token.kind == .stepLine {
      let line = token
      var table: DataTable?
      var docString: DocString?
      // One of each, in any order.
      func expected() -> [Kind] {
        [.eof] + (table == nil ? [.tableRow] : []) + (docString == nil ? [.docStringSeparator] : []) + [.stepLine]
          + follow
      }
      token = try next(expected())
      while token.kind == .tableRow || token.kind == .docStringSeparator {
        if token.kind == .tableRow {
          let location = token.location
          let (rows, follower) = try self.table(token, or: expected())
          table = DataTable(location: location, rows: rows)
          token = follower
        } else {
          docString = try self.docString(token)
          token = try next(expected())
        }
      }
      steps.append(
        Step(
          location: line.location, keyword: line.keyword ?? "", keywordType: line.keywordType ?? .unknown,
          text: line.text, docString: docString, dataTable: table, id: ids.next()))
    }
    unread = token
    return steps
  }

  // MARK: parts

  /// Reads lines of tags and the line that they belong to.
  private mutating func tagged(_ first: Token, _ kind: Kind) throws(Stop) -> (tagLines: [Token], title: Token) {
    var token = first
    var tagLines: [Token] = []
    while token.kind == .tagLine {
      tagLines.append(token)
      token = try next([.tagLine, kind])
    }
    return (tagLines, token)
  }

  private mutating func tags(_ lines: [Token]) -> [Tag] {
    var tags: [Tag] = []
    for line in lines {
      for item in line.items {
        let location = Location(line: line.location.line, column: item.column)
        tags.append(Tag(location: location, name: item.text, id: ids.next()))
      }
    }
    return tags
  }

  /// Reads all lines up to one of these kinds, which is left. In Markdown they are prose, not a description.
  private mutating func description(until kinds: [Kind]) throws(Stop) -> String {
    var text: [String] = []
    // Without empty lines at the end.
    var count = 0
    var hasStarted = false
    var codeBlock: String?
    while position < matcher.lines.count {
      let line = matcher.lines[position]
      position += 1
      if let fence = codeBlock {
        if matcher.closes(line, fence) { codeBlock = nil }
        tokens?.append(Token(.empty, line, column: 1))
        continue
      }
      if line.isEmpty && !hasStarted {
        tokens?.append(Token(.empty, line, column: 1))
        continue
      }
      if try comment() {
        hasStarted = true
        continue
      }
      for kind in kinds {
        if let token = try match(kind) {
          unread = recorded(token)
          return text[..<count].joined(separator: "\n")
        }
      }
      if matcher.isMarkdown {
        codeBlock = try match(.docStringSeparator)?.keyword
        tokens?.append(Token(.empty, line, column: 1))
        continue
      }
      hasStarted = true
      let token = recorded(matcher.other(line, removing: 0))
      text.append(token.text)
      if !line.isEmpty { count = text.count }
    }
    return text[..<count].joined(separator: "\n")
  }

  /// Reads the rows of a table, and the token after it.
  private mutating func table(
    _ first: Token, or expected: [Kind]
  ) throws(Stop) -> (rows: [TableRow], follower: Token) {
    var lines = [first]
    var token = try next(expected)
    while token.kind == .tableRow {
      lines.append(token)
      token = try next(expected)
    }
    if let odd = lines.first(where: { $0.items.count != first.items.count }) {
      try report("inconsistent cell count within the table", odd.location)
    }
    var rows: [TableRow] = []
    for line in lines {
      let cells = line.items.map {
        TableCell(location: Location(line: line.location.line, column: $0.column), value: $0.text)
      }
      rows.append(TableRow(location: line.location, cells: cells, id: ids.next()))
    }
    return (rows, token)
  }

  private mutating func docString(_ open: Token) throws(Stop) -> DocString {
    let delimiter = open.keyword ?? ""
    var content: [String] = []
    while position < matcher.lines.count {
      let line = matcher.lines[position]
      position += 1
      if matcher.closes(line, delimiter) {
        var close = Token(.docStringSeparator, line)
        close.keyword = delimiter
        tokens?.append(close)
        return DocString(
          location: open.location, mediaType: open.text.isEmpty ? nil : open.text,
          content: content.joined(separator: "\n"), delimiter: delimiter)
      }
      let escaped = matcher.isMarkdown ? "" : delimiter
      content.append(recorded(matcher.other(line, removing: open.line.indent, unescaping: escaped)).text)
    }
    _ = try end([.docStringSeparator, .other])
    throw Stop()
  }
}
