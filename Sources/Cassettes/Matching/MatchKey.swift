import EnvironmentConfiguration
package import HTTPMessages

/// A 128-bit hash of the parts of a request that count for matching.
///
/// Equal keys are treated as equal requests: with a hundred thousand interactions the probability of a collision is
/// below 1 in 10²⁸. Keys depend on the version of ``MatchKeyMaker`` and are never stored.
package struct MatchKey: Hashable, Sendable {
  let high: UInt64
  let low: UInt64

  init(high: UInt64, low: UInt64) {
    self.high = high
    self.low = low
  }

  init(_ words: (UInt64, UInt64)) { self.init(high: words.0, low: words.1) }

  /// The key as text, for comparing requests of several runs by the same program.
  package var hexadecimal: String {
    [high, low].map { word in
      let digits = String(word, radix: 16)
      return String(repeating: "0", count: 16 - digits.count) + digits
    }.joined()
  }

  /// The key of the same request if the test itself sends it.
  var ofSetup: MatchKey {
    var hash = SipHash()
    hash.append(number: Int(truncatingIfNeeded: high))
    hash.append(number: Int(truncatingIfNeeded: low))
    return MatchKey(hash.finish())
  }

  // Half of a good hash is a good hash.
  package func hash(into hasher: inout Hasher) {
    hasher.combine(low)
  }
}

/// Computes match keys from method, upstream, path, query and body.
///
/// - Method: as sent. Headers do not count.
/// - Path: an escaped unreserved character equals the character (`%7E` is `~`; RFC 3986, 6.2.2.2), and escapes ignore
///   case (`%2f` is `%2F`). Dot segments and `//` are kept: a server may distinguish them.
/// - Query: decoded items separated by `&`, with `+` as a space. Order counts only among items with the same name. `a`
///   and `a=` differ. Empty items and an empty query are ignored.
/// - Body: JSON by value, forms like queries, multipart by parts, anything else as bytes; see ``BodyContent``.
///
/// ``MatchingRules`` change this for the requests that they match.
package struct MatchKeyMaker: Sendable {
  /// The rules; nil if there are none.
  package let book: RuleBook?

  /// - Parameter book: the rules; nil or empty for none.
  package init(_ book: RuleBook? = nil) {
    self.book = book?.isEmpty == true ? nil : book
  }

  /// The key of a request without rules. Allocates nothing if both query and body are empty.
  ///
  /// - Parameters:
  ///   - method: as sent.
  ///   - upstream: its index among the environment's upstreams.
  ///   - target: in origin form, with the query.
  ///   - contentType: the value of `Content-Type`.
  ///   - body: without transfer coding and content coding.
  /// - Returns: the key.
  package func key(
    method: UnsafeRawBufferPointer, upstream: Int, target: UnsafeRawBufferPointer,
    contentType: UnsafeRawBufferPointer?, body: UnsafeRawBufferPointer
  ) -> MatchKey {
    var hash = SipHash()
    appendHead(method: method, upstream: upstream, target: target, to: &hash)
    if body.isEmpty {
      BodyContent.appendEnd(ofBytes: 0, to: &hash)
    } else {
      BodyContent(body, contentType: contentType).append(to: &hash)
    }
    return MatchKey(hash.finish())
  }

  /// Adds everything except the body to a hash.
  @inline(__always)
  private func appendHead(
    method: UnsafeRawBufferPointer, upstream: Int, target: UnsafeRawBufferPointer, to hash: inout SipHash
  ) {
    // Each part is followed by its length, which makes the encoding unambiguous when read from the end.
    hash.append(method)
    hash.append(number: method.count)
    hash.append(number: upstream)
    let mark = target.offset(of: UInt8(ascii: "?")) ?? target.count
    CanonicalPath.append(UnsafeRawBufferPointer(rebasing: target[..<mark]), to: &hash)
    if mark + 1 < target.count {
      QueryItems.append(UnsafeRawBufferPointer(rebasing: target[(mark + 1)...]), to: &hash)
    } else {
      hash.append(number: 0)
    }
  }

  /// Adds everything except the body to a hash.
  func appendHead(method: String, upstream: Int, target: String, to hash: inout SipHash) {
    var method = method
    var target = target
    method.withUTF8 { method in
      target.withUTF8 { target in
        appendHead(
          method: UnsafeRawBufferPointer(method), upstream: upstream, target: UnsafeRawBufferPointer(target), to: &hash)
      }
    }
  }

  /// The keys of a request by the rules.
  ///
  /// - Parameters:
  ///   - method: as sent.
  ///   - upstream: its index among the environment's upstreams.
  ///   - target: in origin form, with the query.
  ///   - headers: as sent.
  ///   - body: without transfer coding and content coding.
  /// - Returns: the keys.
  /// - Throws: an error if a pattern takes too long.
  package func keys(
    method: String, upstream: Int, target: String, headers: Headers, body: [UInt8]
  ) throws -> RequestKeys {
    var method = method
    var target = target
    var contentType = headers["Content-Type"] ?? ""
    let plain = method.withUTF8 { method in
      target.withUTF8 { target in
        contentType.withUTF8 { contentType in
          body.withUnsafeBytes { body in
            key(
              method: UnsafeRawBufferPointer(method), upstream: upstream, target: UnsafeRawBufferPointer(target),
              contentType: UnsafeRawBufferPointer(contentType), body: body)
          }
        }
      }
    }
    guard let book else { return RequestKeys(key: plain, plain: plain) }
    return try body.withUnsafeBytes { body in
      let compared = try ComparedRequest(
        method: method, upstream: upstream, target: target, headers: headers, body: body, by: book)
      return RequestKeys(key: compared.criteria.applied.isEmpty ? plain : compared.key, plain: plain)
    }
  }

  /// The keys of a recorded request.
  ///
  /// - Parameters:
  ///   - request: the recorded request.
  ///   - upstream: the index of its upstream.
  ///   - body: streams its body from a file.
  /// - Returns: the keys.
  /// - Throws: errors of `body`; an error if a pattern takes too long.
  package func keys(
    of request: RecordedRequest, upstream: Int, body: (inout KeyStream) throws -> Void
  ) throws -> RequestKeys {
    let target = RecordedURL(request.url).target
    if case .bytes(let bytes) = request.body, bytes.count <= KeyStream.heldLimit {
      return try keys(
        method: request.method, upstream: upstream, target: target, headers: request.headers, body: bytes)
    }
    var stream = try KeyStream(
      self, method: request.method, upstream: upstream, target: target, headers: request.headers)
    if case .bytes(let bytes) = request.body {
      bytes.withUnsafeBytes { stream.push($0) }
    } else {
      try body(&stream)
    }
    return try stream.finish()
  }
}

/// The keys to look up a request.
package struct RequestKeys: Sendable, Equatable {
  /// The key by the rules.
  package let key: MatchKey
  /// The key without rules, which distinguishes requests that only rules make equal.
  package let plain: MatchKey

  /// Keys that are never looked up.
  static let none = RequestKeys(key: MatchKey(high: 0, low: 0), plain: MatchKey(high: 0, low: 0))
}
