package import Basics
import Cassettes

/// A JSON path query: RFC 9535 in full, or the dialect of WireMock's mapping files.
///
/// `Basics.JSONPath` is a subset that is also followed in streams, one step at a time. A filter needs the whole value, so
/// this type works on values in memory.
///
/// ```swift
/// let query = try JSONPathQuery("$.orders[?(@.total > 10)].id")
/// try query.nodes(in: body)  // [.number("7")]
/// ```
package struct JSONPathQuery: Sendable, CustomStringConvertible {
  /// The language of a query.
  package enum Dialect: Sendable {
    /// RFC 9535, strictly.
    case rfc9535
    /// RFC 9535 and Jayway JsonPath 2.9, as in WireMock: `$` may be missing, a filter in parentheses applies to an object
    /// itself, numbers equal strings, `=~ /regex/i`, `in`, `contains` and other operators, and functions at the end.
    case wireMock
  }

  /// The query as written.
  package let description: String
  /// Whether the query selects one value at most.
  package var isDefinite: Bool { path.isDefinite }

  private let path: Path
  private let dialect: Dialect

  /// - Parameters:
  ///   - text: the query.
  ///   - dialect: its language.
  /// - Throws: ``CodedError`` that says what is wrong, at which character, and shows an example.
  package init(_ text: String, dialect: Dialect = .wireMock) throws(CodedError) {
    var reader = JSONPathQueryReader(text, dialect)
    path = try reader.query()
    description = text
    self.dialect = dialect
  }

  /// The selected values, in the order of RFC 9535.
  ///
  /// - Throws: ``CodedError`` if the query takes too many steps.
  package func nodes(in value: JSON) throws(CodedError) -> [JSON] {
    var evaluation = JSONPathEvaluation(value, dialect, description)
    return try evaluation.nodes(path, from: value) ?? []
  }

  /// The result as Jayway gives it: the value of a definite query, or an array of the values of an indefinite one.
  ///
  /// - Returns: nil if a definite query, or the definite beginning of another, selects nothing.
  /// - Throws: ``CodedError`` if the query takes too many steps.
  package func value(in value: JSON) throws(CodedError) -> JSON? {
    var evaluation = JSONPathEvaluation(value, dialect, description)
    return try evaluation.value(path, from: value)
  }

  /// Whether `matchesJsonPath` without another matcher matches: the result is not null, and not an empty array or object.
  package func matches(_ value: JSON) throws(CodedError) -> Bool {
    switch try self.value(in: value) {
    case nil, .null: false
    case .array(let elements): !elements.isEmpty
    case .object(let members): !members.isEmpty
    default: true
    }
  }
}

extension JSONPathQuery {
  struct Path: Sendable {
    /// Whether it begins at the current value, `@`, and not at the root.
    var isRelative: Bool
    var segments: [Segment] = []

    var isDefinite: Bool { segments.allSatisfy(\.isDefinite) }

    /// Whether it is a singular query of RFC 9535, which can be compared.
    var isSingular: Bool {
      segments.allSatisfy {
        if case .child(let selectors) = $0 { selectors.count == 1 && $0.isDefinite } else { false }
      }
    }
  }

  enum Segment: Sendable {
    case child([Selector])
    case descendant([Selector])
    /// A function of Jayway at the end of a path.
    case call(String, [Operand])

    var isDefinite: Bool {
      switch self {
      case .call: true
      case .descendant: false
      case .child(let selectors):
        switch selectors[0] {
        case .name, .index: selectors.count == 1
        case .merged: true
        case .slice, .wildcard, .filter, .itemFilter: false
        }
      }
    }
  }

  enum Selector: Sendable {
    case name(String)
    /// Jayway's last step of several names: one object of these members.
    case merged([String])
    /// Negative numbers count from the end.
    case index(Int)
    case slice(Int?, Int?, Int)
    case wildcard
    /// Selects children.
    case filter(Expression)
    /// Jayway's filter: selects an object itself, or the elements of an array.
    case itemFilter(Expression)
  }

  indirect enum Expression: Sendable {
    case or([Expression])
    case and([Expression])
    case not(Expression)
    case exists(Path)
    case comparison(Operand, Operator, Operand)
    case test(Function, [Operand])
  }

