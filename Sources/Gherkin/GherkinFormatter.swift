/// Formats feature files: two spaces per level, an empty line before each scenario, columns aligned, comments kept.
///
/// The syntax tree stays the same but for locations and the white space around comments; formatting a second time changes
/// nothing. Descriptions and doc strings keep their text, and groups of steps one empty line between them. In Markdown
/// only tables are aligned.
///
/// ```swift
/// let formatted = try GherkinFormatter().format(text, uri: "Features/shop.feature")
/// ```
package struct GherkinFormatter: Sendable {
  private let parser: GherkinParser

  /// - Parameter language: the language of files that declare no other, such as `en`.
  package init(language: String = "en") {
    parser = GherkinParser(language: language)
  }

  /// Formats a file.
  ///
  /// - Parameters:
  ///   - text: the file's text.
  ///   - uri: the path or URL of the file; one that ends in `.md` is Markdown.
  /// - Returns: the formatted text, with the line ends of the first line.
  /// - Throws: all errors of the file.
  package func format(_ text: String, uri: String) throws(GherkinErrors) -> String {
    let tokens = try parser.tokens(of: text, uri: uri)
    let lines: [String]
    if SourceMediaType(uri: uri) == .markdown {
      lines = MarkdownLayout.lines(of: text, tokens)
    } else {
      var layout = Layout(tokens)
      lines = layout.lines()
    }
    let isCRLF = text.utf8.prefix { $0 != UInt8(ascii: "\n") }.last == UInt8(ascii: "\r") && text.utf8.contains(0x0A)
    return lines.map { $0 + (isCRLF ? "\r\n" : "\n") }.joined()
  }
}

/// The layout of Gherkin, from its tokens.
private struct Layout {
  private let tokens: [Token]
  /// The indentation of each token; of a comment, that of the steps around it.
  private var indents: [Int]
  /// Which tokens are lines of a description, or comments in front of one.
  private var isDescription: [Bool]
  /// For lines of doc strings, the white space to remove.
  private var docStringIndents: [Int?]
  private var rows: [Int: String]
  private var output: [String] = []

  init(_ tokens: [Token]) {
    self.tokens = tokens
    indents = Array(repeating: 0, count: tokens.count)
    isDescription = Array(repeating: false, count: tokens.count)
    docStringIndents = Array(repeating: nil, count: tokens.count)
    rows = TableLayout.rows(tokens, minimumWidth: 0)
    findIndents()
    findDescriptions()
  }

  private mutating func findIndents() {
    var isInRule = false
    var title = 0
    var scenario = 0
    var argument = 0
    var docString: Int?
    for (index, token) in tokens.enumerated() {
      switch token.kind {
      case .featureLine: title = 0
      case .ruleLine:
        title = 2
        isInRule = true
      case .backgroundLine, .scenarioLine:
        scenario = isInRule ? 4 : 2
        title = scenario
      case .examplesLine: title = scenario + 2
      default: break
      }
      switch token.kind {
      case _ where token.isTitle:
        indents[index] = title
        argument = title + 2
      case .stepLine:
        indents[index] = title + 2
        argument = title + 4
      case .docStringSeparator:
        indents[index] = argument
        docString = docString == nil ? token.line.indent : nil
      case .other:
        docStringIndents[index] = docString
        indents[index] = docString == nil ? title + 2 : argument
      case .tableRow: indents[index] = argument
      case .comment: indents[index] = title + 2
      default: break
      }
    }
    for index in tokens.indices.reversed() {
      // Tags are indented like the title after them.
      if tokens[index].isTitle { title = indents[index] }
      if tokens[index].kind == .tagLine { indents[index] = title }
    }
  }

  private mutating func findDescriptions() {
    var isBeforeText = false
    for index in tokens.indices.reversed() where docStringIndents[index] == nil {
      switch tokens[index].kind {
      case .other:
        isBeforeText = isBeforeText || !tokens[index].line.isEmpty
        isDescription[index] = isBeforeText
      case .comment: isDescription[index] = isBeforeText
      case .empty: break
      default: isBeforeText = false
      }
    }
  }

  // MARK: writing

  mutating func lines() -> [String] {
    var previous: Int?
    /// Comments and empty lines since then.
    var between: [Token] = []
    for (index, token) in tokens.enumerated() {
      if isDescription[index] {
        // What is between it and the title is empty.
        between = []
        if token.kind == .comment { write(token.line.body, at: indents[index]) } else { output.append(token.text) }
      } else if token.kind == .comment || token.kind == .empty
        || token.kind == .other && docStringIndents[index] == nil
      {
        between.append(token)
        continue
      } else {
        write(between, after: previous, before: index)
        between = []
        write(token, at: index)
      }
      previous = index
    }
    return output
  }

