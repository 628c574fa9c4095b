/// Finds known secrets, literally and in every encoding in which texts may contain them.
///
/// Secrets of fewer than four bytes are ignored, because they would match everywhere.
package struct SecretScanner: Sendable {
  static let shortest = 4

  /// Longest first, because a secret may begin with another one.
  private let needles: [SecretNeedle]
  /// For each byte, the indices of the needles that may begin with it.
  private let beginning: [[Int]]
  /// A bitmap of the byte pairs that a needle may begin with. It rules out most positions without a closer look.
  private let pairs: [UInt64]
  /// The length in bytes of the longest spelling of any secret.
  let longest: Int
  /// Whether a secret could be written as a number in JSON.
  let hasNumeric: Bool

  init(_ secrets: [(bytes: [UInt8], mark: RedactionMark)]) {
    let secrets = secrets.filter { $0.bytes.count >= Self.shortest }
    var needles = secrets.flatMap { secret in
      ([secret.bytes] + Base64Forms.all(of: secret.bytes)).map { ($0, secret.mark) }
    }.sorted { $0.0.count > $1.0.count }.map { SecretNeedle($0.0, mark: $0.1) }
    if !needles.isEmpty {
      // A secret may be a word that occurs in a mark. Marks must not change when redacted text is redacted again.
      var marks: [String] = []
      for mark in [.plain] + secrets.map(\.mark) where !marks.contains(mark.text) { marks.append(mark.text) }
      needles = marks.map { SecretNeedle(Array($0.utf8), mark: nil) } + needles
    }
    var beginning = [[Int]](repeating: [], count: 256)
    var pairs = [UInt64](repeating: 0, count: 1024)
    for (index, needle) in needles.enumerated() {
      needle.forEachFirstPair { first, second in
        if beginning[Int(first)].last != index { beginning[Int(first)].append(index) }
        let pair = Int(first) << 8 | Int(second)
        pairs[pair >> 6] |= 1 << UInt64(pair & 63)
      }
    }
    self.needles = needles
    self.beginning = beginning
    self.pairs = pairs
    longest = needles.map(\.longest).max() ?? 0
    hasNumeric = needles.contains { $0.mark != nil && $0.isNumeric }
  }

  var isEmpty: Bool { needles.isEmpty }

  /// The result of scanning part of a text.
  struct Found {
    /// The scanned bytes with marks, or nil if no secret was found.
    var output: [UInt8]?
    /// The end of the scanned bytes.
    var end: Int
  }

  /// Looks for secrets that begin before `limit`.
  ///
  /// - Parameters:
  ///   - bytes: the text.
  ///   - limit: secrets that begin here or later are not looked for.
  ///   - spelling: how to write marks.
  /// - Returns: the scanned part, with marks in place of secrets.
  func scan(_ bytes: UnsafeBufferPointer<UInt8>, until limit: Int, _ spelling: RedactionMark.Spelling) -> Found {
    guard !needles.isEmpty, bytes.count >= Self.shortest else { return Found(output: nil, end: limit) }
    var output: [UInt8]?
    var copied = 0
    var position = 0
    // Plain loops over raw memory, because every recorded byte passes here.
    pairs.withUnsafeBufferPointer { pairs in
      let last = min(limit, bytes.count - 1)
      while position < last {
        let pair = Int(bytes[position]) << 8 | Int(bytes[position + 1])
        guard pairs[pair >> 6] >> UInt64(pair & 63) & 1 == 1, let found = match(in: bytes, from: position) else {
          position += 1
          continue
        }
        if let mark = found.mark {
          output = output ?? []
          output?.append(contentsOf: bytes[copied..<position])
          output?.append(contentsOf: mark.spelled(spelling, length: found.end - position).utf8)
          copied = found.end
        }
        position = found.end
      }
    }
    let end = max(position, limit)
    if output != nil { output?.append(contentsOf: bytes[copied..<end]) }
    return Found(output: output, end: end)
  }

  /// Replaces all secrets with marks. Returns nil if no secret was found.
  func redact(_ bytes: [UInt8], _ spelling: RedactionMark.Spelling = .plain) -> [UInt8]? {
    bytes.withUnsafeBufferPointer { scan($0, until: $0.count, spelling).output }
  }

  /// Replaces all secrets in a text with marks.
  package func redact(_ text: String, _ spelling: RedactionMark.Spelling = .plain) -> String {
    var text = text
    return text.withUTF8 { scan($0, until: $0.count, spelling).output.map { String(decoding: $0, as: UTF8.self) } }
      ?? text
  }

  private func match(in bytes: UnsafeBufferPointer<UInt8>, from position: Int) -> (end: Int, mark: RedactionMark?)? {
    let candidates = beginning[Int(bytes[position])]
    var index = 0
    while index < candidates.count {
      let needle = needles[candidates[index]]
      if let end = needle.end(in: bytes, from: position) { return (end, needle.mark) }
      index += 1
    }
    return nil
  }
}

/// Redacts known secrets in a body while it streams. The result does not depend on how the body is split into chunks;
/// at most the length of one secret is held back.
struct SecretStream {
  let scanner: SecretScanner
  let spelling: RedactionMark.Spelling
  private(set) var hasFound = false
  private var held: [UInt8] = []

  init(_ scanner: SecretScanner, _ spelling: RedactionMark.Spelling) {
    self.scanner = scanner
    self.spelling = spelling
  }

  mutating func push(_ chunk: [UInt8], isLast: Bool = false) -> [UInt8] {
    let text = held.isEmpty ? chunk : held + chunk
    let limit = isLast ? text.count : text.count - scanner.longest
    guard limit > 0 else {
      held = text
      return []
    }
    let found = text.withUnsafeBufferPointer { scanner.scan($0, until: limit, spelling) }
    held = found.end == text.count ? [] : Array(text[found.end...])
    if found.output != nil { hasFound = true }
    return found.output ?? (held.isEmpty ? text : Array(text[..<found.end]))
  }
}
