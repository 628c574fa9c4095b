import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// Signs tokens again with the keys that the user provided.
package struct TokenSigner: Sendable {
  /// Signs a message.
  ///
  /// - Parameters:
  ///   - algorithm: an RFC 7518 name such as `HS256`.
  ///   - keyID: the token's `kid`, if it has one.
  ///   - message: the bytes to sign.
  /// - Returns: the signature in token format, or nil if no key applies.
  package let sign: @Sendable (_ algorithm: String, _ keyID: String?, _ message: [UInt8]) -> [UInt8]?

  package init(_ sign: @escaping @Sendable (_ algorithm: String, _ keyID: String?, _ message: [UInt8]) -> [UInt8]?) {
    self.sign = sign
  }
}

/// Moves the times of JSON Web Tokens (RFC 7519) and signs them again: `exp`, `iat`, `nbf`, and `auth_time` from OpenID
/// Connect.
///
/// The header stays the same byte for byte, and so does the payload except for the digits of these times. A token stays
/// unchanged if no key applies or it contains no time to move.
final class TokenShift: Sendable {
  /// The maximum length of a token that is examined.
  static let limit = 16 << 10
  /// The maximum number of tokens that are remembered.
  private static let memory = 10_000

  private struct Known {
    /// Moved tokens by recorded ones.
    var moved: [String: String] = [:]
    /// Recorded tokens by moved ones. Needed because not all signatures are deterministic.
    var recorded: [String: String] = [:]
  }

  private let signer: TokenSigner
  private let known = Guarded(Known())

  init(_ signer: TokenSigner) {
    self.signer = signer
  }

  /// Whether a token may begin with a byte: `e` is the first character of `{"` in Base64.
  @inline(__always)
  static func mayBegin(with byte: UInt8) -> Bool { byte == UInt8(ascii: "e") }

  /// Looks for a token at an `e` that does not follow a letter or digit. With `isBack`, moved tokens become recorded
  /// ones.
  func look(
    at index: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, offset: DateOffset, isBack: Bool
  ) -> DateLook {
    for (place, byte) in "eyJ".utf8.enumerated() {
      guard index + place < text.count else { return isWhole ? .none : .more }
      guard text[index + place] == byte else { return .none }
    }
    var dots: [Int] = []
    var end = index
    while end < text.count, Self.isInToken(text[end]) || text[end] == UInt8(ascii: ".") {
      if text[end] == UInt8(ascii: ".") {
        // More parts mean that the token is encrypted (RFC 7516); otherwise a dot after the third part ends a sentence.
        if dots.count == 2 { break }
        dots.append(end)
      }
      end += 1
      if end - index > Self.limit { return .none }
    }
    if end == text.count, !isWhole { return .more }
    guard dots.count == 2, dots[1] + 1 < end else { return .none }
    if end < text.count, text[end] == UInt8(ascii: ".") {
      if end + 1 == text.count, !isWhole { return .more }
      if end + 1 < text.count, Self.isInToken(text[end + 1]) { return .none }
    }
    func part(_ range: Range<Int>) -> String { String(decoding: text[range], as: UTF8.self) }
    let token = part(index..<end)
    if let same = known.withLock({ (isBack ? $0.recorded : $0.moved)[token] }) {
      return .found(end: end, replacement: Array(same.utf8))
    }
    guard
      let moved = moved(header: part(index..<dots[0]), payload: part((dots[0] + 1)..<dots[1]), offset: offset)
    else { return .none }
    if !isBack {
      known.withLock { known in
        guard known.moved.count < Self.memory else { return }
        known.moved[token] = moved
        known.recorded[moved] = token
      }
    }
    return .found(end: end, replacement: Array(moved.utf8))
  }

  private func moved(header: String, payload: String, offset: DateOffset) -> String? {
    guard let document = Base64.decode(header).flatMap({ try? JSON.parse($0) }),
      let algorithm = document["alg"]?.string, let claims = Base64.decode(payload),
      claims.first == UInt8(ascii: "{")
    else { return nil }
    var stream = PlacedDates(Self.claims, scanner: nil, offset: offset)
    let moved = stream.push(claims, isLast: true)
    guard moved != claims else { return nil }
    let message = "\(header).\(Base64.encode(moved, .url))"
    guard let signature = signer.sign(algorithm, document["kid"]?.string, Array(message.utf8)) else { return nil }
    return "\(message).\(Base64.encode(signature, .url))"
  }

  private static let claims: [DatePlaces.Place] = ["$.exp", "$.iat", "$.nbf", "$.auth_time"].compactMap {
    (try? JSONPath($0)).map { .init(path: $0, kind: .epochSeconds) }
  }

  private static func isInToken(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "_"): true
    default: false
    }
  }
}
