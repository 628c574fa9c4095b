import HTTPMessages

/// Finds an endpoint address at the beginning of an absolute URL in a request: with `http`, `ws` or no scheme, with or
/// without `user:password@`; plain, with JSON or HTML escapes, percent-encoded once or more, or a combination of these.
struct EndpointURLMatcher {
  let map: AddressMap
  let form: AddressMap.Form

  /// Translates all endpoint addresses in a text.
  ///
  /// - Parameters:
  ///   - text: the whole text.
  ///   - isTarget: whether the text is a request target, whose leading slashes are a path and not a reference.
  /// - Returns: nil if the text contains no endpoint address.
  func translate(_ text: UnsafeBufferPointer<UInt8>, isTarget: Bool = false) -> [UInt8]? {
    scan(text, from: 0, until: text.count, isTarget: isTarget).output
  }

  /// Translates the endpoint addresses that begin in a part of a text.
  ///
  /// - Parameters:
  ///   - text: the part and the bytes around it.
  ///   - start: the beginning of the part.
  ///   - limit: the end of the part. Addresses that begin here or later are not translated.
  ///   - isTarget: see ``translate(_:isTarget:)``.
  /// - Returns: the translated part, or nil if it contains no address; and the end of the part, which is past `limit`
  ///   if an address spans it.
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
    for segment in map.authorities where map.changes(segment.upstream, form: form) {
      guard let found = authority(segment.text, at: host, in: text, isEncoded: isEncoded) else { continue }
      return (found.end, spelling.write(map.upstreams[segment.upstream].origin, portColon: found.colon))
    }
    return nil
  }

  /// Looks for an endpoint address without a scheme, `//127.0.0.1:PORT`, that is not preceded by a scheme's colon.
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

  /// How the delimiters of a matched URL are written. The replacement uses the same spelling.
  private struct Spelling {
    /// `http` or `ws`; nil for a reference without a scheme.
    let scheme: String?
    let colon: [UInt8]?
    let first: [UInt8]
    let second: [UInt8]
    /// `user:password@`, or empty.
    let user: [UInt8]

    func write(_ origin: Origin, portColon: [UInt8]?) -> [UInt8] {
      var bytes = first + second + user
      if let scheme, let colon {
        bytes = Array(scheme.utf8) + (origin.scheme == "https" ? [UInt8(ascii: "s")] : []) + colon + bytes
      }
      // `%253A` becomes `%255B`: the bytes before the last two digits are the same for every delimiter.
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

  /// The end of `host[:port]` at `start`, and the spelling of its last colon.
  private func authority(
    _ expected: [UInt8], at start: Int, in text: UnsafeBufferPointer<UInt8>, isEncoded: Bool
  ) -> (end: Int, colon: [UInt8]?)? {
    var index = start
    var colon: [UInt8]?
    for byte in expected {
      // A host name may end with a dot, also before a port.
      if byte == AddressByte.colon, index < text.count, text[index] == AddressByte.dot { index += 1 }
      guard index < text.count else { return nil }
      var end = index + 1
      if text[index].asciiLowercased != byte {
        // A port's colon may be escaped even if nothing else is encoded.
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

  /// The range of a byte that is written literally or as `%3A`, `%253A` and so on.
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

  /// The range of a slash in any spelling, including any backslashes before it.
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

  /// The index of the host after the slashes.
  private func host(behind slash: Range<Int>, in text: UnsafeBufferPointer<UInt8>) -> Int {
    guard
      case .found(let end) = UserInformation.end(at: slash.upperBound, behind: slash, in: text, isWhole: true)
    else { return slash.upperBound }
    return end
  }

  /// Whether a colon in any spelling ends right before `start`.
  private func isAfterColon(_ start: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    // The longest spellings are `&#x0003A;` and `%2525253A`, and a percent-encoded `&#x0003A;`.
    (1...28).contains { length in
      guard start >= length,
        case .found(start) = DelimiterSpelling.end(of: AddressByte.colon, at: start - length, in: text, isWhole: true)
      else { return false }
      return true
    }
  }

  /// Whether a letter precedes `start` that does not end an escape such as `%3D`, `\n` or `\u003c`.
  private func isWithinWord(_ start: Int, in text: UnsafeBufferPointer<UInt8>) -> Bool {
    guard start > 0, AddressByte.isLetter(text[start - 1]) else { return false }
    if start > 2, text[start - 3] == AddressByte.percent, AddressByte.hexValue(text[start - 2]) != nil { return false }
    if start > 5, text[start - 6] == AddressByte.backslash, text[start - 5] == UInt8(ascii: "u") { return false }
    return !(start > 1 && text[start - 2] == AddressByte.backslash)
  }
}
