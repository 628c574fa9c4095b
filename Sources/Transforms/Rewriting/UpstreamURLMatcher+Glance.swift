#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension UpstreamURLMatcher {
  /// A quick check of a whole text: false means that it contains no address.
  ///
  /// An address contains slashes in some spelling, and the letters and digits of its host literally.
  package func mayOccur(in text: UnsafeRawBufferPointer) -> Bool {
    guard !candidates.isEmpty, Self.hasDelimiter(text) else { return false }
    return words.contains { $0.first(in: text, from: 0) != nil }
  }

  /// The longest run of letters and digits of each authority.
  static func words(of candidates: [Candidate]) -> [AddressWord] {
    var words: [AddressWord] = []
    for candidate in candidates {
      let rows = candidate.authority.split { !AddressByte.isAlphanumeric($0) }
      guard let longest = rows.max(by: { $0.count < $1.count }) else { return [AddressWord([])] }
      if !words.contains(where: { $0.bytes.elementsEqual(longest) }) { words.append(AddressWord(Array(longest))) }
    }
    return words
  }

  /// Whether the text contains a `/` or the first byte of any other spelling of it.
  private static func hasDelimiter(_ text: UnsafeRawBufferPointer) -> Bool {
    guard let start = text.baseAddress else { return false }
    // memchr examines many bytes at a time.
    func has(_ byte: UInt8) -> Bool { memchr(start, Int32(byte), text.count) != nil }
    return has(AddressByte.slash) || has(AddressByte.backslash) || has(AddressByte.percent) || has(UInt8(ascii: "&"))
  }
}

/// A word of lower-case letters and digits that is part of an address, with a fast search for it.
struct AddressWord: Sendable {
  let bytes: [UInt8]
  /// The offsets of its two rarest bytes, in ascending order; equal for a word of one byte.
  private let offsets: (Int, Int)
  /// Each of the two bytes, repeated eight times.
  private let patterns: (UInt64, UInt64)

  private static let ones: UInt64 = 0x0101_0101_0101_0101
  private static let highBits: UInt64 = 0x8080_8080_8080_8080
  private static let caseBits: UInt64 = 0x2020_2020_2020_2020
  /// Most frequent in texts first.
  private static let byFrequency = Array("etaoinsrhldcum0fpg1wy2bv3456789kxjqz".utf8)

  init(_ bytes: [UInt8]) {
    self.bytes = bytes
    let rarest = bytes.indices.sorted {
      (Self.byFrequency.firstIndex(of: bytes[$0]) ?? 0) > (Self.byFrequency.firstIndex(of: bytes[$1]) ?? 0)
    }
    let one = rarest.first ?? 0
    let two = rarest.dropFirst().first ?? one
    offsets = (min(one, two), max(one, two))
    patterns = bytes.isEmpty ? (0, 0) : (UInt64(bytes[offsets.0]) &* Self.ones, UInt64(bytes[offsets.1]) &* Self.ones)
  }

  /// The first occurrence of the word, ignoring case. An empty word occurs everywhere.
  ///
  /// - Parameters:
  ///   - text: the text to search.
  ///   - start: the index at which to begin.
  /// - Returns: the index of the first byte, or nil if the word does not occur.
  func first(in text: UnsafeRawBufferPointer, from start: Int) -> Int? {
    guard let base = text.baseAddress, start + bytes.count <= text.count else { return nil }
    guard !bytes.isEmpty else { return start < text.count ? start : nil }
    let last = text.count - bytes.count
    return bytes.withUnsafeBufferPointer { word in
      var index = start
      // Compares eight positions at a time; a byte of `differing` is 0 if both rarest bytes match. Setting the case bit
      // changes no digit. It can turn other bytes into letters or digits; the full comparison rejects these.
      while index + offsets.1 + 8 <= text.count {
        let one = base.loadUnaligned(fromByteOffset: index + offsets.0, as: UInt64.self)
        let two = base.loadUnaligned(fromByteOffset: index + offsets.1, as: UInt64.self)
        let differing =
          ((UInt64(littleEndian: one) | Self.caseBits) ^ patterns.0)
          | ((UInt64(littleEndian: two) | Self.caseBits) ^ patterns.1)
        // The lowest bit set always marks a match; higher ones may be false.
        var found = (differing &- Self.ones) & ~differing & Self.highBits
        while found != 0 {
          let place = index + found.trailingZeroBitCount / 8
          if place <= last, Self.stands(word, at: place, in: text) { return place }
          found &= found &- 1
        }
        index += 8
      }
      while index <= last {
        if Self.stands(word, at: index, in: text) { return index }
        index += 1
      }
      return nil
    }
  }

  @inline(__always)
  private static func stands(
    _ word: UnsafeBufferPointer<UInt8>, at start: Int, in text: UnsafeRawBufferPointer
  ) -> Bool {
    for offset in 0..<word.count where text[start + offset] | 0x20 != word[offset] { return false }
    return true
  }
}

/// Finds the occurrences of several words in a text, in ascending order.
struct AddressWordSearch {
  private let words: [AddressWord]
  private let text: UnsafeRawBufferPointer
  /// The next occurrence of each word; the text's count if there is none.
  private var places: [Int]

  init(_ words: [AddressWord], in text: UnsafeRawBufferPointer) {
    self.words = words
    self.text = text
    places = words.map { $0.first(in: text, from: 0) ?? text.count }
  }

  /// The first occurrence at or after `start`, or nil.
  mutating func next(from start: Int) -> Int? {
    var nearest = text.count
    for number in words.indices {
      if places[number] < start { places[number] = words[number].first(in: text, from: start) ?? text.count }
      nearest = min(nearest, places[number])
    }
    return nearest < text.count ? nearest : nil
  }
}
