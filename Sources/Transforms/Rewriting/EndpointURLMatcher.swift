import HTTPMessages

/// Finds the address of an endpoint at the beginning of an absolute URL, as it occurs in a request: with `http`, `ws` or
/// no scheme, as it stands, with JSON's or HTML's escapes, percent-encoded (once or more), or several of these; with or without `user:password@`.
struct EndpointURLMatcher {
  let map: AddressMap
  let form: AddressMap.Form

  /// Translates all endpoints' addresses in a text.
  ///
  /// - Parameters:
  ///   - text: the whole of it.
  ///   - isTarget: whether it is a request's target, which begins with a path and not with a reference.
  /// - Returns: nil when there is none.
  func translate(_ text: UnsafeBufferPointer<UInt8>, isTarget: Bool = false) -> [UInt8]? {
    scan(text, from: 0, until: text.count, isTarget: isTarget).output
  }

  /// Translates the endpoints' addresses that begin in a part of a text.
  ///
  /// - Parameters:
  ///   - text: also what stands around the part.
  ///   - start: where the part begins.
  ///   - limit: where it ends: addresses that begin here or later are left for another time.
  ///   - isTarget: as in ``translate(_:isTarget:)``.
  /// - Returns: the part as it is then, nil where there is none; and its end, which is behind the limit where an address
  ///   reaches over it.
  func scan(
    _ text: UnsafeBufferPointer<UInt8>, from start: Int, until limit: Int, isTarget: Bool = false
  ) -> (output: [UInt8]?, end: Int) {
    var output: [UInt8]?
    var copied = start
    var index = start
    while index < limit {
      let found: (end: Int, replacement: [UInt8])?
      switch text[index] {
      case UInt8(ascii: "h"), UInt8(ascii: "H"), UInt8(ascii: "w"), UInt8(ascii: "W"): found = look(at: index, in: text)
      case AddressByte.slash, AddressByte.backslash, AddressByte.percent, UInt8(ascii: "&"):
        found = isTarget && index == 0 ? nil : lookForReference(at: index, in: text)
      default: found = nil
      }
      guard let found else {
        index += 1
        continue
      }
      output = output ?? []
      output?.append(contentsOf: text[copied..<index])
      output?.append(contentsOf: found.replacement)
      copied = found.end
      index = found.end
    }
    output?.append(contentsOf: text[copied..<index])
    return (output, index)
  }

  private func look(at start: Int, in text: UnsafeBufferPointer<UInt8>) -> (end: Int, replacement: [UInt8])? {
    let isWebSocket = text[start] | 0x20 == UInt8(ascii: "w")
    guard let index = literal(isWebSocket ? "ws" : "http", at: start, in: text),
      let colon = spelling(of: AddressByte.colon, at: index, in: text),
      let first = slash(at: colon.upperBound, in: text), let second = slash(at: first.upperBound, in: text)
    else { return nil }
    let isEncoded = text[colon.lowerBound] == AddressByte.percent || text[first].contains(AddressByte.percent)
    let host = host(behind: second, in: text)
    let spelling = Spelling(
      scheme: isWebSocket ? "ws" : "http", colon: Array(text[colon]), first: Array(text[first]),
      second: Array(text[second]), user: Array(text[second.upperBound..<host]))
    if let found = endpoint(at: host, in: text, spelling, isEncoded: isEncoded) { return found }

    guard form == .absolute, !isWithinWord(start, in: text) else { return nil }
    for segment in map.authorities where map.changesInAbsoluteForm(segment.upstream) {
      guard let found = authority(segment.text, at: host, in: text, isEncoded: isEncoded) else { continue }
      return (found.end, spelling.write(map.upstreams[segment.upstream].origin, portColon: found.colon))
    }
    return nil
  }

  /// An endpoint's address without a scheme, `//127.0.0.1:PORT`, where no scheme's colon stands before it.
  private func lookForReference(
    at start: Int, in text: UnsafeBufferPointer<UInt8>
  ) -> (end: Int, replacement: [UInt8])? {
    guard let first = slash(at: start, in: text), let second = slash(at: first.upperBound, in: text),
      !isAfterColon(start, in: text)
    else { return nil }
    let host = host(behind: second, in: text)
    let spelling = Spelling(
      scheme: nil, colon: nil, first: Array(text[first]), second: Array(text[second]),
      user: Array(text[second.upperBound..<host]))
    return endpoint(at: host, in: text, spelling, isEncoded: text[first].contains(AddressByte.percent))
  }

  private func endpoint(
    at start: Int, in text: UnsafeBufferPointer<UInt8>, _ spelling: Spelling, isEncoded: Bool
  ) -> (end: Int, replacement: [UInt8])? {
    for endpoint in map.endpoints {
      guard let found = authority(endpoint.authority, at: start, in: text, isEncoded: isEncoded) else {
        continue
      }
      if let upstream = endpoint.upstream {
        return (found.end, spelling.write(map.upstreams[upstream].origin, portColon: found.colon))
      }
      guard let slash = slash(at: found.end, in: text) else { return nil }
      for segment in map.authorities {
        guard let named = authority(segment.text, at: slash.upperBound, in: text, isEncoded: isEncoded) else {
          continue
        }
        return (named.end, spelling.write(map.upstreams[segment.upstream].origin, portColon: named.colon))
      }
      return nil
    }
    return nil
  }

