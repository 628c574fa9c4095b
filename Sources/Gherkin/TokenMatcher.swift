/// Recognizes lines, of Gherkin and of Markdown with Gherkin.
///
/// In Markdown a title is a heading, a step an item of a list, a tag a code span, a doc string a fenced code block, and a
/// table is indented by two to five spaces. All other lines are prose.
struct TokenMatcher {
  let lines: [SourceLine]
  let isMarkdown: Bool
  var dialect: GherkinDialect

  /// What the line at an index is, if it is of this kind.
  ///
  /// A `.language` line changes the language.
  mutating func match(_ kind: Token.Kind, at index: Int) throws(GherkinError) -> Token? {
    let line = lines[index]
    switch kind {
    case .eof: return nil
    case .empty: return isEmpty(at: index) ? Token(.empty, line, column: 1) : nil
    case .other: return other(line, removing: 0)
    case .comment:
      guard isComment(at: index) else { return nil }
      var token = Token(.comment, line, column: 1)
      token.text = line.all.string
      return token
    case .language: return try language(line)
    case .tagLine: return try isMarkdown ? markdownTags(line) : tags(line)
    case .featureLine: return title(.featureLine, dialect.feature, line) ?? name(at: index)
    case .ruleLine: return title(.ruleLine, dialect.rule, line)
    case .backgroundLine: return title(.backgroundLine, dialect.background, line)
    case .scenarioLine: return title(.scenarioLine, dialect.scenario, line)
    case .examplesLine: return title(.examplesLine, dialect.examples, line)
    case .stepLine: return step(line)
    case .docStringSeparator: return docStringSeparator(line)
    case .tableRow:
      guard isTableRow(at: index) else { return nil }
      var token = Token(.tableRow, line)
      if isMarkdown { token.keyword = "|" }
      token.items = Self.cells(line).items
      return token
    }
  }

  func isComment(at index: Int) -> Bool {
    !isMarkdown && lines[index].body.first == UInt8(ascii: "#")
  }

  /// Whether a line says nothing: in Markdown, whether it is prose.
  func isEmpty(at index: Int) -> Bool {
    let line = lines[index]
    if line.isEmpty { return true }
    guard isMarkdown else { return false }
    if heading(line) != nil {
      let titles = [dialect.feature, dialect.rule, dialect.background, dialect.scenario, dialect.examples]
      return !titles.contains { title(.other, $0, line) != nil }
    }
    return step(line) == nil && docStringSeparator(line) == nil && !hasTags(at: index) && !isTableRow(at: index)
  }

  func hasTags(at index: Int) -> Bool {
    isMarkdown ? markdownTagSpans(lines[index]) != nil : lines[index].body.first == UInt8(ascii: "@")
  }

  /// A line of a description or a doc string.
  func other(_ line: SourceLine, removing indent: Int, unescaping delimiter: String = "") -> Token {
    var token = Token(.other, line, column: 1)
    token.text = line.text(removing: indent).string
    if !delimiter.isEmpty {
      token.text = token.text.replacing(bytes: delimiter.utf8.flatMap { [UInt8(ascii: "\\"), $0] }, with: delimiter)
    }
    return token
  }

  /// Whether a line ends the doc string that starts with this delimiter.
  func closes(_ line: SourceLine, _ delimiter: String) -> Bool {
    isMarkdown ? line.body.elementsEqual(delimiter.utf8) : line.body.starts(with: delimiter.utf8)
  }

  private mutating func language(_ line: SourceLine) throws(GherkinError) -> Token? {
    guard !isMarkdown, line.body.first == UInt8(ascii: "#") else { return nil }
    let setting = line.rest(after: 1)
    let word = Array("language".utf8)
    guard setting.starts(with: word) else { return nil }
    let value = setting.dropFirst(word.count).withoutLeadingSpace
    guard value.first == UInt8(ascii: ":") else { return nil }
    let code = value.dropFirst().withoutLeadingSpace
    guard !code.isEmpty, code.allSatisfy({ Self.codeCharacters.contains($0) }) else { return nil }
    guard let dialect = GherkinDialect(code.string) else {
      throw GherkinError(location: line.location, message: "Language not supported: \(code.string)")
    }
    self.dialect = dialect
    var token = Token(.language, line)
    token.text = dialect.language
    return token
  }

