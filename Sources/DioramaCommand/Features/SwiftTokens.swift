import Foundation

/// The tokens of a Swift file, as far as step definitions need them.
///
/// Comments are left out, except those for documentation. It is no compiler: a file that does not compile has tokens, too.
struct SwiftTokens {
  enum Kind: Equatable {
    case word(String)
    case mark(Character)
    /// A string literal; ``SwiftTokens/interpolation`` stands for each interpolation.
    case string(String)
    /// A regular expression between slashes.
    case regex(String)
  }

  struct Token {
    let kind: Kind
    let line: Int
    let column: Int
  }

  /// Stands for an interpolation in a string literal.
  static let interpolation: Character = "\u{FFFC}"

  private(set) var tokens: [Token] = []
  /// The documentation that ends on a line.
  private(set) var documentation: [Int: String] = [:]

  private let text: [Unicode.Scalar]
  private var index = 0
  private var line = 1
  private var lineStart = 0

  /// - Parameter source: the text of the file.
  init(_ source: String) {
    // CR LF is one Character, but two scalars.
    text = Array(source.unicodeScalars)
    scan(untilClosed: false)
  }

  private func peek(_ offset: Int = 0) -> Unicode.Scalar? {
    index + offset < text.count ? text[index + offset] : nil
  }

  private func has(_ word: String, at offset: Int = 0) -> Bool {
    var place = index + offset
    for scalar in word.unicodeScalars {
      guard place < text.count, text[place] == scalar else { return false }
      place += 1
    }
    return true
  }

  private mutating func advance(_ count: Int = 1) {
    for _ in 0..<count where index < text.count {
      if text[index] == "\n" {
        line += 1
        lineStart = index + 1
      }
      index += 1
    }
  }

  /// Reads tokens, to the end or to the parenthesis that closes an interpolation.
  private mutating func scan(untilClosed: Bool) {
    var depth = 0
    while let scalar = peek() {
      if has("//") {
        lineComment()
      } else if has("/*") {
        blockComment()
      } else if scalar.properties.isWhitespace {
        advance()
      } else if scalar == "_" || scalar == "`" || scalar.properties.isXIDStart {
        word()
      } else if scalar.properties.numericType != nil {
        while let next = peek(), next == "_" || next.properties.isXIDContinue { advance() }
        tokens.append(Token(kind: .mark("0"), line: line, column: index - lineStart))
      } else if let hashes = opening("\"") {
        string(hashes)
      } else if let hashes = opening("/"), regex(hashes) {
        continue
      } else {
        if scalar == "(" { depth += 1 }
        if scalar == ")" {
          depth -= 1
          if untilClosed, depth < 0 { return }
        }
        append(.mark(Character(scalar)))
        advance()
      }
    }
  }

  private mutating func append(_ kind: Kind) {
    tokens.append(Token(kind: kind, line: line, column: index - lineStart + 1))
  }

  private mutating func lineComment() {
    let start = index
    let isDocumentation = has("///") && !has("////")
    while let scalar = peek(), scalar != "\n" { advance() }
    guard isDocumentation else { return }
    let words = Self.trimmed(text[(start + 3)..<index])
    documentation[line] = documentation[line - 1].map { $0 + "\n" + words } ?? words
    documentation[line - 1] = nil
  }

