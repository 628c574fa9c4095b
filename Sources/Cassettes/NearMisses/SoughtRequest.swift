import HTTPMessages

/// A request for which the recorded ones nearest to it are sought, prepared for being compared with many.
struct SoughtRequest {
  let method: String
  let target: String
  let upstreamName: String?
  let headers: Headers
  /// The rules, and what counts by them.
  let book: RuleBook
  let criteria: Criteria
  /// All of it, or the beginning of what is ``large``.
  let body: [UInt8]
  let large: LargeBody?
  /// The path as sent, and as it is compared.
  let path: [UInt8]
  let canonicalPath: [UInt8]
  let query: [UInt8]
  /// The hashes of the query's items as they are written.
  let queryHashes: [UInt64]
  let bodyWords: WordFilter

  init(
    method: String, target: String, upstreamName: String?, headers: Headers, body: [UInt8], large: LargeBody? = nil,
    book: RuleBook
  ) {
    self.method = method
    self.target = String(target.prefix { $0 != "#" })
    self.upstreamName = upstreamName
    self.headers = headers
    self.book = book
    self.body = body
    self.large = large
    let target = Array(target.utf8.prefix { $0 != UInt8(ascii: "#") })
    let mark = target.firstIndex(of: UInt8(ascii: "?")) ?? target.count
    path = mark == 0 ? [UInt8(ascii: "/")] : Array(target[..<mark])
    query = Array(target[mark...].dropFirst())
    canonicalPath = path.withUnsafeBytes { CanonicalPath.bytes(of: $0) }
    criteria = book.criteria(method: method, upstream: upstreamName, path: canonicalPath)
    var hashes: [UInt64] = []
    query.withUnsafeBytes { query in
      Words.forEach(in: query, isDelimiter: { $0 == UInt8(ascii: "&") }) { hashes.append($0) }
    }
    queryHashes = hashes
    bodyWords = body.withUnsafeBytes { WordFilter($0) }
  }
}

/// Pieces of a text by their hashes: for finding quickly, and only roughly, how much two texts have in common, whatever
/// the order of their parts.
enum Words {
  /// Bodies are looked at up to here.
  static let longest = 4096

  /// Letters, digits, and what is no ASCII, hold a word together.
  @inline(__always)
  static func isBetweenWords(_ byte: UInt8) -> Bool {
    !(byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || byte >= 0x80)
  }

  /// Calls `body` with the FNV-1a hash of each piece that is not empty.
  @inline(__always)
  static func forEach(
    in text: UnsafeRawBufferPointer, isDelimiter: (UInt8) -> Bool, _ body: (UInt64) -> Void
  ) {
    let empty: UInt64 = 0xCBF2_9CE4_8422_2325
    var hash = empty
    for byte in text {
      if isDelimiter(byte) {
        if hash != empty { body(hash) }
        hash = empty
      } else {
        hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
      }
    }
    if hash != empty { body(hash) }
  }
}

/// The words of one text, to count those that another has too.
struct WordFilter {
  private var bits = [UInt64](repeating: 0, count: 256)
  private var count = 0

  init(_ text: UnsafeRawBufferPointer) {
    Words.forEach(in: UnsafeRawBufferPointer(rebasing: text.prefix(Words.longest)), isDelimiter: Words.isBetweenWords) {
      let place = Self.place(of: $0)
      bits[place / 64] |= 1 << UInt64(place % 64)
      count += 1
    }
  }

  /// About how many words one of both texts has and the other has not.
  func distance(to text: UnsafeRawBufferPointer) -> Int {
    var common = 0
    var other = 0
    Words.forEach(in: UnsafeRawBufferPointer(rebasing: text.prefix(Words.longest)), isDelimiter: Words.isBetweenWords) {
      let place = Self.place(of: $0)
      if bits[place / 64] >> UInt64(place % 64) & 1 == 1 { common += 1 } else { other += 1 }
    }
    return max(0, count - common) + other
  }

  private static func place(of hash: UInt64) -> Int {
    Int(truncatingIfNeeded: (hash ^ hash >> 29) & 0x3FFF)
  }
}
