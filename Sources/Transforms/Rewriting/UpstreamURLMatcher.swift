import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Finds the origin of a declared upstream at the beginning of an absolute URL in a response: with `http`, `ws`
/// (WebSocket) or no scheme (`//host`), and with its delimiters in any spelling (``DelimiterSpelling``).
package struct UpstreamURLMatcher: Sendable {
  /// An origin that was found, and its spelling. The replacement uses the same spelling.
  struct Found {
    /// The index after the origin.
    let end: Int
    fileprivate let candidate: Int
    fileprivate let scheme: StaticString
    fileprivate let spelling: Spelling
  }

  /// One way to write an origin.
  struct Candidate: Sendable {
    let isSecure: Bool
    /// `host[:port]` in lower case.
    let authority: [UInt8]
    /// Whether the address for the app has a secure scheme.
    let becomesSecure: Bool
    /// The address for the app, without the scheme and the two slashes.
    let address: [UInt8]

    /// The address for the app, with plain slashes and with slashes written as `\/`.
    let plain: [UInt8]
    let escaped: [UInt8]

    init(isSecure: Bool, authority: [UInt8], address text: String) {
      self.isSecure = isSecure
      self.authority = authority
      plain = Array(text.utf8)
      becomesSecure = text.hasPrefix("https:")
      address = Array(plain.dropFirst(becomesSecure ? 8 : 7))
      escaped = plain.flatMap { $0 == AddressByte.slash ? [AddressByte.backslash, $0] : [$0] }
    }
  }

  /// Longest authority first. If two upstreams share an origin, the current upstream comes first.
  let candidates: [Candidate]
  /// For each authority, a part that is the same in every spelling.
  let words: [AddressWord]
  /// The possible schemes of a reference without one, as `isSecure` values: those of the current upstream and of its
  /// former origins. Empty if such references need no change.
  private let referencesMayBeSecure: [Bool]

  init(map: AddressMap, upstream current: Int, form: AddressMap.Form, onlyOrigins: Bool = false) {
    var candidates: [Candidate] = []
    let order = [current] + map.upstreams.indices.filter { $0 != current }
    for index in order where map.upstreams.indices.contains(index) {
      // A browser's origin has no path, so all upstreams share the main port's origin in this form.
      let address =
        onlyOrigins && form == .pathSegment
        ? "http://\(map.host):\(map.mainPort)" : map.appAddress(of: index, form: form)
      let upstream = map.upstreams[index]
      let origins =
        form.showsHosts && !map.changes(index, form: form)
        ? upstream.formerOrigins : [upstream.origin] + upstream.formerOrigins
      for origin in origins {
        let isSecure = origin.scheme == "https"
        for authority in Set([origin.authority, "\(origin.host):\(origin.port)"]) {
          let bytes = Array(authority.utf8)
          guard !candidates.contains(where: { $0.isSecure == isSecure && $0.authority == bytes }) else { continue }
          candidates.append(
            Candidate(isSecure: isSecure, authority: bytes, address: address))
        }
      }
    }
    self.candidates = candidates.sorted { $0.authority.count > $1.authority.count }
    words = Self.words(of: candidates)
    // In proxy form, the host does not change.
    let isKnown = map.upstreams.indices.contains(current) && form != .absolute
    let origins = isKnown ? [map.upstreams[current].origin] + map.upstreams[current].formerOrigins : []
    let schemes = Set(origins.map { $0.scheme == "https" })
    referencesMayBeSecure = [true, false].filter(schemes.contains)
  }

  /// How the delimiters of a matched URL are written. The replacement uses the same spelling.
  fileprivate struct Spelling {
    /// Nil for a reference without a scheme.
    var colon: Range<Int>?
    var slash: Range<Int>
    /// `user:password@`, or empty.
    var user: Range<Int>
    /// The colon before a port.
    var portColon: Range<Int>?

    /// Whether the delimiters are percent-encoded or written as escapes. The bytes after the host may then be encoded
    /// too.
    func isEncoded(in text: UnsafeBufferPointer<UInt8>) -> Bool {
      (colon.map { $0.count > 1 } ?? false) || (slash.count > 1 && text[slash.upperBound - 1] != AddressByte.slash)
    }
  }

  /// An origin in the usual spelling.
  struct PlainFound {
    /// The index after the origin.
    let end: Int
    fileprivate let candidate: Int
    fileprivate let isEscaped: Bool
  }

  /// Fast path for the most common spelling: `http[s]://authority`, with plain slashes or `\/`, followed by a byte that
  /// belongs neither to a host nor to user information.
  ///
  /// - Parameters:
  ///   - start: the index of an `h`.
  ///   - text: the available text.
  /// - Returns: the same origin that ``look(at:in:isWhole:)`` would find, or nil if that method has to decide.
  @inline(__always)
  func lookPlainly(at start: Int, in text: UnsafeBufferPointer<UInt8>) -> PlainFound? {
    guard start + 9 < text.count, let base = UnsafeRawPointer(text.baseAddress) else { return nil }
    let letters = UInt32(littleEndian: base.loadUnaligned(fromByteOffset: start, as: UInt32.self)) | 0x2020_2020
    guard letters == Self.http else { return nil }
    let isSecure = text[start + 4] | 0x20 == UInt8(ascii: "s")
    var host = isSecure ? start + 5 : start + 4
    guard text[host] == AddressByte.colon else { return nil }
    let isEscaped = text[host + 1] == AddressByte.backslash
    if isEscaped {
      guard host + 4 < text.count, text[host + 2] == AddressByte.slash, text[host + 3] == AddressByte.backslash,
        text[host + 4] == AddressByte.slash
      else { return nil }
      host += 5
    } else {
      guard text[host + 1] == AddressByte.slash, text[host + 2] == AddressByte.slash else { return nil }
      host += 3
    }
    for number in candidates.indices where candidates[number].isSecure == isSecure {
      let end = host + candidates[number].authority.count
      guard end + 1 < text.count, candidates[number].authority.withUnsafeBytes({ Self.equals($0, base + host) }) else {
        continue
      }
      guard Self.isPlainEnd(text[end], text[end + 1]) else { return nil }
      return PlainFound(end: end, candidate: number, isEscaped: isEscaped)
    }
    return nil
  }

  /// Whether an authority ends before these two bytes and is not user information.
  private static func isPlainEnd(_ byte: UInt8, _ next: UInt8) -> Bool {
    guard byte == AddressByte.backslash else { return !UserInformation.mayHave(byte) }
    return next != AddressByte.backslash && next != UInt8(ascii: "u") && next != UInt8(ascii: "x")
  }

  /// `http` as a little-endian integer.
  private static let http: UInt32 = 0x7074_7468

  /// Whether the bytes at an address in memory equal an authority, ignoring case.
  @inline(__always)
  private static func equals(_ authority: UnsafeRawBufferPointer, _ place: UnsafeRawPointer) -> Bool {
    guard let start = authority.baseAddress, memcmp(start, place, authority.count) != 0 else { return true }
    return authority.indices.allSatisfy {
      place.load(fromByteOffset: $0, as: UInt8.self).asciiLowercased == authority[$0]
    }
  }

  /// Writes the app's address in place of an origin.
  @inline(__always)
  func write(_ found: PlainFound, to output: inout [UInt8]) {
    let candidate = candidates[found.candidate]
    output.append(contentsOf: found.isEscaped ? candidate.escaped : candidate.plain)
  }

  /// Looks for `http[s]://authority` or `ws[s]://authority` at an `h` or a `w`.
  ///
  /// - Parameters:
  ///   - start: an index into `text`.
  ///   - text: the available text.
  ///   - isWhole: whether `text` ends here and no more bytes follow.
  /// - Returns: the origin and its end.
  func look(at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool) -> AddressLook<Found> {
    let missing: AddressLook<Found> = isWhole ? .none : .more
    let isWebSocket = text[start] | 0x20 == UInt8(ascii: "w")
    let scheme: StaticString = isWebSocket ? "ws" : "http"
    var index = start
    for offset in 0..<scheme.utf8CodeUnitCount {
      guard index < text.count else { return missing }
      guard text[index].asciiLowercased == scheme.utf8Start[offset] else { return .none }
      index += 1
    }
    guard index < text.count else { return missing }
    let isSecure = text[index].asciiLowercased == UInt8(ascii: "s")
    if isSecure { index += 1 }
    let colon = index
    switch DelimiterSpelling.end(of: AddressByte.colon, at: index, in: text, isWhole: isWhole) {
    case .none: return .none
    case .more: return .more
    case .found(let end): index = end
    }
    return lookBehindScheme(
      at: index, in: text, isWhole: isWhole, isSecure: isSecure, scheme: scheme, colon: colon..<index)
  }

  /// Looks for `//authority`, a reference without a scheme, at `start`.
  func lookForReference(at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool) -> AddressLook<Found> {
    var isOpen = false
    for isSecure in referencesMayBeSecure {
      switch lookBehindScheme(at: start, in: text, isWhole: isWhole, isSecure: isSecure, scheme: "", colon: nil) {
      case .none: continue
      case .more: isOpen = true
      case .found(let found): return .found(found)
      }
    }
    return isOpen ? .more : .none
  }

  private func lookBehindScheme(
    at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, isSecure: Bool, scheme: StaticString,
    colon: Range<Int>?
  ) -> AddressLook<Found> {
    var index = start
    let slash: Range<Int>
    switch DelimiterSpelling.end(of: AddressByte.slash, at: index, in: text, isWhole: isWhole) {
    case .none: return .none
    case .more: return .more
    case .found(let end): slash = index..<end
    }
    switch DelimiterSpelling.end(of: AddressByte.slash, at: slash.upperBound, in: text, isWhole: isWhole) {
    case .none: return .none
    case .more: return .more
    case .found(let end): index = end
    }
    guard text[slash].elementsEqual(text[slash.upperBound..<index]) else { return .none }
    let host: Int
    switch UserInformation.end(at: index, behind: slash, in: text, isWhole: isWhole) {
    case .none: host = index
    case .more: return .more
    case .found(let end): host = end
    }
    var spelling = Spelling(colon: colon, slash: slash, user: index..<host)
    let isEncoded = spelling.isEncoded(in: text)
    candidates: for (number, candidate) in candidates.enumerated() where candidate.isSecure == isSecure {
      var end = host
      spelling.portColon = nil
      for byte in candidate.authority {
        // A host name may end with a dot, also before a port.
        if byte == AddressByte.colon, end < text.count, text[end] == AddressByte.dot { end += 1 }
        guard end < text.count else {
          if isWhole { continue candidates }
          return .more
        }
        guard text[end].asciiLowercased != byte else {
          if byte == AddressByte.colon { spelling.portColon = end..<end + 1 }
          end += 1
          continue
        }
        guard isEncoded, !AddressByte.isAlphanumeric(byte) else { continue candidates }
        switch DelimiterSpelling.end(of: byte, at: end, in: text, isWhole: isWhole) {
        case .none: continue candidates
        case .more: return .more
        case .found(let next):
          if byte == AddressByte.colon { spelling.portColon = end..<next }
          end = next
        }
      }
      switch hostEnds(at: end, in: text, isWhole: isWhole, isEncoded: isEncoded) {
      case .none: continue
      case .more: return .more
      case .found(let end):
        return .found(Found(end: end, candidate: number, scheme: scheme, spelling: spelling))
      }
    }
    return .none
  }

  /// Writes the app's address in place of an origin.
  ///
  /// - Parameters:
  ///   - found: the origin.
  ///   - text: the text that contains the origin.
  ///   - output: the buffer to append to.
  func write(_ found: Found, in text: UnsafeBufferPointer<UInt8>, to output: inout [UInt8]) {
    let candidate = candidates[found.candidate]
    let spelling = found.spelling
    found.scheme.withUTF8Buffer { output.append(contentsOf: $0) }
    if candidate.becomesSecure, spelling.colon != nil { output.append(UInt8(ascii: "s")) }
    if let colon = spelling.colon { output += text[colon] }
    output += text[spelling.slash]
    output += text[spelling.slash]
    output += text[spelling.user]
    // If the URL's delimiters are percent-encoded, the port's colon must be too. Otherwise a plain colon is correct.
    var portColon = [AddressByte.colon]
    if let given = spelling.portColon ?? spelling.colon {
      if text[given.lowerBound] == AddressByte.percent { portColon = Array(text[given]) }
    } else if let prefix = PercentLayer.prefix(of: text[spelling.slash]) {
      portColon = prefix + "3A".utf8
    }
    for byte in candidate.address {
      switch byte {
      case AddressByte.colon: output += portColon
      case AddressByte.slash: output += text[spelling.slash]
      default: output.append(byte)
      }
    }
  }
}