  private mutating func blockComment() {
    let start = index
    let isDocumentation = has("/**") && !has("/**/")
    var depth = 0
    repeat {
      if has("/*") {
        depth += 1
        advance(2)
      } else if has("*/") {
        depth -= 1
        advance(2)
      } else {
        advance()
      }
    } while depth > 0 && index < text.count
    guard isDocumentation, index - start > 5 else { return }
    let lines = text[(start + 3)..<(index - 2)].split(separator: "\n", omittingEmptySubsequences: false)
      .map { Self.trimmed($0) }
    documentation[line] = lines.joined(separator: "\n").trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private static func trimmed(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    String(String.UnicodeScalarView(scalars)).trimmingCharacters(in: .whitespacesAndNewlines)
  }

  private mutating func word() {
    let start = index
    let isQuoted = peek() == "`"
    let (startLine, column) = (line, index - lineStart + 1)
    advance()
    while let scalar = peek() {
      if isQuoted ? scalar == "`" || scalar == "\n" : !(scalar == "_" || scalar.properties.isXIDContinue) { break }
      advance()
    }
    var word = String(String.UnicodeScalarView(text[start..<index]))
    if isQuoted {
      word.removeFirst()
      advance()
    }
    tokens.append(Token(kind: .word(word), line: startLine, column: column))
  }

  /// How many number signs precede a delimiter here; nil if something else follows.
  private func opening(_ delimiter: Unicode.Scalar) -> Int? {
    var hashes = 0
    while peek(hashes) == "#" { hashes += 1 }
    return peek(hashes) == delimiter ? hashes : nil
  }

  private mutating func string(_ hashes: Int) {
    let place = (line, index - lineStart + 1)
    let isLong =
      has("\"\"\"", at: hashes) && !(hashes > 0 && has("\"\"\"" + String(repeating: "#", count: hashes), at: hashes))
    let fence = String(repeating: "#", count: hashes)
    let end = (isLong ? "\"\"\"" : "\"") + fence
    let escape = "\\" + fence
    advance(hashes + (isLong ? 3 : 1))
    var value = String.UnicodeScalarView()
    /// The lines of a long literal before the current one.
    var lines: [String.UnicodeScalarView] = []
    while index < text.count {
      if has(end) {
        advance(end.unicodeScalars.count)
        break
      }
      if has(escape) {
        advance(escape.unicodeScalars.count)
        if peek() == "(" {
          advance()
          // The code in it is not a definition's place.
          let count = tokens.count
          scan(untilClosed: true)
          tokens.removeSubrange(count...)
          advance()
          value.append(contentsOf: String(Self.interpolation).unicodeScalars)
        } else if let scalar = escaped() {
          value.append(scalar)
        }
        continue
      }
      guard let scalar = peek() else { break }
      if scalar == "\n" {
        // A string that is not closed ends with its line.
        guard isLong else { break }
        lines.append(value)
        value = .init()
      } else if scalar != "\r" || !isLong {
        value.append(scalar)
      }
      advance()
    }
    if isLong {
      // The first is what follows the opening delimiter, and the last the indentation.
      let indentation = value.count
      value = .init()
      for (number, line) in lines.dropFirst().enumerated() {
        if number > 0, !isJoined { value.append("\n") }
        isJoined = false
        var rest = Substring.UnicodeScalarView(line)
        if line.last == Self.continuation {
          rest = rest.dropLast()
          isJoined = true
        }
        value.append(contentsOf: rest.dropFirst(min(indentation, rest.prefix { $0 == " " || $0 == "\t" }.count)))
      }
      isJoined = false
    }
    tokens.append(Token(kind: .string(String(value)), line: place.0, column: place.1))
  }

  private var isJoined = false
  /// Stands for a backslash at the end of a line.
  private static let continuation: Unicode.Scalar = "\u{E000}"

  /// The scalar of an escape, after the backslash; nil if it is not valid.
  private mutating func escaped() -> Unicode.Scalar? {
    defer { advance() }
    switch peek() {
    case "n": return "\n"
    case "t": return "\t"
    case "r": return "\r"
    case "0": return "\0"
    case "u":
      guard peek(1) == "{" else { return nil }
      advance(2)
      var digits = ""
      while let scalar = peek(), scalar != "}", scalar != "\n", scalar != "\"" {
        digits.unicodeScalars.append(scalar)
        advance()
      }
      return UInt32(digits, radix: 16).flatMap(Unicode.Scalar.init)
    case "\r" where peek(1) == "\n", "\n":
      index -= 1
      return Self.continuation
    case let scalar: return scalar
    }
  }

  /// Reads a regular expression between slashes; false if the slash is an operator.
  private mutating func regex(_ hashes: Int) -> Bool {
    let start = index + hashes + 1
    if hashes == 0 {
      switch tokens.last?.kind {
      case .word(let word) where !["return", "in", "case", "try", "await"].contains(word): return false
      case .string, .regex, .mark(")"), .mark("]"), .mark("}"), .mark("0"): return false
      default: break
      }
      guard let next = peek(1), !next.properties.isWhitespace else { return false }
    }
    let fence = "/" + String(repeating: "#", count: hashes)
    let isLong = hashes > 0 && (text[min(start, text.count)...].first { $0 != " " && $0 != "\t" && $0 != "\r" }) == "\n"
    var place = start
    while place < text.count {
      if text[place] == "\\" {
        place += 2
        continue
      }
      if text[place] == "\n", !isLong { return false }
      if has(fence, at: place - index) { break }
      place += 1
    }
    guard place < text.count else { return false }
    let scalars = text[start..<place]
    let source = isLong ? Self.compact(scalars) : String(String.UnicodeScalarView(scalars))
    append(.regex(source.replacing("\\/", with: "/")))
    advance(place + fence.unicodeScalars.count - index)
    return true
  }

  /// A regular expression of several lines without its white space and comments.
  private static func compact(_ scalars: ArraySlice<Unicode.Scalar>) -> String {
    var result = String.UnicodeScalarView()
    var isEscaped = false
    var isComment = false
    for scalar in scalars {
      if scalar == "\n" { isComment = false }
      if isComment { continue }
      if !isEscaped, scalar == "#" {
        isComment = true
      } else if isEscaped || !scalar.properties.isWhitespace {
        result.append(scalar)
      }
      isEscaped = !isEscaped && scalar == "\\"
    }
    return String(result)
  }
}
