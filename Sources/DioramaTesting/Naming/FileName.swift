/// Names of tests as names of files.
enum FileName {
  /// The longest name that is made; file systems end at 255 bytes, and endings come to it.
  private static let limit = 80

  /// The text with every character that is no letter, digit, `.`, `_` or `-` as a `-`.
  ///
  /// What cannot be told from the result any more (other characters than spaces, a long text) is told apart by a digest
  /// at the end: two names never share a file.
  static func make(_ text: String) -> String {
    var name = ""
    var isExact = true
    for character in text {
      if character.isLetter || character.isNumber || "._-".contains(character) {
        name.append(character)
      } else {
        name.append("-")
        isExact = isExact && character == " "
      }
    }
    while name.hasPrefix(".") || name.hasPrefix("-") {
      name.removeFirst()
      isExact = false
    }
    if name.utf8.count > limit {
      while name.utf8.count > limit { name.removeLast() }
      isExact = false
    }
    if isExact, !name.isEmpty { return name }
    return name.isEmpty ? digest(text) : "\(name)-\(digest(text))"
  }

  /// FNV-1a, 32 bits, as eight hexadecimal digits.
  private static func digest(_ text: String) -> String {
    let hash = text.utf8.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
    let digits = String(hash, radix: 16)
    return String(repeating: "0", count: 8 - digits.count) + digits
  }
}
