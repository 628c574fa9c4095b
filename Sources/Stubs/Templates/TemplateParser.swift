import Basics

/// Parses the grammar of handlebars.java 4.3.
struct TemplateParser {
  private let bytes: [UInt8]
  private let name: String
  private var at: Int
  /// The text is literal from here: WireMock passes to Handlebars only the part from the first `{{` to the last `}}`.
  private var end: Int
  private var depth = 0
  /// The blocks that are open.
  private var open: [(name: String, scope: String?, isInverse: Bool)] = []
  /// Whether the last tag ended with `~`.
  private var trimsNext = false
  /// The error of the first helper that doesn't exist.
  private(set) var unknownHelper: CodedError?

  init(_ text: String, name: String) {
    bytes = Array(text.utf8)
    self.name = name
    at = 0
    end = 0
  }

  /// Parses the whole text; no nodes if it has no tags.
  mutating func parse() throws(CodedError) -> [TemplateNode] {
    guard let first = find("{{", from: 0), let last = bytes.indices.last(where: { matches("}}", at: $0) }) else {
      return []
    }
    guard first < last else {
      throw failure("'}}' comes before the first '{{'; remove it, or complete the tag", at: last)
    }
    at = first
    end = last + 2
    var nodes: [TemplateNode] = first > 0 ? [.text(text(0..<first))] : []
    let (body, tag) = try body()
    if let tag {
      throw failure("'{{\(tag.isElse ? "else" : "/" + tag.name)}}' is outside of a block; remove it", at: tag.offset)
    }
    nodes += body
    if end < bytes.count { nodes.append(.text(text(end..<bytes.count))) }
    return nodes
  }

  // MARK: Statements

  /// A tag that ends a body: `{{else …}}`, `{{^}}` or `{{/name}}`.
  private struct EndTag {
    var offset: Int
    var isElse = false
    /// The name after the slash.
    var name = ""
    /// The block that follows `else`.
    var chained: TemplateBlock?
  }