  enum Operator: String, Sendable {
    case equal = "=="
    case unequal = "!="
    case identical = "==="
    case unidentical = "!=="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case matches = "=~"
    case isIn = "in"
    case isNotIn = "nin"
    case contains, all, size, empty, subsetof, anyof, noneof

    var isStandard: Bool {
      switch self {
      case .equal, .unequal, .less, .lessOrEqual, .greater, .greaterOrEqual: true
      default: false
      }
    }
  }

  enum Operand: Sendable {
    case literal(JSON)
    case path(Path)
    case call(Function, [Operand])
    /// A regular expression that has to match the whole text.
    case pattern(TextPattern)
  }

  /// The functions of RFC 9535, 2.4.
  enum Function: String, Sendable {
    case length, count, match, search, value

    /// Whether it gives true or false and no value.
    var isLogical: Bool { self == .match || self == .search }
    var takesNodes: Bool { self == .count || self == .value }
    var parameters: Int { isLogical ? 2 : 1 }
  }
}

/// Parses queries by the grammar of RFC 9535 with the additions of the dialect.
private struct JSONPathQueryReader {
  typealias Query = JSONPathQuery

  /// The largest integer that every JSON implementation holds exactly (RFC 7493, 2.2).
  private static let largest = (1 << 53) - 1
  /// The maximum nesting of brackets and parentheses, so that no query exhausts the stack.
  private static let maximumDepth = 32
  private static let maximumSegments = 500
  private static let pathFunctions: Set<String> = [
    "length", "size", "min", "max", "avg", "sum", "stddev", "concat", "keys", "append", "first", "last", "index",
  ]

  private let text: String
  private let scalars: [Unicode.Scalar]
  private let isLenient: Bool
  private var position = 0
  private var depth = 0
  private var isInFilter = false

  init(_ text: String, _ dialect: Query.Dialect) {
    self.text = text
    isLenient = dialect == .wireMock
    scalars = Array(text.unicodeScalars)
  }

  // MARK: Paths

  mutating func query() throws(CodedError) -> Query.Path {
    if isLenient { skipBlanks() }
    var path = Query.Path(isRelative: false)
    if skip("$") || isLenient && skip("@") {
      path.segments = try segments()
    } else {
      guard isLenient, let next = peek(), next != "." else { throw failure("it must begin with $") }
      path.segments = [next == "[" ? .child(try bracket()) : try named(isDeep: false)]
      path.segments += try segments()
    }
    if isLenient { skipBlanks() }
    if let next = peek() {
      throw failure("\(Self.shown(next)) found where a dot, a bracket or the end is expected")
    }
    return finished(path)
  }

  private mutating func segments() throws(CodedError) -> [Query.Segment] {
    var segments: [Query.Segment] = []
    while true {
      let before = position
      skipBlanks()
      if peek() == "[" {
        segments.append(.child(try bracket()))
      } else if skip(".") {
        let isDeep = skip(".")
        if peek() == "[", isDeep || isLenient {
          let selectors = try bracket()
          segments.append(isDeep ? .descendant(selectors) : .child(selectors))
        } else {
          segments.append(try named(isDeep: isDeep))
        }
      } else {
        position = before
        return segments
      }
      guard segments.count <= Self.maximumSegments else {
        throw failure("it has more than \(Self.maximumSegments) steps")
      }
    }
  }

  /// Applies two rules of Jayway: names in the last step are merged, and `$..a.sum()` is `$.sum($..a)`.
  private func finished(_ path: Query.Path) -> Query.Path {
    guard isLenient, let last = path.segments.last else { return path }
    var path = path
    switch last {
    case .child(let selectors), .descendant(let selectors):
      let names = selectors.compactMap { if case .name(let name) = $0 { name } else { nil } }
      guard names.count == selectors.count, names.count > 1 else { break }
      if case .child = last { path.segments[path.segments.count - 1] = .child([.merged(names)]) }
      if case .descendant = last { path.segments[path.segments.count - 1] = .descendant([.merged(names)]) }
    case .call:
      guard case .descendant = path.segments[0] else { break }
      let end = path.segments.firstIndex { if case .call = $0 { true } else { false } } ?? 0
      guard case .call(let name, _) = path.segments[end] else { break }
      let argument = finished(Query.Path(isRelative: path.isRelative, segments: Array(path.segments[..<end])))
      path.segments[...end] = [.call(name, [.path(argument)])]
    }
    return path
  }