  private static let codeCharacters = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-_".utf8)

  // MARK: titles and steps

  /// The length of `## ` at the start of the body; nil if it is not a heading.
  private func heading(_ line: SourceLine) -> Int? {
    let count = line.body.prefix { $0 == UInt8(ascii: "#") }.count
    let space = line.body.dropFirst(count).leadingSpaceLength
    return (1...6).contains(count) && space > 0 ? count + space : nil
  }

  private func title(_ kind: Token.Kind, _ keywords: [GherkinDialect.Keyword], _ line: SourceLine) -> Token? {
    var prefix = 0
    if isMarkdown {
      guard let heading = heading(line) else { return nil }
      prefix = heading
    }
    let body = line.body.dropFirst(prefix)
    for keyword in keywords {
      let end = body.startIndex + keyword.bytes.count
      guard end < body.endIndex, body[end] == UInt8(ascii: ":"), body.starts(with: keyword.bytes) else { continue }
      var token = Token(kind, line, column: line.indent + line.body.prefix(prefix).scalarCount + 1)
      token.keyword = keyword.text
      token.text = body[(end + 1)...].withoutLeadingSpace.string
      return token
    }
    return nil
  }

  /// In Markdown, the first line of prose names the feature if no title precedes it.
  private func name(at index: Int) -> Token? {
    let line = lines[index]
    guard isMarkdown, !line.isEmpty, isEmpty(at: index) else { return nil }
    var token = Token(.featureLine, line)
    token.text = line.body.string
    return token
  }

  private func step(_ line: SourceLine) -> Token? {
    var start = line.body.startIndex
    if isMarkdown {
      guard let bullet = line.body.first, "*+-".utf8.contains(bullet) else { return nil }
      start = line.all[(start + 1)...].withoutLeadingSpace.startIndex
    }
    // Not the body: a keyword may end with the space at the end of the line.
    let text = line.all[start...]
    for (keyword, type) in dialect.steps where text.starts(with: keyword.bytes) {
      if isMarkdown && keyword.text == "* " { continue }
      var token = Token(.stepLine, line, column: line.all[..<start].scalarCount + 1)
      token.keyword = keyword.text
      token.keywordType = type
      token.text = text.dropFirst(keyword.bytes.count).withoutLeadingSpace.withoutTrailingSpace.string
      return token
    }
    return nil
  }

  // MARK: tags