  /// How the delimiters of a URL are written where it was found; its translation is written likewise.
  private struct Spelling {
    /// `http` or `ws`; nil for a reference without one.
    let scheme: String?
    let colon: [UInt8]?
    let first: [UInt8]
    let second: [UInt8]
    /// `user:password@`, or nothing.
    let user: [UInt8]

    func write(_ origin: Origin, portColon: [UInt8]?) -> [UInt8] {
      var bytes = first + second + user
      if let scheme, let colon {
        bytes = Array(scheme.utf8) + (origin.scheme == "https" ? [UInt8(ascii: "s")] : []) + colon + bytes
      }
      // `%253A` gives `%255B`: what stands before the last two digits is the same for every delimiter.
      let delimiter = colon ?? first
      let escape = PercentLayer.prefix(of: delimiter)
      let ownColon = escape.map { $0 + "3A".utf8 } ?? [AddressByte.colon]
      for byte in origin.authority.utf8 {
        switch byte {
        case AddressByte.colon: bytes += portColon ?? (escape == nil ? ownColon : colon ?? ownColon)
        case UInt8(ascii: "["): bytes += escape.map { $0 + "5B".utf8 } ?? [byte]
        case UInt8(ascii: "]"): bytes += escape.map { $0 + "5D".utf8 } ?? [byte]
        default: bytes.append(byte)
        }
      }
      return bytes
    }
  }

  // MARK: Pieces

  /// The end of `host[:port]` at `start`, and how its last colon is written.
  private func authority(
    _ expected: [UInt8], at start: Int, in text: UnsafeBufferPointer<UInt8>, isEncoded: Bool
  ) -> (end: Int, colon: [UInt8]?)? {
    var index = start
    var colon: [UInt8]?
    for byte in expected {
      // A name may end with a dot, also before its port.
      if byte == AddressByte.colon, index < text.count, text[index] == AddressByte.dot { index += 1 }
      guard index < text.count else { return nil }
      var end = index + 1
      if text[index].asciiLowercased != byte {
        // The colon before a port is escaped wherever the scheme's is, also where nothing is percent-encoded.
        guard isEncoded || byte == AddressByte.colon, let range = spelling(of: byte, at: index, in: text) else {
          return nil
        }
        end = range.upperBound
      }
      if byte == AddressByte.colon { colon = Array(text[index..<end]) }
      index = end
    }
    guard case .found(let end) = hostEnds(at: index, in: text, isWhole: true) else { return nil }
    return (end, colon)
  }

  private func literal(_ expected: StaticString, at start: Int, in text: UnsafeBufferPointer<UInt8>) -> Int? {
    expected.withUTF8Buffer { expected in
      guard start + expected.count <= text.count else { return nil }
      for offset in 0..<expected.count where text[start + offset].asciiLowercased != expected[offset] { return nil }
      return start + expected.count
    }
  }

  /// Where a byte stands as itself or as `%3A`, `%253A` and so on.
  private func spelling(of byte: UInt8, at start: Int, in text: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    guard start < text.count else { return nil }
    if text[start] == byte { return start..<start + 1 }
    if case .found(let end) = DelimiterSpelling.end(of: byte, at: start, in: text, isWhole: true) {
      return start..<end
    }
    guard text[start] == AddressByte.percent else { return nil }
    var index = start + 1
    while index + 1 < text.count, let high = AddressByte.hexValue(text[index]),
      let low = AddressByte.hexValue(text[index + 1])
    {
      if (high << 4 | low).asciiLowercased == byte { return start..<index + 2 }
      guard high == 2, low == 5 else { return nil }
      index += 2
    }
    return nil
  }

  /// A slash with any backslashes before it, or written otherwise.
  private func slash(at start: Int, in text: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
    if case .found(let end) = DelimiterSpelling.end(of: AddressByte.slash, at: start, in: text, isWhole: true) {
      return start..<end
    }
    var index = start
    while index - start < 24, let backslash = spelling(of: AddressByte.backslash, at: index, in: text) {
      index = backslash.upperBound
    }
    return spelling(of: AddressByte.slash, at: index, in: text).map { start..<$0.upperBound }
  }

  /// Where the host begins after the slashes.
  private func host(behind slash: Range<Int>, in text: UnsafeBufferPointer<UInt8>) -> Int {
    guard
      case .found(let end) = UserInformation.end(at: slash.upperBound, behind: slash, in: text, isWhole: true)
    else { return slash.upperBound }
    return end
  }

  /// Whether a colon ends before `start`, however it is written.
  private func isAfterColon(_ start: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    // The longest ways to write one are `&#x0003A;` and `%2525253A`, and the former encoded like the latter.
    (1...28).contains { length in
      guard start >= length,
        case .found(start) = DelimiterSpelling.end(of: AddressByte.colon, at: start - length, in: text, isWhole: true)
      else { return false }
      return true
    }
  }

  /// Whether a letter stands before `start`, and not as the end of `%3D`, `\n` or `\u003c`.
  private func isWithinWord(_ start: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard start > 0, AddressByte.isLetter(text[start - 1]) else { return false }
    if start > 2, text[start - 3] == AddressByte.percent, AddressByte.hexValue(text[start - 2]) != nil { return false }
    if start > 5, text[start - 6] == AddressByte.backslash, text[start - 5] == UInt8(ascii: "u") { return false }
    return !(start > 1 && text[start - 2] == AddressByte.backslash)
  }
}