  /// Parses what follows a dot: a name, `*` or a function.
  private mutating func named(isDeep: Bool) throws(CodedError) -> Query.Segment {
    let selector: Query.Selector
    if skip("*") {
      selector = .wildcard
    } else {
      let start = position
      while let next = peek(), isLenient ? !endsName(next) : Self.isNamePart(next) { position += 1 }
      let name = Self.string(scalars[start..<position])
      if name.isEmpty {
        throw failure(peek() == nil ? "it ends with a dot" : "a name is missing after a dot; quote it in brackets")
      }
      if isLenient, peek() == "(" {
        guard Self.pathFunctions.contains(name) else {
          throw failure("there is no function '\(name.prefix(40))()'", at: start)
        }
        return .call(name, try arguments())
      }
      if !isLenient, "0"..."9" ~= scalars[start] {
        throw failure("a name that begins with a digit must be quoted in brackets", at: start)
      }
      selector = .name(name)
    }
    return isDeep ? .descendant([selector]) : .child([selector])
  }

  /// Whether a character ends a name after a dot. In Jayway, almost everything else is part of it.
  private func endsName(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case ".", "[", "(", " ", "\t", "\n", "\r": true
    case ")", "]", ",", "<", ">", "=", "~", "!", "&", "|": isInFilter
    default: false
    }
  }

  private static func isNamePart(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "a"..."z", "A"..."Z", "0"..."9", "_": true
    default: scalar.value >= 0x80
    }
  }

  /// Parses a bracket with one or more selectors.
  private mutating func bracket() throws(CodedError) -> [Query.Selector] {
    try descend()
    defer { depth -= 1 }
    position += 1
    var selectors: [Query.Selector] = []
    repeat {
      skipBlanks()
      selectors.append(try selector())
      skipBlanks()
    } while skip(",")
    guard skip("]") else { throw failure("a bracket is not closed after a name, an index, a slice, a filter or *") }
    return selectors
  }

  private mutating func selector() throws(CodedError) -> Query.Selector {
    switch peek() ?? "\0" {
    case "'", "\"": return .name(try quoted())
    case "*":
      position += 1
      return .wildcard
    case "?":
      position += 1
      let wasInFilter = isInFilter
      isInFilter = true
      defer { isInFilter = wasInFilter }
      skipBlanks()
      guard isLenient, peek() == "(" else { return .filter(try disjunction()) }
      let first = try parenthesized()
      skipBlanks()
      return peek() == "]" ? .itemFilter(first) : .filter(try disjunction(first))
    default:
      let start = try integer()
      let before = position
      skipBlanks()
      guard skip(":") else {
        position = before
        guard let start else { throw failure("a bracket must contain a quoted name, an index, a slice, a filter or *") }
        return .index(start)
      }
      skipBlanks()
      let end = try integer()
      skipBlanks()
      guard skip(":") else { return .slice(start, end, 1) }
      skipBlanks()
      return .slice(start, end, try integer() ?? 1)
    }
  }

  /// Parses an integer, if there is one.
  private mutating func integer() throws(CodedError) -> Int? {
    let start = position
    _ = skip("-")
    while let next = peek(), "0"..."9" ~= next { position += 1 }
    let digits = scalars[start..<position]
    guard let last = digits.last else { return nil }
    guard last != "-" else { throw failure("a number is missing after -") }
    guard digits.count == 1 || digits.first != "0" && !(digits.first == "-" && digits[start + 1] == "0") else {
      throw failure("an index is written without leading zeros and without -0", at: start)
    }
    guard let number = Int(Self.string(digits)), abs(number) <= Self.largest else {
      throw failure("an index is at most 2^53 - 1", at: start)
    }
    return number
  }

  // MARK: Filters

  private mutating func disjunction(_ first: Query.Expression? = nil) throws(CodedError) -> Query.Expression {
    var terms = [try conjunction(first)]
    while skipOperator("|") { terms.append(try conjunction(nil)) }
    return terms.count == 1 ? terms[0] : .or(terms)
  }

  private mutating func conjunction(_ first: Query.Expression?) throws(CodedError) -> Query.Expression {
    var terms = [Query.Expression]()
    if let first { terms.append(first) } else { terms.append(try basic()) }
    while skipOperator("&") { terms.append(try basic()) }
    return terms.count == 1 ? terms[0] : .and(terms)
  }

  /// Skips `&&` or `||` and the white space before.
  private mutating func skipOperator(_ scalar: Unicode.Scalar) -> Bool {
    let before = position
    skipBlanks()
    if skip(scalar), skip(scalar) { return true }
    position = before
    return false
  }

  private mutating func parenthesized() throws(CodedError) -> Query.Expression {
    try descend()
    defer { depth -= 1 }
    position += 1
    let expression = try disjunction()
    skipBlanks()
    guard skip(")") else { throw failure("a parenthesis is not closed after a condition") }
    return expression
  }

  private mutating func basic() throws(CodedError) -> Query.Expression {
    skipBlanks()
    if skip("!") {
      skipBlanks()
      if peek() == "(" { return .not(try parenthesized()) }
      if isLenient, peek() == "!" {
        try descend()
        defer { depth -= 1 }
        return .not(try basic())
      }
      let start = position
      return .not(try test(try operand(), at: start))
    }
    if peek() == "(" { return try parenthesized() }
    let start = position
    let left = try operand()
    let end = position
    skipBlanks()
    guard let comparison = try comparisonOperator() else {
      position = end
      return try test(left, at: start)
    }
    skipBlanks()
    let next = position
    let right = try operand()
    try checkComparable(left, at: start)
    try checkComparable(right, at: next)
    return .comparison(left, comparison, right)
  }

  private func test(_ operand: Query.Operand, at start: Int) throws(CodedError) -> Query.Expression {
    switch operand {
    case .path(let path): return .exists(path)
    case .call(let function, let arguments) where function.isLogical: return .test(function, arguments)
    default: throw failure("a value or function must be compared, as in length(@.a) > 1", at: start)
    }
  }

  private func checkComparable(_ operand: Query.Operand, at start: Int) throws(CodedError) {
    switch operand {
    case .call(let function, _) where function.isLogical:
      throw failure("\(function.rawValue)() gives true or false and cannot be compared", at: start)
    case .path(let path) where !isLenient && !path.isSingular:
      throw failure("only a path that selects one value at most can be compared", at: start)
    default: break
    }
  }

  private mutating func comparisonOperator() throws(CodedError) -> Query.Operator? {
    let start = position
    while let next = peek(), "=!<>~".unicodeScalars.contains(next) { position += 1 }
    if position == start, isLenient {
      while let next = peek(), "a"..."z" ~= next || "A"..."Z" ~= next { position += 1 }
    }
    guard position > start else { return nil }
    let name = Self.string(scalars[start..<position])
    guard let found = Query.Operator(rawValue: name.lowercased()), isLenient || found.isStandard else {
      throw failure("there is no operator '\(name.prefix(40))'; use ==, !=, <, <=, > or >=", at: start)
    }
    return found
  }

  private mutating func operand() throws(CodedError) -> Query.Operand {
    switch peek() ?? "\0" {
    case "$", "@":
      let isRelative = peek() == "@"
      position += 1
      return .path(finished(Query.Path(isRelative: isRelative, segments: try segments())))
    case "'", "\"": return .literal(.string(try quoted()))
    case "-", "0"..."9": return .literal(.number(try number()))
    case "a"..."z": return try word()
    case "[" where isLenient, "{" where isLenient: return .literal(try literal())
    case "/" where isLenient: return .pattern(try pattern())
    default: throw failure("a path, a quoted text, a number, true, false, null or a function is expected")
    }
  }

  /// Parses true, false, null or a function.
  private mutating func word() throws(CodedError) -> Query.Operand {
    let start = position
    while let next = peek(), "a"..."z" ~= next || "0"..."9" ~= next || next == "_" { position += 1 }
    let name = Self.string(scalars[start..<position])
    guard peek() == "(" else {
      switch name {
      case "true": return .literal(.bool(true))
      case "false": return .literal(.bool(false))
      case "null": return .literal(.null)
      default: throw failure("'\(name.prefix(40))' must be quoted", at: start)
      }
    }
    guard let function = Query.Function(rawValue: name) else {
      throw failure(
        "there is no function '\(name.prefix(40))'; use length, count, match, search or value", at: start)
    }
    let arguments = try arguments()
    guard arguments.count == function.parameters else {
      throw failure("\(name)() takes \(function.parameters == 1 ? "one argument" : "two arguments")", at: start)
    }
    for argument in arguments {
      switch argument {
      case .path(let path) where function.takesNodes || path.isSingular: break
      case .literal where !function.takesNodes: break
      case .call(let inner, _) where !function.takesNodes && !inner.isLogical: break
      default:
        throw failure(
          function.takesNodes
            ? "\(name)() takes a path" : "\(name)() takes values and paths that select one value at most", at: start)
      }
    }
    return .call(function, arguments)
  }

  /// Parses arguments in parentheses.
  private mutating func arguments() throws(CodedError) -> [Query.Operand] {
    try descend()
    let wasInFilter = isInFilter
    isInFilter = true
    defer {
      depth -= 1
      isInFilter = wasInFilter
    }
    position += 1
    skipBlanks()
    var arguments: [Query.Operand] = []
    if skip(")") { return arguments }
    repeat {
      skipBlanks()
      arguments.append(try operand())
      skipBlanks()
    } while skip(",")
    guard skip(")") else { throw failure("a parenthesis is not closed after arguments") }
    return arguments
  }

  // MARK: Literals

  private mutating func number() throws(CodedError) -> String {
    let start = position
    _ = skip("-")
    let isZero = peek() == "0"
    var hasDigits = skipDigits()
    if isZero, hasDigits > 1 { throw failure("a number is written without leading zeros", at: start) }
    if hasDigits > 0, skip(".") { hasDigits = skipDigits() }
    if hasDigits > 0, skip("e") || skip("E") {
      if !skip("-") { _ = skip("+") }
      hasDigits = skipDigits()
    }
    guard hasDigits > 0 else { throw failure("a digit is missing in a number") }
    return Self.string(scalars[start..<position])
  }

  private mutating func skipDigits() -> Int {
    let start = position
    while let next = peek(), "0"..."9" ~= next { position += 1 }
    return position - start
  }

  /// Parses an array, object or value, also with texts in single quotes.
  private mutating func literal() throws(CodedError) -> JSON {
    skipBlanks()
    switch peek() ?? "\0" {
    case "'", "\"": return .string(try quoted())
    case "-", "0"..."9": return .number(try number())
    case "[", "{":
      try descend()
      defer { depth -= 1 }
      let isObject = peek() == "{"
      position += 1
      let close: Unicode.Scalar = isObject ? "}" : "]"
      var elements: [JSON] = []
      var members: [JSON.Member] = []
      skipBlanks()
      if skip(close) { return isObject ? .object(members) : .array(elements) }
      repeat {
        skipBlanks()
        if isObject {
          guard peek() == "'" || peek() == "\"" else { throw failure("a member's name must be quoted") }
          let name = try quoted()
          skipBlanks()
          guard skip(":") else { throw failure("a colon is missing after a member's name") }
          members.append(.init(name, try literal()))
        } else {
          elements.append(try literal())
        }
        skipBlanks()
      } while skip(",")
      guard skip(close) else { throw failure("'\(close)' is missing after a list") }
      return isObject ? .object(members) : .array(elements)
    default:
      // Jayway takes words without quotes for texts.
      let start = position
      while let next = peek(), !",:]}".unicodeScalars.contains(next) { position += 1 }
      var word = scalars[start..<position]
      while word.last == " " { word.removeLast() }
      switch Self.string(word) {
      case "": throw failure("a value is missing in a list")
      case "true": return .bool(true)
      case "false": return .bool(false)
      case "null": return .null
      case let text: return .string(text)
      }
    }
  }

  /// Parses `/regex/flags`.
  private mutating func pattern() throws(CodedError) -> TextPattern {
    position += 1
    let start = position
    while let next = peek(), next != "/" { position += next == "\\" ? 2 : 1 }
    guard position < scalars.count else { throw failure("a regular expression's closing / is missing", at: start - 1) }
    let body = Self.string(scalars[start..<position])
    position += 1
    var flags = ""
    while let next = peek(), "idmsuxU".unicodeScalars.contains(next) {
      // `d`, `u` and `U` are about line ends and Unicode; Pattern always has Unicode's.
      if "imsx".unicodeScalars.contains(next) { flags.unicodeScalars.append(next) }
      position += 1
    }
    do { return try TextPattern(body, flags: flags) } catch { throw failure(error.problem, at: start) }
  }

  private mutating func quoted() throws(CodedError) -> String {
    let quote = scalars[position]
    let start = position
    position += 1
    var name = "".unicodeScalars
    while let scalar = peek() {
      position += 1
      if scalar == quote { return String(name) }
      guard isLenient || scalar.value >= 0x20 else {
        throw failure("a control character must be escaped", at: position - 1)
      }
      name.append(scalar == "\\" ? try escaped(quote) : scalar)
    }
    throw failure("a closing quote is missing", at: start)
  }

  /// Parses what follows a backslash.
  private mutating func escaped(_ quote: Unicode.Scalar) throws(CodedError) -> Unicode.Scalar {
    let start = position - 1
    guard let next = peek() else { throw failure("a closing quote is missing") }
    position += 1
    switch next {
    case "b": return "\u{8}"
    case "f": return "\u{C}"
    case "n": return "\n"
    case "r": return "\r"
    case "t": return "\t"
    case "/", "\\", quote: return next
    case "u":
      let first = try codeUnit()
      if let scalar = Unicode.Scalar(first) { return scalar }
      if UTF16.isLeadSurrogate(first), skip("\\"), skip("u") {
        let second = try codeUnit()
        let value = 0x10000 + (UInt32(first) & 0x3FF) << 10 + UInt32(second) & 0x3FF
        if UTF16.isTrailSurrogate(second), let scalar = Unicode.Scalar(value) { return scalar }
      }
      throw failure("half of a surrogate pair", at: start)
    default:
      if isLenient { return next }
      throw failure(
        #"after a backslash, only \b \f \n \r \t \/ \\ \uXXXX and the quote are allowed"#, at: start)
    }
  }

  /// Parses the four hexadecimal digits of `\uXXXX`.
  private mutating func codeUnit() throws(CodedError) -> UInt16 {
    let digits = scalars[position..<min(position + 4, scalars.count)]
    guard digits.count == 4, digits.allSatisfy(\.properties.isASCIIHexDigit),
      let unit = UInt16(Self.string(digits), radix: 16)
    else { throw failure(#"\u must be followed by four hexadecimal digits"#) }
    position += 4
    return unit
  }

  // MARK: Characters

  private func peek() -> Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

  private mutating func skip(_ scalar: Unicode.Scalar) -> Bool {
    guard peek() == scalar else { return false }
    position += 1
    return true
  }

  private mutating func skipBlanks() {
    while let next = peek(), next == " " || next == "\t" || next == "\n" || next == "\r" { position += 1 }
  }

  private mutating func descend() throws(CodedError) {
    depth += 1
    guard depth <= Self.maximumDepth else { throw failure("it is nested more than \(Self.maximumDepth) deep") }
  }

  private static func string(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(scalars))
  }

  private static func shown(_ scalar: Unicode.Scalar) -> String {
    scalar.value < 0x20 || scalar.value == 0x7F ? "a control character" : "'\(scalar)'"
  }

  private func failure(_ problem: String, at index: Int? = nil) -> CodedError {
    CodedError(
      .broken,
      "'\(text.prefix(80))' is not a valid JSON path: \(problem), at character \((index ?? position) + 1); "
        + "example: $.orders[?(@.id == 7)]")
  }
}
