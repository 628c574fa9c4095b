import Basics

/// The first place at which two texts differ.
struct TextDifference: Sendable {
  /// How the texts are related if they are the same parts in another order.
  enum Permutation: Sendable {
    /// The words of a line, the elements of an array, or the members of an object.
    case parts
    /// The lines.
    case lines
  }

  /// The name of the value: that of a JSON member, query item or header field; empty for none.
  var name = ""
  /// Where it is in the text, such as `$.id` or `line 3`.
  var path: String
  /// The number of bytes before the difference, in the whole text.
  var byte: Int
  /// Whether the texts were compared by lines, so that `path` has a line, and `byte` may be in another one.
  var isByLine = false
  /// The column of the difference in its line, from 1; nil without one.
  var column: Int?
  /// The values or lines that differ. An empty one is missing.
  var left: String
  var right: String
  var permutation: Permutation?

  /// Compares two texts: JSON by value, anything else by lines. A line that is JSON is compared by value, too.
  ///
  /// - Parameters:
  ///   - left: a text.
  ///   - right: another one.
  /// - Returns: the first difference; nil if they are equal.
  static func first(_ left: [UInt8], _ right: [UInt8]) -> TextDifference? {
    guard left != right else { return nil }
    let byte = zip(left, right).prefix { $0 == $1 }.count
    guard var found = json(left, right) ?? lines(left, right) else { return nil }
    found.byte = byte
    return found
  }

  // MARK: JSON

  private static func json(_ left: [UInt8], _ right: [UInt8]) -> TextDifference? {
    guard let one = document(left), let other = document(right) else { return nil }
    if let found = between(one, other, path: "$", name: "") { return found }
    // Equal but for white space, escapes and the order of members.
    guard one != other else { return nil }
    return TextDifference(
      path: "$", byte: 0, left: String(decoding: left, as: UTF8.self), right: String(decoding: right, as: UTF8.self),
      permutation: .parts)
  }

  private static func document(_ bytes: [UInt8]) -> JSON? {
    let first = bytes.first { !" \t\r\n".utf8.contains($0) }
    guard first == UInt8(ascii: "{") || first == UInt8(ascii: "[") else { return nil }
    return try? JSON.parse(bytes)
  }

  private static func between(_ left: JSON, _ right: JSON, path: String, name: String) -> TextDifference? {
    func whole(_ permutation: Permutation? = nil) -> TextDifference {
      TextDifference(name: name, path: path, byte: 0, left: left.text, right: right.text, permutation: permutation)
    }
    switch (left, right) {
    case (.object(let left), .object(let right)):
      for member in left {
        let path =
          member.key.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && !member.key.isEmpty
          ? "\(path).\(member.key)" : "\(path)['\(member.key)']"
        guard let other = right[member.key] else {
          return TextDifference(name: member.key, path: path, byte: 0, left: member.value.text, right: "")
        }
        if let found = between(member.value, other, path: path, name: member.key) { return found }
      }
      guard let added = right.first(where: { left[$0.key] == nil }) else { return nil }
      return TextDifference(name: added.key, path: "\(path).\(added.key)", byte: 0, left: "", right: added.value.text)
    case (.array(let left), .array(let right)):
      if left.count == right.count, left != right, counts(left) == counts(right) { return whole(.parts) }
      for (index, (one, other)) in zip(left, right).enumerated() {
        if let found = between(one, other, path: "\(path)[\(index)]", name: name) { return found }
      }
      guard left.count != right.count else { return nil }
      let index = min(left.count, right.count)
      return TextDifference(
        name: name, path: "\(path)[\(index)]", byte: 0, left: left.count > index ? left[index].text : "",
        right: right.count > index ? right[index].text : "")
    default:
      guard left != right else { return nil }
      var found = whole()
      if hasSameWords(found.left, found.right) { found.permutation = .parts }
      return found
    }
  }

  private static func counts<Element: Hashable>(_ elements: [Element]) -> [Element: Int] {
    elements.reduce(into: [:]) { $0[$1, default: 0] += 1 }
  }

  // MARK: Lines

