import HTTPMessages

/// Finds the origin of a declared upstream at the beginning of an absolute URL, as it occurs in an answer.
struct UpstreamURLMatcher: Sendable {
  /// An origin found, and what to write in its place.
  struct Found {
    /// The index after the origin.
    let end: Int
    /// Which of ``candidates``.
    let candidate: Int
    /// Backslashes before each slash: 0, or 1 as some write JSON, or 3 in JSON within JSON.
    let backslashes: Int
  }

  /// A way to write an origin.
  struct Candidate: Sendable {
    let isSecure: Bool
    /// `host[:port]` in lower case.
    let authority: [UInt8]
    /// The app's address for 0, 1, 2 and 3 backslashes before a slash.
    let replacements: [[UInt8]]
  }

  /// Longest authority first; of two upstreams with the same origin, the current one.
  let candidates: [Candidate]

  init(map: AddressMap, upstream current: Int, form: AddressMap.Form, onlyOrigins: Bool = false) {
    var candidates: [Candidate] = []
    let order = [current] + map.upstreams.indices.filter { $0 != current }
    for index in order where map.upstreams.indices.contains(index) {
      // A browser's origin has no path: that of all upstreams in this form is the main port's.
      let address =
        onlyOrigins && form == .pathSegment
        ? "http://127.0.0.1:\(map.mainPort)" : map.appAddress(of: index, form: form)
      let upstream = map.upstreams[index]
      let origins =
        form == .absolute && !map.changesInAbsoluteForm(index)
        ? upstream.formerOrigins : [upstream.origin] + upstream.formerOrigins
      let replacements = (0...3).map { count in
        Array(address.utf8).flatMap { byte in
          byte == AddressByte.slash ? [UInt8](repeating: AddressByte.backslash, count: count) + [byte] : [byte]
        }
      }
      for origin in origins {
        let isSecure = origin.scheme == "https"
        for authority in Set([origin.authority, "\(origin.host):\(origin.port)"]) {
          let bytes = Array(authority.utf8)
          guard !candidates.contains(where: { $0.isSecure == isSecure && $0.authority == bytes }) else { continue }
          candidates.append(Candidate(isSecure: isSecure, authority: bytes, replacements: replacements))
        }
      }
    }
    self.candidates = candidates.sorted { $0.authority.count > $1.authority.count }
  }

  /// Looks for `http[s]://authority` at `start`, where an `h` stands.
  ///
  /// - Parameters:
  ///   - start: an index into `text`.
  ///   - text: what is at hand.
  ///   - isWhole: whether nothing follows `text`.
  /// - Returns: the origin and its end.
  func look(at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool) -> AddressLook<Found> {
    let missing: AddressLook<Found> = isWhole ? .none : .more
    var index = start
    for byte in "http".utf8 {
      guard index < text.count else { return missing }
      guard text[index].asciiLowercased == byte else { return .none }
      index += 1
    }
    guard index < text.count else { return missing }
    let isSecure = text[index].asciiLowercased == UInt8(ascii: "s")
    if isSecure { index += 1 }
    guard index < text.count else { return missing }
    guard text[index] == AddressByte.colon else { return .none }
    index += 1

    var backslashes: [Int] = [0, 0]
    for slash in 0..<2 {
      while index < text.count, text[index] == AddressByte.backslash, backslashes[slash] < 3 {
        backslashes[slash] += 1
        index += 1
      }
      guard index < text.count else { return missing }
      guard text[index] == AddressByte.slash else { return .none }
      index += 1
    }
    guard backslashes[0] == backslashes[1] else { return .none }
    return lookForAuthority(at: index, in: text, isWhole: isWhole, isSecure: isSecure, backslashes: backslashes[0])
  }

  /// As ``look(at:in:isWhole:)``, for `//authority` at `start`, a reference without scheme.
  func lookWithoutScheme(at start: Int, in text: UnsafeBufferPointer<UInt8>, isSecure: Bool) -> AddressLook<Found> {
    lookForAuthority(at: start + 2, in: text, isWhole: true, isSecure: isSecure, backslashes: 0)
  }

  private func lookForAuthority(
    at start: Int, in text: UnsafeBufferPointer<UInt8>, isWhole: Bool, isSecure: Bool, backslashes: Int
  ) -> AddressLook<Found> {
    candidates: for (number, candidate) in candidates.enumerated() where candidate.isSecure == isSecure {
      var index = start
      for byte in candidate.authority {
        guard index < text.count else {
          if isWhole { continue candidates }
          return .more
        }
        guard text[index].asciiLowercased == byte else { continue candidates }
        index += 1
      }
      switch hostEnds(at: index, in: text, isWhole: isWhole) {
      case .none: continue
      case .more: return .more
      case .found: return .found(Found(end: index, candidate: number, backslashes: backslashes))
      }
    }
    return .none
  }
}
