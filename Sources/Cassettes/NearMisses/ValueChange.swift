import Basics
import Foundation

/// Why two values differ although they mean the same: such a value differs in every run, or was redacted.
package enum ValueChange: String, Sendable, CaseIterable {
  /// A time or date that moved as far as a clock.
  case instant
  case uuid
  /// Another random text, such as a nonce, a session id or an idempotency key.
  case nonce
  /// A number that counts up.
  case counter
  /// A signature or checksum, or a JSON Web Token whose claims differ only by values such as these.
  case signature
  /// A secret that was replaced by a mark in the recording.
  case redacted

  /// The times of a recorded message and of a new one by the same clock, in seconds since 1970.
  package struct Readings: Sendable {
    package var recorded: Double
    package var actual: Double

    package init(recorded: Double, actual: Double) {
      self.recorded = recorded
      self.actual = actual
    }
  }

  /// Classifies a difference.
  ///
  /// Where a text contains several values, all that differ have to be of a known kind.
  ///
  /// ```swift
  /// ValueChange.between("7f3c…", "91ab…", named: "nonce", by: [])  // .nonce
  /// ```
  ///
  /// - Parameters:
  ///   - recorded: the recorded value. It may end with an ellipsis, like the other one.
  ///   - actual: the new value.
  ///   - name: the name of the member, item or field; empty for none.
  ///   - clocks: what clocks showed; a time has to have moved as far as one of them.
  /// - Returns: the first kind found; nil if the values mean different things.
  package static func between(
    _ recorded: String, _ actual: String, named name: String, by clocks: [Readings]
  ) -> ValueChange? {
    guard recorded != actual else { return nil }
    return whole(recorded, actual, named: name, by: clocks)
      ?? TextChange.all(from: recorded, to: actual, named: name, by: clocks)?.first?.kind
  }

  /// Classifies two values that are not texts of several.
  static func whole(
    _ recorded: String, _ actual: String, named name: String, by clocks: [Readings], depth: Int = 0
  ) -> ValueChange? {
    guard !recorded.isEmpty, !actual.isEmpty else { return nil }
    if isMark(recorded) || isMark(actual) { return .redacted }
    if isUUID(recorded), isUUID(actual) { return .uuid }
    if InstantReading.follow(recorded, actual, clocks) { return .instant }
    let meaning = NameMeaning(name)
    if meaning == .counter || meaning == .nonce, let one = digits(recorded), let other = digits(actual) {
      if other > one { return .counter }
      if meaning == .counter { return nil }
    }
    if let isSigned = token(recorded, actual, clocks, depth) { return isSigned ? .signature : nil }
    if meaning == .signature, isDigest(recorded), isDigest(actual) { return .signature }
    return isRandom(recorded, actual, meaning) ? .nonce : nil
  }

  /// Whether a text has the mark of a redacted secret, which ``RedactionMark`` in `Transforms` writes.
  private static func isMark(_ text: String) -> Bool {
    guard let start = text.firstRange(of: "<redacted")?.upperBound else { return false }
    return text[start...].first == ">" || text[start...].first == ":" && text[start...].contains(">")
  }

  /// `550e8400-e29b-41d4-a716-446655440000`, also in braces or as a URN.
  private static func isUUID(_ text: String) -> Bool {
    var bytes = Array(text.utf8)
    if bytes.first == UInt8(ascii: "{"), bytes.last == UInt8(ascii: "}") { bytes = Array(bytes.dropFirst().dropLast()) }
    if bytes.starts(with: "urn:uuid:".utf8) { bytes.removeFirst(9) }
    return bytes.count == 36
      && bytes.indices.allSatisfy { index in
        [8, 13, 18, 23].contains(index) ? bytes[index] == UInt8(ascii: "-") : isHexDigit(bytes[index])
      }
  }

  /// A whole number of up to 15 digits.
  private static func digits(_ text: String) -> Int? {
    text.utf8.count <= 15 && text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) ? Int(text) : nil
  }

  private static func isHexDigit(_ byte: UInt8) -> Bool {
    0x30...0x39 ~= byte || 0x41...0x46 ~= byte || 0x61...0x66 ~= byte
  }

  // MARK: Signatures

  /// For two JSON Web Tokens, whether all claims that differ are of a known kind; nil if they are something else.
  private static func token(_ recorded: String, _ actual: String, _ clocks: [Readings], _ depth: Int) -> Bool? {
    guard depth == 0, let one = claims(recorded), let other = claims(actual) else { return nil }
    let differences = JSONDifferences(recorded: one, actual: other).differences
    return differences.allSatisfy { difference in
      guard let place = difference.place, let values = difference.values else { return false }
      return place.name == "jti"
        || whole(values.recorded, values.actual, named: place.name, by: clocks, depth: 1) != nil
    }
  }

  /// The claims of a JSON Web Token (RFC 7519); null if they cannot be read, nil if the text is no token.
  private static func claims(_ text: String) -> JSON? {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count >= 2, let header = json(parts[0]), header["alg"] != nil else { return nil }
    return json(parts[1]) ?? .null
  }

  private static func json(_ part: Substring) -> JSON? {
    guard part.utf8.count < 4000 else { return nil }
    let standard = part.replacing("-", with: "+").replacing("_", with: "/")
    let padded = standard + String(repeating: "=", count: (4 - standard.utf8.count % 4) % 4)
    return Data(base64Encoded: String(padded)).flatMap { try? JSON.parse([UInt8]($0)) }
  }

  /// Hexadecimal of at least 32 digits or Base64 of at least 20 characters, also after `sha256=`.
  private static func isDigest(_ text: String) -> Bool {
    let value =
      text.split(separator: "=", maxSplits: 1).count == 2 && text.utf8.last != UInt8(ascii: "=")
      ? text.drop { $0 != "=" }.dropFirst() : text[...]
    return value.utf8.count >= 32 && value.utf8.allSatisfy(isHexDigit)
      || value.utf8.count >= 20 && value.utf8.allSatisfy(isTokenByte)
  }

  // MARK: Random texts

  /// Whether both texts look random, by what the name suggests.
  ///
  /// In random text, digits alternate with letters and case changes often; in words and numbers they do not.
  private static func isRandom(_ recorded: String, _ actual: String, _ meaning: NameMeaning?) -> Bool {
    var (one, other) = (Array(recorded.utf8), Array(actual.utf8))
    // Truncated values end with an ellipsis.
    if one.suffix(3).elementsEqual("…".utf8), other.suffix(3).elementsEqual("…".utf8) {
      one.removeLast(3)
      other.removeLast(3)
    }
    guard meaning != .content, one.allSatisfy(isTokenByte), other.allSatisfy(isTokenByte) else { return false }
    // A constant beginning such as `sess-` says nothing.
    var start = 0
    for (index, byte) in one.enumerated() where index < other.count {
      guard byte == other[index] else { break }
      if "-_.".utf8.contains(byte) { start = index + 1 }
    }
    let texts = [one.dropFirst(start), other.dropFirst(start)]
    if meaning == .nonce {
      return texts.allSatisfy { text in text.count >= 6 && text.contains { 0x30...0x39 ~= $0 } }
    }
    guard texts[0].count == texts[1].count || meaning != nil else { return false }
    return texts.allSatisfy { text in
      let letters = text.count { 0x41...0x5A ~= $0 || 0x61...0x7A ~= $0 }
      let digits = text.count { 0x30...0x39 ~= $0 }
      let changes = zip(text, text.dropFirst()).count { isChange($0, $1) }
      // A long random text may have no digits, but unlike words in one, it has capitals side by side.
      let capitals = zip(text, text.dropFirst()).count { 0x41...0x5A ~= $0 && 0x41...0x5A ~= $1 }
      if meaning == .random, text.count >= 20, digits + capitals >= 2, changes * 6 >= text.count { return true }
      guard letters >= 2, digits >= 2 else { return false }
      if meaning != .random, text.count >= 16, letters >= 3, digits >= 3, text.allSatisfy(isHexDigit) { return true }
      return meaning == .random
        ? text.count >= 8 && changes * 5 >= text.count : text.count >= 16 && changes * 10 >= text.count * 3
    }
  }

  /// Whether a letter follows a digit, a digit a letter, or a capital a small letter.
  private static func isChange(_ byte: UInt8, _ next: UInt8) -> Bool {
    func kind(_ byte: UInt8) -> Int { 0x30...0x39 ~= byte ? 0 : 0x61...0x7A ~= byte ? 1 : 0x41...0x5A ~= byte ? 2 : 3 }
    return switch (kind(byte), kind(next)) {
    case (0, 1), (0, 2), (1, 0), (2, 0), (1, 2): true
    default: false
    }
  }

  private static func isTokenByte(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
    default: "-_.~+/=".utf8.contains(byte)
    }
  }
}