  private static func lines(_ left: [UInt8], _ right: [UInt8]) -> TextDifference? {
    let all = (lines(of: left), lines(of: right))
    // Lines that both have are left out, wherever they are, so that a changed order hides no changed value.
    var (extra, common) = (counts(all.1), [ArraySlice<UInt8>: Int]())
    var first: (left: Int?, right: Int?)
    for (index, line) in all.0.enumerated() {
      if let count = extra[line], count > 0 {
        extra[line] = count - 1
        common[line, default: 0] += 1
      } else if first.left == nil {
        first.left = index
      }
    }
    for (index, line) in all.1.enumerated() {
      if let count = common[line], count > 0 {
        common[line] = count - 1
      } else {
        first.right = index
        break
      }
    }
    guard first.left != nil || first.right != nil else {
      guard let index = zip(all.0, all.1).enumerated().first(where: { $1.0 != $1.1 })?.offset else { return nil }
      return TextDifference(
        path: "line \(index + 1)", byte: 0, isByLine: true, left: text(all.0[index]), right: text(all.1[index]),
        permutation: .lines)
    }
    let lines = (first.left.map { all.0[$0] } ?? [], first.right.map { all.1[$0] } ?? [])
    let place = "line \((first.left ?? first.right ?? 0) + 1)"
    let texts = (text(lines.0), text(lines.1))
    var found =
      json(Array(lines.0), Array(lines.1))
      ?? TextDifference(
        path: "", byte: 0, left: texts.0, right: texts.1, permutation: hasSameWords(texts.0, texts.1) ? .parts : nil)
    found.path = found.path.isEmpty ? place : "\(place), \(found.path)"
    found.isByLine = true
    if first.left != nil, first.right != nil {
      found.column = zip(texts.0, texts.1).prefix { $0 == $1 }.count + 1
    }
    return found
  }

  private static func lines(of text: [UInt8]) -> [ArraySlice<UInt8>] {
    text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
  }

  private static func text(_ line: ArraySlice<UInt8>) -> String { String(decoding: line, as: UTF8.self) }

  private static func hasSameWords(_ left: String, _ right: String) -> Bool {
    hasSameWords(Array(left.utf8), Array(right.utf8))
  }

  /// Whether both texts consist of the same words, at least two, in another order.
  ///
  /// - Parameters:
  ///   - left: a text.
  ///   - right: another one.
  /// - Returns: true if they do.
  static func hasSameWords(_ left: [UInt8], _ right: [UInt8]) -> Bool {
    let words = [left, right].map { text in
      text.split { " \t\n,;&|{}[]()<>'\"".utf8.contains($0) }.map { Array($0) }
    }
    return words[0].count >= 2 && words[0] != words[1] && counts(words[0]) == counts(words[1])
  }
}

/// A value within a text, with what is around it.
struct Token: Sendable {
  /// Letters and digits with the marks that join them, as in `2018-10-08T09:00:00.5Z`, `0.25s` and `a-1`.
  let word: String
  /// The whole number that contains the difference; nil for any other text.
  let number: String?
  /// The word with all that a path may have before and after it.
  let path: String
  /// The text of the same line before the word, and after it.
  let before: String
  let after: String

  /// Finds the value at a place.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - place: the offset of a byte in UTF-8. The value may also end there.
  init(in text: String, at place: Int) {
    let bytes = Array(text.utf8)
    let place = min(place, bytes.count)
    func expanded(_ belongs: (Int) -> Bool) -> Range<Int> {
      var (start, end) = (place, place)
      while start > 0, belongs(start - 1) { start -= 1 }
      while end < bytes.count, belongs(end) { end += 1 }
      return start..<end
    }
    func part(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }
    let word = expanded { index in
      let byte = bytes[index]
      if byte.isWordByte { return true }
      guard "-_.:+".utf8.contains(byte), index > 0, index + 1 < bytes.count else { return false }
      let neighbours = (bytes[index - 1], bytes[index + 1])
      if byte == UInt8(ascii: ":") { return neighbours.0.isDigitByte && neighbours.1.isDigitByte }
      return neighbours.0.isWordByte && neighbours.1.isWordByte
    }
    let path = expanded { index in bytes[index].isWordByte || "-_.+/~".utf8.contains(bytes[index]) }
    let number = expanded { bytes[$0].isDigitByte }
    self.word = part(word)
    self.path = part(path)
    self.number = number.isEmpty ? nil : part(number)
    let line = bytes[..<word.lowerBound].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    before = part(line..<word.lowerBound)
    after = String(decoding: bytes[word.upperBound...].prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
  }

  /// The values at the first place at which two texts differ.
  static func pair(_ left: String, _ right: String) -> (Token, Token) {
    let place = zip(left.utf8, right.utf8).prefix { $0 == $1 }.count
    return (Token(in: left, at: place), Token(in: right, at: place))
  }
}
