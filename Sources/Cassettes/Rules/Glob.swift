import HTTPMessages

/// A name or a path with wildcards: `*` is anything within a segment (for names: anything), `**` anything at all.
struct Glob: Sendable, Equatable {
  private enum Token: Sendable, Equatable {
    case byte(UInt8)
    /// Any run without a slash.
    case star
    /// Any run.
    case doubleStar
  }

  private let tokens: [Token]
  private let ignoresCase: Bool

  /// A path, whose segments `*` does not leave.
  init(path text: String) {
    self.init(Array(text.utf8), isPath: true, ignoresCase: false)
  }

  /// A name; those of headers count whatever their case.
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

  /// Whether the whole text fits. Takes the product of both lengths at worst: a run that fails is only ever made longer.
  func matches(_ text: some RandomAccessCollection<UInt8>) -> Bool {
    let text = Array(text)
    var token = 0
    var index = 0
    // Where to go on after one more byte for the last wildcard of each kind.
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