/// What a name says about a value that differs.
private enum NameMeaning {
  /// Any other value is meaningless.
  case nonce
  /// Often random, but not always.
  case random
  case counter
  case signature
  /// Says what the app asks for, however random it looks.
  case content

  init?(_ name: String) {
    // Case and separators make no difference; `_` alone defeats caches.
    let word = name == "_" ? "_" : String(name.lowercased().filter { $0.isLetter || $0.isNumber }.prefix(100))
    if Self.contents.contains(where: { word.contains($0) }) {
      self = .content
    } else if Self.counters.contains(word) {
      self = .counter
    } else if Self.nonces.contains(word) || word.hasSuffix("nonce") {
      self = .nonce
    } else if Self.signatures.contains(word) || word.hasSuffix("signature") || word.hasSuffix("hmac") {
      self = .signature
    } else if Self.randoms.contains(where: { word.hasSuffix($0) }) {
      self = .random
    } else {
      return nil
    }
  }

  private static let nonces: Set = [
    "_", "nonce", "salt", "iv", "csrf", "xsrf", "csrftoken", "xsrftoken", "rand", "random", "rnd", "cb", "cachebuster",
    "idempotencykey", "requestid", "correlationid", "traceid", "spanid", "traceparent", "challenge", "jti",
  ]
  private static let counters: Set = [
    "seq", "seqno", "seqnum", "seqnr", "sequence", "sequenceno", "sequencenumber", "counter", "tick", "ticks",
    "requestnumber", "requestno", "messagenumber", "rid", "jsonrpcid",
  ]
  private static let signatures: Set = ["sig", "sign", "mac"]
  private static let contents = [
    "page", "cursor", "continuation", "hash", "digest", "checksum", "md5", "sha1", "sha256", "etag", "commit",
    "version",
    "revision",
  ]
  private static let randoms = [
    "token", "state", "session", "sessionid", "sid", "verifier", "boundary", "deviceid", "installationid",
    "transactionid", "email", "mail",
  ]
}

