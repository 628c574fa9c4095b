import EnvironmentConfiguration
import HTTPMessages

/// A request without a match, prepared for comparison with many recorded ones.
struct SoughtRequest {
  let method: String
  let target: String
  let upstreamName: String?
  let headers: Headers
  /// The rules, and the criteria that they set for this request.
  let book: RuleBook
  let criteria: Criteria
  /// The whole body, or the beginning of a ``large`` one.
  let body: [UInt8]
  let large: LargeBody?
  /// The path as sent and as compared.
  let path: [UInt8]
  let canonicalPath: [UInt8]
  let query: [UInt8]
  /// The hashes of the query items as written.
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

/// Splits text into words and hashes them, to estimate quickly how much two texts have in common regardless of order.
enum Words {
  /// The number of bytes of a body to consider.
  static let longest = 4096

  /// Whether a byte separates words; letters, digits and non-ASCII bytes do not.
  @inline(__always)
  static func isBetweenWords(_ byte: UInt8) -> Bool {
    !(byte &- 0x30 < 10 || (byte | 0x20) &- 0x61 < 26 || byte >= 0x80)
  }

  /// Calls `body` with the FNV-1a hash of each non-empty word.
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

/// The set of words of a text, to estimate how many another text shares.
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

  /// The approximate number of words in only one of the texts.
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

extension SoughtRequest {
  /// Returns all differences from a recorded request that count for matching.
  ///
  /// - Parameters:
  ///   - interaction: the recorded interaction.
  ///   - number: its index.
  ///   - name: its upstream's name.
  ///   - readBody: reads its body.
  /// - Returns: the differences; empty if both requests are equal.
  func differences(
    from interaction: Interaction, index number: Int, name: String?, readBody: (RecordedBody) throws -> [UInt8]
  ) -> [Difference] {
    do {
      if large != nil || interaction.request.body.length > KeyStream.heldLimit {
        return try rest(from: interaction, name: name) + largeDifferences(from: interaction, index: number)
      }
      let recordedBody = try readBody(interaction.request.body)
      return try recordedBody.withUnsafeBytes { recordedBody in
        try body.withUnsafeBytes { body in
          try differences(
            from: compared(interaction.request, name: name, body: recordedBody), of: interaction, name: name,
            actual: compared(body: body))
        }
      }
    } catch {
      // The other parts are still informative.
      return ((try? rest(from: interaction, name: name)) ?? []) + [
        Difference(.body, "body", recorded: "a body that cannot be read (\(error))", actual: "a body")
      ]
    }
  }

  /// The differences except those of the body.
  private func rest(from interaction: Interaction, name: String?) throws -> [Difference] {
    let empty = UnsafeRawBufferPointer(start: nil, count: 0)
    return try differences(
      from: compared(interaction.request, name: name, body: empty), of: interaction, name: name,
      actual: compared(body: empty))
  }

  /// The differences between two bodies, at least one too large to hold in memory.
  private func largeDifferences(from interaction: Interaction, index: Int) throws -> [Difference] {
    guard criteria.body != .none else { return [] }
    let recorded = interaction.request.body.length
    let actual = large?.length ?? body.count
    guard recorded == actual else {
      return [Difference(.body, "body length", recorded: "\(recorded) bytes", actual: "\(actual) bytes")]
    }
    guard let large, try !large.isSame(index) else { return [] }
    return [Difference(.body, "body", recorded: "\(recorded) bytes", actual: "different content of the same length")]
  }

  /// This request, reduced to the parts that count.
  private func compared(body: UnsafeRawBufferPointer) throws -> ComparedRequest {
    try ComparedRequest(
      method: method, upstream: index(of: upstreamName), target: target, headers: headers, body: body, by: book)
  }

  /// A recorded request, reduced to the parts that count for this one.
  private func compared(
    _ request: RecordedRequest, name: String?, body: UnsafeRawBufferPointer
  ) throws -> ComparedRequest {
    try ComparedRequest(
      method: request.method, upstream: index(of: name), target: RecordedURL(request.url).target,
      headers: request.headers, body: body, by: book, criteria: criteria)
  }

  private func index(of name: String?) -> Int {
    book.upstreams.firstIndex { $0.name == name } ?? -1
  }

  private func differences(
    from recorded: ComparedRequest, of interaction: Interaction, name: String?, actual: ComparedRequest
  ) throws -> [Difference] {
    var differences: [Difference] = []
    if recorded.method != actual.method {
      differences.append(Difference(.method, "method", recorded: recorded.method, actual: actual.method))
    }
    let isElsewhere =
      actual.upstream == nil
      ? recorded.scheme != actual.scheme || recorded.host != actual.host : name != upstreamName
    if isElsewhere { differences.append(Difference(.upstream, "upstream", recorded: name, actual: upstreamName)) }
    if let one = recorded.path, let other = actual.path { differences += Self.pathDifferences(one, other) }
    if let one = recorded.query, let other = actual.query {
      differences += one.differences(from: other, kind: .query, noun: "query item") { .query($0) }
    }
    for (one, other) in zip(recorded.headers, actual.headers) where one.values != other.values {
      differences.append(
        Difference(
          .header, "header `\(one.name)`", recorded: one.values.isEmpty ? nil : one.values.joined(separator: ", "),
          actual: other.values.isEmpty ? nil : other.values.joined(separator: ", "), place: .header(one.name)))
    }
    if RequestVariant.decides(interaction.response.status) {
      // The recorded response depended on these fields.
      for name in RequestVariant.names
      where !criteria.headers.contains(name.lowercased()) && !RequestVariant.isIgnored(name, criteria.ignoredHeaders) {
        let (one, other) = (interaction.request.headers[name], headers[name])
        if one != other { differences.append(Difference(.header, "header `\(name)`", recorded: one, actual: other)) }
      }
    }
    differences += BodyDifferences.between(recorded.body, actual.body)
    let own = book.criteria(
      method: interaction.request.method, upstream: name, path: canonicalPath(of: interaction.request)
    ).applied
    if differences.isEmpty, own != criteria.applied {
      differences.append(
        Difference(.rules, "rules that apply", recorded: Self.numbers(own), actual: Self.numbers(criteria.applied)))
    }
    return differences
  }

  private func canonicalPath(of request: RecordedRequest) -> [UInt8] {
    Array(RecordedURL(request.url).path.utf8).withUnsafeBytes { CanonicalPath.bytes(of: $0) }
  }

  private static func numbers(_ rules: [Int]) -> String {
    rules.isEmpty ? "none" : rules.map { "\($0 + 1)" }.joined(separator: ", ")
  }

  /// Compares by segments if their number is equal and most are the same, otherwise as a whole.
  private static func pathDifferences(_ recorded: [UInt8], _ actual: [UInt8]) -> [Difference] {
    guard recorded != actual else { return [] }
    let slash = UInt8(ascii: "/")
    let left = recorded.split(separator: slash, omittingEmptySubsequences: false)
    let right = actual.split(separator: slash, omittingEmptySubsequences: false)
    let changed = zip(left, right).enumerated().filter { !$1.0.elementsEqual($1.1) }
    guard left.count == right.count, changed.count * 2 <= left.count else {
      return [Difference(.path, "path", recorded: Self.text(recorded), actual: Self.text(actual))]
    }
    return changed.map { number, pair in
      Difference(
        .path, "path segment \(number)", recorded: Self.text(Array(pair.0)), actual: Self.text(Array(pair.1)),
        place: .segment(number))
    }
  }

  private static func text(_ bytes: [UInt8]) -> String {
    String(decoding: bytes, as: UTF8.self)
  }
}