  /// Writes comments. Those with an empty line after them, but not before, belong to what precedes them.
  private mutating func write(_ between: [Token], after previous: Int?, before next: Int) {
    let follower = tokens[next]
    let leader = previous.map { tokens[$0] }
    let startsBlock = (follower.isTitle || follower.kind == .tagLine) && leader?.kind != .tagLine
    let isEnd = follower.kind == .eof
    let keepsEmptyLines = startsBlock || isEnd || follower.kind == .stepLine && leader?.isTitle == false
    var rest = between[...]
    if keepsEmptyLines, let previous, let leader {
      let trailing = between.prefix { $0.kind == .comment }
      if isEnd || trailing.count < between.count {
        for comment in trailing { write(comment.line.body, at: indents[previous] + (leader.isTitle ? 2 : 0)) }
        rest = between.dropFirst(trailing.count)
      }
    }
    var needsEmptyLine = startsBlock && leader != nil && leader?.kind != .language
    for token in rest {
      if token.kind == .comment {
        if needsEmptyLine && !output.isEmpty { output.append("") }
        needsEmptyLine = false
        write(token.line.body, at: indents[next])
      } else {
        needsEmptyLine = needsEmptyLine || keepsEmptyLines
      }
    }
    if needsEmptyLine && !isEnd && !output.isEmpty { output.append("") }
  }

  private mutating func write(_ token: Token, at index: Int) {
    let body = token.line.body
    let indent = indents[index]
    switch token.kind {
    case .eof: break
    case .language: output.append("# language: \(token.text)")
    // `@` alone is not a tag, but a line of tags.
    case .tagLine where token.items.isEmpty: write(body, at: indent)
    case .tagLine:
      let comment = body[TokenMatcher.comment(of: token.line)...].string
      write((token.items.map(\.text) + [comment]).filter { !$0.isEmpty }.joined(separator: " "), at: indent)
    case .other:
      let text = token.line.text(removing: docStringIndents[index] ?? 0)
      if text.isEmpty { output.append("") } else { write(text, at: indent) }
    case .tableRow: write(rows[index] ?? "", at: indent)
    // The space at the end of the line may be the keyword's.
    case .stepLine where token.text.isEmpty: write(token.keyword ?? "", at: indent)
    // Fewer spaces could make another keyword: `Étant donné  que`.
    case .stepLine, .docStringSeparator: write(body, at: indent)
    default: write("\(token.keyword ?? ""):\(token.text.isEmpty ? "" : " ")\(token.text)", at: indent)
    }
  }

  private mutating func write(_ text: ArraySlice<UInt8>, at indent: Int) { write(text.string, at: indent) }

  private mutating func write(_ text: String, at indent: Int) {
    output.append(String(repeating: " ", count: indent) + text)
  }
}

/// The layout of Markdown: the same lines with aligned tables.
private enum MarkdownLayout {
  static func lines(of text: String, _ tokens: [Token]) -> [String] {
    var lines = SourceLine.lines(of: text).map(\.all.string)
    for (index, row) in TableLayout.rows(tokens, minimumWidth: 3) {
      let line = tokens[index].line
      lines[line.number - 1] = String(repeating: " ", count: line.indent) + row
    }
    return lines
  }
}

/// The rows of tables with aligned columns.
private enum TableLayout {
  /// The text of each token that is a row or, in Markdown, the line below the first.
  static func rows(_ tokens: [Token], minimumWidth: Int) -> [Int: String] {
    var rows: [Int: String] = [:]
    var table: [Int] = []
    for (index, token) in tokens.enumerated() {
      switch token.kind {
      case .tableRow: table.append(index)
      case .empty where table == [index - 1] && TokenMatcher.isDelimiterRow(token.line): table.append(index)
      case .empty, .comment: break
      default:
        align(table, tokens, minimumWidth, &rows)
        table = []
      }
    }
    return rows
  }

  private static func align(_ table: [Int], _ tokens: [Token], _ minimumWidth: Int, _ rows: inout [Int: String]) {
    let cells = table.map { TokenMatcher.cells(tokens[$0].line) }
    let texts = cells.map { $0.items.map(\.raw.string) }
    let isDelimiter = table.map { tokens[$0].kind == .empty }
    var widths: [Int] = []
    for (row, isDelimiter) in zip(texts, isDelimiter) where !isDelimiter {
      for (column, text) in row.enumerated() {
        if column == widths.count { widths.append(minimumWidth) }
        widths[column] = max(widths[column], text.count)
      }
    }
    for (row, index) in table.enumerated() {
      var line = "|"
      for (column, text) in texts[row].enumerated() {
        let width = column < widths.count ? widths[column] : minimumWidth
        let cell =
          isDelimiter[row] ? dashes(text, width) : text + String(repeating: " ", count: max(0, width - text.count))
        line += " \(cell) |"
      }
      let rest = cells[row].rest
      rows[index] = rest.isEmpty ? line : line + " " + rest.string
    }
  }

  /// `---`, with the colons of the alignment.
  private static func dashes(_ text: String, _ width: Int) -> String {
    let start = text.hasPrefix(":") ? ":" : ""
    let end = text.hasSuffix(":") ? ":" : ""
    return start + String(repeating: "-", count: max(1, width - start.count - end.count)) + end
  }
}
