import HTTPMessages

/// A pattern for names or paths. In a path, `*` matches any text within a segment and `**` any text; in a name, both
/// match any text.
struct Glob: Sendable, Equatable {
  private enum Token: Sendable, Equatable {
    case byte(UInt8)
    /// Any text without a slash.
    case star
    /// Any text.
    case doubleStar
  }

  private let tokens: [Token]
  private let ignoresCase: Bool

  /// A path pattern.
  init(path text: String) {
    self.init(Array(text.utf8), isPath: true, ignoresCase: false)
  }

  /// A name pattern; header names ignore case.
  init(name text: String, ignoringCase: Bool = false) {
    self.init(Array(text.utf8), isPath: false, ignoresCase: ignoringCase)
  }

  private init(_ bytes: [UInt8], isPath: Bool, ignoresCase: Bool) {
    var tokens: [Token] = []
    for byte in bytes {
      switch (byte, tokens.last) {
      case (UInt8(ascii: "*"), .star) where isPath: tokens[tokens.count - 1] = .doubleStar
      case (UInt8(ascii: "*"), .doubleStar): break
      case (UInt8(ascii: "*"), _): tokens.append(isPath ? .star : .doubleStar)
      default: tokens.append(.byte(ignoresCase ? byte.asciiLowercased : byte))
      }
    }
    self.tokens = tokens
    self.ignoresCase = ignoresCase
  }

  /// Whether the whole text matches. Takes at most time proportional to the product of both lengths.
  func matches(_ text: some RandomAccessCollection<UInt8>) -> Bool {
    let text = Array(text)
    var token = 0
    var index = 0
    // The position to retry from, one byte later, for the last wildcard of each kind.
    var star: (token: Int, index: Int)?
    var doubleStar: (token: Int, index: Int)?
    while true {
      if index == text.count, token == tokens.count { return true }
      if token < tokens.count {
        switch tokens[token] {
        case .star:
          token += 1
          star = (token, index)
          continue
        case .doubleStar:
          token += 1
          (doubleStar, star) = ((token, index), nil)
          continue
        case .byte(let byte):
          if index < text.count, byte == (ignoresCase ? text[index].asciiLowercased : text[index]) {
            token += 1
            index += 1
            continue
          }
        }
      }
      if let last = star, last.index < text.count, text[last.index] != UInt8(ascii: "/") {
        (token, index) = (last.token, last.index + 1)
        star = (token, index)
      } else if let last = doubleStar, last.index < text.count {
        (token, index) = (last.token, last.index + 1)
        (doubleStar, star) = ((token, index), nil)
      } else {
        return false
      }
    }
  }
}