  private mutating func body() throws(CodedError) -> ([TemplateNode], EndTag?) {
    var nodes: [TemplateNode] = []
    // Whether the last token is plain text, which `~` trims.
    var endsInText = false
    func append(_ text: String) {
      guard !text.isEmpty else { return }
      nodes.append(.text(text))
    }
    while at < end {
      if let next = nextTag(), next > at {
        var piece = text(at..<next)
        if trimsNext { piece = String(piece.drop(while: \.isJavaWhitespace)) }
        at = next
        trimsNext = false
        endsInText = true
        append(piece)
        continue
      }
      let start = at
      trimsNext = false
      if matches("\\{{", at: at) {
        guard let close = find("}}", from: at + 3), find("{{", from: at + 2).map({ $0 > close }) ?? true else {
          throw failure(#"'\{{' escapes a tag up to '}}' that contains no other '{{'"#, at: at)
        }
        append(text(at + 1..<close + 2))
        at = close + 2
        endsInText = false
        continue
      }
      if matches("{{!", at: at) {
        let closer = matches("{{!--", at: at) ? "--}}" : "}}"
        guard let close = find(closer, from: at + 3) else {
          throw failure("the comment is not closed; add '\(closer)'", at: at)
        }
        at = close + closer.utf8.count
        endsInText = false
        continue
      }
      let opening = try self.opening()
      // In Handlebars, `~` has no effect in the closing tag of an inverse section.
      let isTrimming =
        if case .end = opening.kind { opening.isTrimming && open.last?.isInverse != true } else { opening.isTrimming }
      if isTrimming, endsInText, case .text(let last) = nodes.last {
        nodes[nodes.count - 1] = .text(String(last.trimmingSuffix(while: \.isJavaWhitespace)))
      }
      endsInText = false
      switch opening.kind {
      case .value(let isEscaped, let closer):
        if closer == "}}", let word = peekWord(), word == "else" {
          guard !open.isEmpty else { throw failure("'{{else}}' is outside of a block; remove it", at: start) }
          _ = try takeName()
          return (nodes, try elseTag(at: start))
        }
        var expression = try expression()
        if expression.params.isEmpty, expression.hash.isEmpty { expression = qualified(expression) }
        try close(closer)
        nodes.append(.value(expression, isEscaped: isEscaped))
      case .block:
        nodes.append(.block(try block(isInverse: false, at: start)))
      case .inverse:
        skipSpace()
        if matches("}}", at: at) || matches("~}}", at: at) {
          guard !open.isEmpty else { throw failure("'{{^}}' is outside of a block; remove it", at: start) }
          return (nodes, try elseTag(at: start))
        }
        nodes.append(.block(try block(isInverse: true, at: start)))
      case .raw:
        nodes.append(.block(try rawBlock()))
      case .end:
        let name = try takeName()
        try close("}}", isTrimming: open.last?.isInverse != true)
        return (nodes, EndTag(offset: start, name: name))
      }
    }
    return (nodes, nil)
  }

  private mutating func elseTag(at start: Int) throws(CodedError) -> EndTag {
    skipSpace()
    if matches("}}", at: at) || matches("~}}", at: at) {
      try close("}}")
      return EndTag(offset: start, isElse: true)
    }
    var chained = TemplateBlock(expression: try expression())
    chained.names = try blockNames()
    try close("}}")
    return EndTag(offset: start, isElse: true, chained: chained)
  }

  /// Parses the rest of a block after `{{#` or `{{^`.
  private mutating func block(isInverse: Bool, at start: Int) throws(CodedError) -> TemplateBlock {
    var block = TemplateBlock(expression: try expression(), isInverse: isInverse)
    block.names = try blockNames()
    try close("}}")
    let name = block.expression.name
    var scope = open.last?.scope
    if !isInverse {
      switch block.expression.params.first {
      case .path(let path): scope = path.text
      case .some: scope = nil
      case nil: break
      }
    }
    if isInverse {
      // Handlebars ignores these here.
      block.expression.params = []
      block.expression.hash = []
    }
    open.append((name, scope, isInverse))
    try enter(at: start)
    let tag = try self.rest(of: &block, start, name)
    depth -= 1
    open.removeLast()
    guard tag.name == name else {
      throw failure(
        "'{{/\(tag.name)}}' closes '{{\(isInverse ? "^" : "#")\(name)}}'; write '{{/\(name)}}'", at: tag.offset)
    }
    return block
  }

  /// Parses the bodies of a block up to its closing tag.
  private mutating func rest(of block: inout TemplateBlock, _ start: Int, _ name: String) throws(CodedError) -> EndTag {
    let (body, first) = try self.body()
    block.body = body
    guard var tag = first else { throw failure("'\(name)' is not closed; add '{{/\(name)}}'", at: start) }
    while tag.isElse {
      if var chained = tag.chained {
        try enter(at: tag.offset)
        let last = try rest(of: &chained, start, name)
        depth -= 1
        block.inverse = [.block(chained)]
        return last
      }
      let (inverse, next) = try self.body()
      block.inverse = inverse
      guard let next else { throw failure("'\(name)' is not closed; add '{{/\(name)}}'", at: start) }
      tag = next
    }
    return tag
  }

  /// Parses `{{{{name}}}} … {{{{/name}}}}`, whose body is not a template.
  private mutating func rawBlock() throws(CodedError) -> TemplateBlock {
    let start = at
    var block = TemplateBlock(expression: try expression())
    try close("}}}}")
    let closer = "{{{{/\(block.expression.name)}}}}"
    guard let close = find(closer, from: at) else {
      throw failure("the raw block is not closed; add '\(closer)'", at: start)
    }
    block.body = [.text(text(at..<close))]
    at = close + closer.utf8.count
    return block
  }

  private mutating func enter(at offset: Int) throws(CodedError) {
    depth += 1
    guard depth <= Template.Limit.depth else {
      throw failure(
        "blocks and expressions are nested more than \(Template.Limit.depth) deep; split the template", at: offset)
    }
  }

  /// In `{{#with a}}`, Handlebars reads `{{a.b}}` as `{{this.a.b}}`.
  private func qualified(_ expression: TemplateExpression) -> TemplateExpression {
    guard let block = open.last, block.name == "with", let scope = block.scope, !expression.name.hasPrefix("."),
      expression.name == scope || expression.name.hasPrefix(scope + ".")
    else { return expression }
    var result = expression
    result.name = "this." + expression.name
    result.path = TemplatePath(result.name)
    result.helper = nil
    return result
  }

  // MARK: Tags

  private enum Kind { case value(isEscaped: Bool, closer: String), block, inverse, raw, end }

  /// Reads the beginning of a tag.
  private mutating func opening() throws(CodedError) -> (kind: Kind, isTrimming: Bool) {
    let start = at
    at += 2
    let isTrimming = at < end && bytes[at] == UInt8(ascii: "~")
    if isTrimming { at += 1 }
    func take(_ token: String) -> Bool {
      guard matches(token, at: at) else { return false }
      at += token.utf8.count
      return true
    }
    if take("&") { return (.value(isEscaped: false, closer: "}}"), isTrimming) }
    if take("{{/") { throw failure("the raw block is not open; remove the tag", at: start) }
    if take("{{") { return (.raw, isTrimming) }
    if take("{") { return (.value(isEscaped: false, closer: "}}}"), isTrimming) }
    if take("^") { return (.inverse, isTrimming) }
    if take("#>") || take(">") { throw failure("partials are not supported; write the text in place", at: start) }
    if take("#*") || take("*") || take("# *") {
      throw failure("decorators are not supported; remove the tag", at: start)
    }
    if take("#") { return (.block, isTrimming) }
    if take("=") { throw failure("other delimiters are not supported; use '{{' and '}}'", at: start) }
    if take("/") { return (.end, isTrimming) }
    return (.value(isEscaped: true, closer: "}}"), isTrimming)
  }

  /// Reads the end of a tag.
  private mutating func close(_ closer: String, isTrimming: Bool = true) throws(CodedError) {
    skipSpace()
    let start = at
    // `}~}}` and `~}}`.
    let trimming = closer == "}}" ? "~}}" : String(closer.dropLast(2)) + "~}}"
    if matches(trimming, at: at) {
      at += trimming.utf8.count
      trimsNext = isTrimming
      return
    }
    let braces = bytes[at..<end].prefix { $0 == UInt8(ascii: "}") }.count
    guard matches(closer, at: at), braces == closer.utf8.count || braces > 4 && closer == "}}}}" else {
      throw failure(
        braces > closer.utf8.count
          ? "'\(closer)' expected, found \(braces) braces; separate the tag from a brace that follows: '\(closer) }'"
          : "'\(closer)' expected, found \(found())", at: start)
    }
    at += closer.utf8.count
  }

  // MARK: Expressions

  private mutating func expression() throws(CodedError) -> TemplateExpression {
    skipSpace()
    let offset = at
    let name = try takeName()
    var result = TemplateExpression(
      name: name, path: TemplatePath(name), helper: TemplateHelper(rawValue: name), offset: offset)
    while true {
      skipSpace()
      let start = at
      if at < end, bytes[at].isNameStart {
        let key = try takeName()
        skipSpace()
        if at < end, bytes[at] == UInt8(ascii: "=") {
          at += 1
          let value = try argument()
          if let index = result.hash.firstIndex(where: { $0.name == key }) {
            result.hash[index].value = value
          } else {
            result.hash.append((key, value))
          }
          continue
        }
        at = start
        if key == "as" { break }
      }
      guard at < end, bytes[at] != UInt8(ascii: "}"), bytes[at] != UInt8(ascii: "~"), bytes[at] != UInt8(ascii: ")")
      else { break }
      guard result.hash.isEmpty else {
        throw failure("parameters come before those with names; move \(found()) to the left", at: at)
      }
      result.params.append(try argument())
    }
    if let helper = result.helper, helper.isUnsupported {
      noteUnknown(failure("the helper '\(name)' is not supported; remove it", at: offset))
    }
    if result.helper == nil, !(result.params.isEmpty && result.hash.isEmpty) { noteUnknown(name, at: offset) }
    return result
  }

  private mutating func noteUnknown(_ error: CodedError) { unknownHelper = unknownHelper ?? error }

  private mutating func noteUnknown(_ name: String, at offset: Int) {
    let known = TemplateHelper.allCases.filter { !$0.isUnsupported }.map(\.rawValue)
    let likely = EditDistance.likely(name, among: known)
    noteUnknown(
      failure(
        "there is no helper '\(name)'; " + (likely.map { "did you mean '\($0)'?" } ?? "see WireMock's documentation"),
        at: offset))
  }

  private mutating func argument() throws(CodedError) -> TemplateExpression.Argument {
    skipSpace()
    guard at < end else { throw failure("a parameter expected, found the end", at: at) }
    let start = at
    switch bytes[at] {
    case UInt8(ascii: "\""), UInt8(ascii: "'"):
      return .literal(.string(try string()))
    case UInt8(ascii: "("):
      at += 1
      try enter(at: start)
      let call = try expression()
      depth -= 1
      skipSpace()
      guard at < end, bytes[at] == UInt8(ascii: ")") else { throw failure("')' expected, found \(found())", at: at) }
      at += 1
      if call.helper == nil { noteUnknown(call.name, at: call.offset) }
      return .call(call)
    case let byte
    where byte.isDigit
      || ".-".utf8.contains(byte) && start + 1 < end && (byte == UInt8(ascii: "-") || bytes[start + 1].isDigit):
      let digits = bytes[at..<end].prefix { $0.isNameByte || $0 == UInt8(ascii: "-") }
      let text = String(decoding: digits, as: UTF8.self)
      guard let last = digits.last, last.isDigit,
        digits.dropFirst().allSatisfy({ $0.isDigit || $0 == UInt8(ascii: ".") }),
        let number = Int32(text).map({ TemplateValue.int(Int($0)) }) ?? Double(text).map(TemplateValue.double)
      else { throw failure("'\(text)' is not a number; put it in quotes", at: start) }
      at = digits.endIndex
      return .literal(number)
    default:
      let name = try takeName()
      switch name {
      case "true", "false": return .literal(.bool(name == "true"))
      default: return .path(TemplatePath(name))
      }
    }
  }

  private mutating func string() throws(CodedError) -> String {
    let quote = bytes[at]
    let start = at + 1
    var index = start
    var plainEnd: Int?
    while index < end, bytes[index] != quote {
      if bytes[index] == UInt8(ascii: "\\"), index + 1 < end, bytes[index + 1] == quote {
        plainEnd = plainEnd ?? index + 1
        index += 1
      }
      index += 1
    }
    // Like the lexer of Handlebars, take the shorter string if there is no other quote.
    guard let close = index < end ? index : plainEnd else {
      throw failure("the string is not closed; add \(Character(Unicode.Scalar(quote)))", at: at)
    }
    at = close + 1
    let mark = String(Unicode.Scalar(quote))
    return text(start..<close).replacing("\\" + mark, with: mark)
  }

  /// `as |a b|`.
  private mutating func blockNames() throws(CodedError) -> [String] {
    skipSpace()
    guard peekWord() == "as" else { return [] }
    _ = try takeName()
    skipSpace()
    guard at < end, bytes[at] == UInt8(ascii: "|") else {
      throw failure("'|' expected after 'as', found \(found())", at: at)
    }
    at += 1
    var names: [String] = []
    while true {
      skipSpace()
      if at < end, bytes[at] == UInt8(ascii: "|"), !names.isEmpty { break }
      names.append(try takeName())
    }
    at += 1
    return names
  }

  /// Reads a name or a path.
  private mutating func takeName() throws(CodedError) -> String {
    skipSpace()
    let start = at
    while at < end {
      let byte = bytes[at]
      if byte == UInt8(ascii: "["), at == start || "./-".utf8.contains(bytes[at - 1]) {
        guard let close = find("]", from: at + 1), close > at + 1 else { throw failure("'[' has no ']'", at: at) }
        at = close + 1
      } else if byte.isNameByte || byte == UInt8(ascii: "-") && at > start {
        at += 1
      } else {
        break
      }
    }
    guard at > start, !bytes[start].isDigit, bytes[start] != UInt8(ascii: "/") else {
      at = start
      throw failure("a name expected, found \(found())", at: start)
    }
    return text(start..<at)
  }

  /// The name that comes next, without reading it.
  private mutating func peekWord() -> String? {
    skipSpace()
    let word = bytes[at..<end].prefix(while: { $0.isNameByte || $0 == UInt8(ascii: "-") })
    return word.isEmpty ? nil : String(decoding: word, as: UTF8.self)
  }

  // MARK: Bytes

  private mutating func skipSpace() {
    while at < end, [0x20, 0x09, 0x0A, 0x0D].contains(bytes[at]) { at += 1 }
  }

  /// The next `{{` or `\{{`, or the end.
  private func nextTag() -> Int? {
    guard let next = find("{{", from: at) else { return end }
    return next > at && bytes[next - 1] == UInt8(ascii: "\\") ? next - 1 : next
  }

  private func find(_ token: String, from start: Int) -> Int? {
    let limit = end == 0 ? bytes.count : end
    var index = start
    while index + token.utf8.count <= limit {
      if matches(token, at: index) { return index }
      index += 1
    }
    return nil
  }

  private func matches(_ token: String, at index: Int) -> Bool {
    let limit = end == 0 ? bytes.count : end
    var index = index
    for byte in token.utf8 {
      guard index < limit, bytes[index] == byte else { return false }
      index += 1
    }
    return true
  }

  private func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

  private func found() -> String {
    guard at < end else { return "the end" }
    let next = text(at..<end).prefix(12)
    return "'\(next)'"
  }

  private func failure(_ problem: String, at offset: Int) -> CodedError {
    bytes.withUnsafeBytes { CodedError(problem, at: offset, of: $0, name: name) }
  }
}

extension UInt8 {
  fileprivate var isDigit: Bool { self &- 0x30 < 10 }

  /// Whether a name or path can contain it; of other characters than ASCII, all can.
  fileprivate var isNameByte: Bool {
    switch self {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x80...: true
    case UInt8(ascii: "_"), UInt8(ascii: "$"), UInt8(ascii: "@"), UInt8(ascii: ":"), UInt8(ascii: "."),
      UInt8(ascii: "/"):
      true
    default: false
    }
  }

  fileprivate var isNameStart: Bool { isNameByte && !isDigit || self == UInt8(ascii: "[") }
}

extension Character {
  /// What Java's `Character.isWhitespace` means.
  var isJavaWhitespace: Bool {
    isWhitespace && self != "\u{A0}" && self != "\u{2007}" && self != "\u{202F}" && self != "\u{85}"
  }
}
