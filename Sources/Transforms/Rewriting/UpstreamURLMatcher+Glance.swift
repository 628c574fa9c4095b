#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension UpstreamURLMatcher {
  /// Whether it is worth while to look closer at a whole text, told fast: false means that no address is in it.
  ///
  /// An address has slashes, in some way of writing them, and the letters and digits of its host as they are.
  package func mayOccur(in text: UnsafeRawBufferPointer) -> Bool {
    guard !candidates.isEmpty, Self.hasDelimiter(text) else { return false }
    return words.contains { Self.contains($0, in: text) }
  }

  /// The longest row of letters and digits of each authority.
  static func words(of candidates: [Candidate]) -> [[UInt8]] {
    var words: [[UInt8]] = []
    for candidate in candidates {
      let rows = candidate.authority.split { !AddressByte.isAlphanumeric($0) }
      guard let longest = rows.max(by: { $0.count < $1.count }) else { return [[]] }
      if !words.contains(Array(longest)) { words.append(Array(longest)) }
    }
    return words
  }

  /// Whether there is a `/`, or what any other way of writing it begins with.
  private static func hasDelimiter(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let start = text.baseAddress else { return false }
    // The C library looks at many bytes at a time.
    func has(_ byte: UInt8) -> Bool { memchr(start, Int32(byte), text.count) != nil }
    return has(AddressByte.slash) || has(AddressByte.backslash) || has(AddressByte.percent) || has(UInt8(ascii: "&"))
  }

  /// Whether a word of lower case and digits is in a text, without regard to case.
  private static func contains(_ word: [UInt8], in text: UnsafeRawBufferPointer) -> Bool {
    guard let first = word.first, let last = word.last else { return true }
    guard text.count >= word.count else { return false }
    let distance = word.count - 1
    var index = 0
    while index + distance < text.count {
      // To set the bit changes no digit, and of what becomes a letter or digit so, the rest decides.
      if text[index] | 0x20 == first, text[index + distance] | 0x20 == last,
        word.indices.allSatisfy({ text[index + $0] | 0x20 == word[$0] })
      {
        return true
      }
      index += 1
    }
    return false
  }
}
