/// A line of a feature file in UTF-8, without its end.
struct SourceLine {
  /// From 1.
  let number: Int
  /// The whole line.
  let all: ArraySlice<UInt8>
  /// The line without white space around it.
  let body: ArraySlice<UInt8>
  /// The white space before the body, in Unicode scalars.
  let indent: Int

  init(_ all: ArraySlice<UInt8>, number: Int) {
    self.number = number
    self.all = all
    let rest = all.withoutLeadingSpace
    body = rest.withoutTrailingSpace
    indent = all[..<rest.startIndex].scalarCount
  }

  var isEmpty: Bool { body.isEmpty }

  /// The place of the body.
  var location: Location { Location(line: number, column: indent + 1) }

  /// The body after a number of bytes, without white space around it.
  func rest(after count: Int) -> ArraySlice<UInt8> {
    all[(body.startIndex + count)...].withoutLeadingSpace.withoutTrailingSpace
  }

  /// The line without some of its leading white space; if it has less, without any.
  func text(removing count: Int) -> ArraySlice<UInt8> {
    guard count <= indent else { return all[body.startIndex...] }
    var index = all.startIndex
    for _ in 0..<count { index += all[index...].leadingSpaceLength }
    return all[index...]
  }

  /// Splits a text into lines. An empty one at the end, after the last end of line, does not count.
  static func lines(of text: String) -> [SourceLine] {
    var bytes = Array(text.utf8)[...]
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) { bytes = bytes.dropFirst(3) }
    var lines: [SourceLine] = []
    var start = bytes.startIndex
    while start < bytes.endIndex {
      let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.endIndex
      var line = bytes[start..<end]
      while line.last == UInt8(ascii: "\r") { line.removeLast() }
      lines.append(SourceLine(line, number: lines.count + 1))
      start = end + 1
    }
    return lines
  }
}

// White space is what has the Unicode property White_Space.
extension ArraySlice<UInt8> {
  /// The text.
  var string: String { String(decoding: self, as: UTF8.self) }

  /// The number of Unicode scalars.
  var scalarCount: Int {
    var count = 0
    for byte in self where byte & 0xC0 != 0x80 { count += 1 }
    return count
  }

  /// The length of the white space scalar at the start; 0 if there is another, or nothing.
  var leadingSpaceLength: Int {
    guard let first else { return 0 }
    if first < 0x80 { return first.isASCIISpace ? 1 : 0 }
    if count >= 2, isSpace(first, self[startIndex + 1]) { return 2 }
    return count >= 3 && isSpace(first, self[startIndex + 1], self[startIndex + 2]) ? 3 : 0
  }

  /// The length of the white space scalar at the end; 0 if there is another, or nothing.
  var trailingSpaceLength: Int {
    guard let last else { return 0 }
    if last < 0x80 { return last.isASCIISpace ? 1 : 0 }
    if count >= 2, isSpace(self[endIndex - 2], last) { return 2 }
    return count >= 3 && isSpace(self[endIndex - 3], self[endIndex - 2], last) ? 3 : 0
  }

  var withoutLeadingSpace: ArraySlice<UInt8> {
    var slice = self
    while case let length = slice.leadingSpaceLength, length > 0 { slice.removeFirst(length) }
    return slice
  }

  var withoutTrailingSpace: ArraySlice<UInt8> {
    var slice = self
    while case let length = slice.trailingSpaceLength, length > 0 { slice.removeLast(length) }
    return slice
  }

  /// U+0085, U+00A0.
  private func isSpace(_ first: UInt8, _ second: UInt8) -> Bool {
    first == 0xC2 && (second == 0x85 || second == 0xA0)
  }

  /// U+1680, U+2000…200A, U+2028, U+2029, U+202F, U+205F, U+3000.
  private func isSpace(_ first: UInt8, _ second: UInt8, _ third: UInt8) -> Bool {
    switch (first, second, third) {
    case (0xE2, 0x80, 0x80...0x8A), (0xE2, 0x80, 0xA8), (0xE2, 0x80, 0xA9), (0xE2, 0x80, 0xAF), (0xE2, 0x81, 0x9F),
      (0xE1, 0x9A, 0x80), (0xE3, 0x80, 0x80):
      true
    default: false
    }
  }
}

extension UInt8 {
  fileprivate var isASCIISpace: Bool { self == 0x20 || (0x09...0x0D).contains(self) }
}

extension String {
  /// Replaces each occurrence of the same bytes. (The standard library's `replacing` compares whole characters: with an
  /// accent after it, `>` is another.)
  func replacing(bytes target: [UInt8], with replacement: String) -> String {
    guard let first = target.first, utf8.contains(first) else { return self }
    let bytes = Array(utf8)
    var result: [UInt8] = []
    var index = 0
    while index < bytes.count {
      if bytes[index] == first, bytes[index...].starts(with: target) {
        result += replacement.utf8
        index += target.count
      } else {
        result.append(bytes[index])
        index += 1
      }
    }
    return String(decoding: result, as: UTF8.self)
  }
}
