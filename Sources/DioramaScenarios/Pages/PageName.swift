/// The name of a page as the end of a Cucumber Expression.
enum PageName {
  /// Words that say only what kind of thing it is.
  private static let kinds: Set = ["page", "screen"]

  /// Expressions for a name: in lower case, in title case, and as it is.
  ///
  /// - Parameter name: the name of a page object, such as `SignInPage`.
  /// - Returns: `sign in( page)( screen)`, `Sign In( page)( screen)`, `SignInPage( page)( screen)`.
  static func expressions(_ name: String) -> [String] {
    var words = words(of: name)
    if words.count > 1, let last = words.last, kinds.contains(last.lowercased()) { words.removeLast() }
    let spellings = [
      words.map { $0.lowercased() }.joined(separator: " "),
      words.map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: " "),
      name,
    ]
    var unique: [String] = []
    for spelling in spellings where !unique.contains(spelling) { unique.append(spelling) }
    return unique.map { escaped($0) + "( page)( screen)" }
  }

  /// The words of a name in camel case or with spaces.
  static func words(of name: String) -> [String] {
    var words: [String] = []
    var word = ""
    let characters = Array(name)
    for (index, character) in characters.enumerated() {
      let next = index + 1 < characters.count ? characters[index + 1] : nil
      let startsWord =
        character.isUppercase && (word.last?.isUppercase != true || next?.isLowercase == true)
      if !word.isEmpty, startsWord || character == " " {
        words.append(word)
        word = ""
      }
      if character != " " { word.append(character) }
    }
    return word.isEmpty ? words : words + [word]
  }

  private static func escaped(_ text: String) -> String {
    text.map { "\\(){}/".contains($0) ? "\\\($0)" : String($0) }.joined()
  }
}