  private func tags(_ line: SourceLine) throws(GherkinError) -> Token? {
    guard line.body.first == UInt8(ascii: "@") else { return nil }
    var token = Token(.tagLine, line)
    var column = line.indent + 1
    let text = line.body[..<Self.comment(of: line)].withoutTrailingSpace
    for item in text.dropFirst().split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false) {
      let name = item.withoutTrailingSpace
      if !name.isEmpty { token.items.append(try Self.tag(name, line, column)) }
      column += item.scalarCount + 1
    }
    return token
  }

  /// Where a comment after tags starts: `#` after white space.
  static func comment(of line: SourceLine) -> Int {
    line.body.indices.first {
      $0 > line.body.startIndex && line.body[$0] == UInt8(ascii: "#") && line.all[..<$0].trailingSpaceLength > 0
    }
      ?? line.body.endIndex
  }

  private static func tag(
    _ name: ArraySlice<UInt8>, _ line: SourceLine, _ column: Int
  ) throws(GherkinError) -> Token.Item {
    guard !name.indices.contains(where: { name[$0...].leadingSpaceLength > 0 }) else {
      throw GherkinError(
        location: Location(line: line.number, column: column), message: "A tag may not contain whitespace")
    }
    return Token.Item(column: column, text: "@" + name.string, raw: name)
  }

  private func markdownTags(_ line: SourceLine) throws(GherkinError) -> Token? {
    guard let spans = markdownTagSpans(line) else { return nil }
    var token = Token(.tagLine, line)
    for span in spans {
      token.items.append(try Self.tag(span.dropFirst(), line, line.all[..<span.startIndex].scalarCount + 1))
    }
    return token
  }

  /// The code spans of a line that consists of tags alone, with a comment perhaps. (In prose a span may show a tag.)
  private func markdownTagSpans(_ line: SourceLine) -> [ArraySlice<UInt8>]? {
    let quote = UInt8(ascii: "`")
    guard line.body.starts(with: [quote, UInt8(ascii: "@")]) else { return nil }
    var spans: [ArraySlice<UInt8>] = []
    var rest = line.body
    while !rest.isEmpty, rest.first != UInt8(ascii: "#") {
      guard rest.starts(with: [quote, UInt8(ascii: "@")]) else { return nil }
      let span = rest.dropFirst().prefix { $0 != quote }
      guard span.count > 1, span.endIndex < rest.endIndex else { return nil }
      spans.append(span)
      rest = rest[(span.endIndex + 1)...].withoutLeadingSpace
    }
    return spans
  }

  // MARK: doc strings and tables

  private func docStringSeparator(_ line: SourceLine) -> Token? {
    var delimiter = line.body.prefix(3)
    if isMarkdown {
      delimiter = line.body.prefix { $0 == UInt8(ascii: "`") }
      guard delimiter.count >= 3 else { return nil }
    } else {
      guard delimiter.elementsEqual("\"\"\"".utf8) || delimiter.elementsEqual("```".utf8) else { return nil }
    }
    var token = Token(.docStringSeparator, line)
    token.keyword = delimiter.string
    token.text = line.rest(after: delimiter.count).string
    return token
  }

  private func isTableRow(at index: Int) -> Bool {
    isTable(lines[index]) && !isTableSeparator(at: index)
  }

  private func isTable(_ line: SourceLine) -> Bool {
    line.body.first == UInt8(ascii: "|") && (!isMarkdown || (2...5).contains(line.indent))
  }

  /// Whether a line is the second of a table in Markdown, as in `| --- | :-: |`.
  func isTableSeparator(at index: Int) -> Bool {
    guard isMarkdown, isTable(lines[index]), index > 0, isTable(lines[index - 1]),
      index == 1 || !isTable(lines[index - 2])
    else { return false }
    return Self.isDelimiterRow(lines[index])
  }

  static func isDelimiterRow(_ line: SourceLine) -> Bool {
    guard line.body.first == UInt8(ascii: "|") else { return false }
    let cells = cells(line).items
    return !cells.isEmpty
      && cells.allSatisfy { cell in
        var dashes = cell.raw
        if dashes.first == UInt8(ascii: ":") { dashes.removeFirst() }
        if dashes.last == UInt8(ascii: ":") { dashes.removeLast() }
        return !dashes.isEmpty && dashes.allSatisfy { $0 == UInt8(ascii: "-") }
      }
  }

  /// The cells of a row, and what follows the last bar, which does not count.
  static func cells(_ line: SourceLine) -> (items: [Token.Item], rest: ArraySlice<UInt8>) {
    let body = line.body
    var items: [Token.Item] = []
    var start = body.startIndex + 1
    var index = start
    var column = line.indent + 2
    while index < body.endIndex {
      switch body[index] {
      case UInt8(ascii: "\\"): index += 2
      case UInt8(ascii: "|"):
        let cell = body[start..<index].withoutLeadingSpace
        let raw = cell.withoutTrailingSpace
        let padding = body[start..<cell.startIndex].scalarCount
        items.append(Token.Item(column: column + padding, text: unescaped(raw), raw: raw))
        column += padding + cell.scalarCount + 1
        index += 1
        start = index
      default: index += 1
      }
    }
    return (items, body[start...].withoutLeadingSpace)
  }

  /// A cell without escapes: `\n`, `\|` and `\\`.
  private static func unescaped(_ raw: ArraySlice<UInt8>) -> String {
    guard raw.contains(UInt8(ascii: "\\")) else { return raw.string }
    var bytes: [UInt8] = []
    var isEscaped = false
    for byte in raw {
      switch (isEscaped, byte) {
      case (false, UInt8(ascii: "\\")):
        isEscaped = true
        continue
      case (true, UInt8(ascii: "n")): bytes.append(UInt8(ascii: "\n"))
      case (true, UInt8(ascii: "\\")), (true, UInt8(ascii: "|")), (false, _): bytes.append(byte)
      case (true, _): bytes += [UInt8(ascii: "\\"), byte]
      }
      isEscaped = false
    }
    if isEscaped { bytes.append(UInt8(ascii: "\\")) }
    return String(decoding: bytes, as: UTF8.self)
  }
}