/// A time as read from a text.
private struct InstantReading {
  let seconds: Double
  /// The largest unit in seconds that divides it: a day, an hour, a minute, or 1 for anything else.
  let grain: Double
  /// Whether the text is a mere number, which is a time only near a clock's.
  let isNumber: Bool

  /// Whether a time moved as far as one of the clocks.
  static func follow(_ recorded: String, _ actual: String, _ clocks: [ValueChange.Readings]) -> Bool {
    guard !clocks.isEmpty, let one = InstantReading(recorded), let other = InstantReading(actual) else { return false }
    let grain = min(one.grain, other.grain)
    return clocks.contains { clock in
      let passed = abs(clock.actual - clock.recorded)
      // Whole minutes, hours and days follow a clock in steps; other times as fast as the app is.
      let tolerance = grain == 1 ? 600 : passed >= grain ? grain : grain / 2
      let isNear = !one.isNumber || abs(one.seconds - clock.recorded) < 400 * 86_400
      return isNear
        && abs(other.seconds - one.seconds - (clock.actual - clock.recorded)) < tolerance
    }
  }

  init?(_ text: String) {
    guard text.utf8.count <= 40, let value = Self.seconds(of: text) else { return nil }
    (seconds, isNumber) = value
    grain = [86_400.0, 3_600, 60].first { value.0.truncatingRemainder(dividingBy: $0) == 0 } ?? 1
  }

  private static func seconds(of text: String) -> (Double, isNumber: Bool)? {
    if let instant = Instant(text) ?? Instant(text + "T00:00:00Z") ?? compact(text) ?? http(text) {
      return (Double(instant.seconds) + Double(instant.nanoseconds) / 1e9, false)
    }
    let digits = text.prefix { $0.isASCII && $0.isNumber }.count
    guard let value = Double(text), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 || $0 == UInt8(ascii: ".") }) else {
      return nil
    }
    return switch digits {
    case 9...11: (value, true)
    case 12...14: (value / 1e3, true)
    case 15...17: (value / 1e6, true)
    case 18...20: (value / 1e9, true)
    default: nil
    }
  }

  /// `20181008T090000Z`, or `20181008`.
  private static func compact(_ text: String) -> Instant? {
    let bytes = Array(text)
    guard bytes.count == 8 || bytes.count >= 15 && bytes[8] == "T" else { return nil }
    let day = "\(String(bytes[..<4]))-\(String(bytes[4..<6]))-\(String(bytes[6..<8]))"
    guard bytes.count >= 15 else { return Instant("\(day)T00:00:00Z") }
    return Instant("\(day)T\(String(bytes[9..<11])):\(String(bytes[11..<13])):\(String(bytes[13...]))")
  }

  /// `Mon, 08 Oct 2018 09:00:00 GMT` (RFC 9110, 5.6.7).
  private static func http(_ text: String) -> Instant? {
    let words = text.split(separator: " ")
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard words.count == 6, words[0].hasSuffix(","), words[5] == "GMT", words[1].count == 2,
      let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    return Instant("\(words[3])-\(month < 9 ? "0" : "")\(month + 1)-\(words[1])T\(words[4])Z")
  }
}

/// A value that differs within a text.
struct TextChange {
  let kind: ValueChange
  /// The equal text just before it, from the line's beginning or the difference before; shortened.
  let before: String
  let recorded: String
  let actual: String

  /// The maximum size of texts to compare, and the maximum number of differences.
  private static let longest = 256 << 10
  private static let most = 20
  private static let longestBefore = 24
  /// What separates values.
  static let separators = Array(" \t\r\n\"'`<>,;@&=?/|()[]{}#".utf8)

  /// Finds the values that differ.
  ///
  /// - Parameters:
  ///   - recorded: the recorded text.
  ///   - actual: the new text.
  ///   - name: the name of the whole text.
  ///   - clocks: what clocks showed.
  /// - Returns: the changes in order; nil if the texts differ in anything else.
  static func all(
    from recorded: String, to actual: String, named name: String, by clocks: [ValueChange.Readings]
  ) -> [TextChange]? {
    let (one, other) = (Array(recorded.utf8), Array(actual.utf8))
    guard one.count <= longest, other.count <= longest else { return nil }
    var changes: [TextChange] = []
    var (left, right) = (0, 0)
    // The end of the last difference or line break, and the last value before this one.
    var start = 0
    var last = name
    while left < one.count || right < other.count {
      let ends = (end(of: one, from: left), end(of: other, from: right))
      let texts = (one[left..<ends.0], other[right..<ends.1])
      if !texts.0.elementsEqual(texts.1) {
        let values = (String(decoding: texts.0, as: UTF8.self), String(decoding: texts.1, as: UTF8.self))
        guard changes.count < most,
          let kind = ValueChange.whole(values.0, values.1, named: last, by: clocks)
        else { return nil }
        let before = one[max(start, left - longestBefore)..<left]
        changes.append(
          TextChange(
            kind: kind, before: String(validating: before, as: UTF8.self) ?? "", recorded: values.0, actual: values.1))
        start = ends.0
      }
      if texts.0.contains(where: { $0 | 0x20 >= UInt8(ascii: "a") || $0 == UInt8(ascii: "_") }), ends.0 < one.count {
        let isName = one[ends.0] != UInt8(ascii: " ") || texts.0.last == UInt8(ascii: ":")
        last = isName ? String(decoding: texts.0.prefix(100), as: UTF8.self) : name
      }
      (left, right) = ends
      guard left < one.count || right < other.count else { break }
      guard left < one.count, right < other.count, one[left] == other[right] else { return nil }
      left += 1
      right += 1
      if one[left - 1] == UInt8(ascii: "\n") { start = left }
    }
    return changes.isEmpty ? nil : changes
  }

  private static func end(of text: [UInt8], from start: Int) -> Int {
    var end = start
    while end < text.count, !separators.contains(text[end]) { end += 1 }
    return end
  }
}
