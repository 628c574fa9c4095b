package import HTTPMessages

/// The rules of what counts as the same request, as INTERFACE.md has them: method, upstream, path, query and body.
///
/// - Method: as sent. Headers do not count.
/// - Path: `%7E` is `~`, since an escaped unreserved character is the character (RFC 3986, 6.2.2.2), and `%2f` is
///   `%2F`. Nothing else is touched, neither dot segments nor `//`: a server may tell them apart.
/// - Query: items between `&`, decoded, `+` being a space; order counts among those of one name only. `a` and `a=`
///   differ; empty items, and an empty query, are none.
/// - Body: JSON by value, forms as queries, multipart by parts, else bytes; ``BodyContent`` has the details.
///
/// With ``MatchingRules`` it is what they say, for the requests that they fit.
package struct MatchKeyMaker: Sendable {
  /// Nil without rules.
  package let book: RuleBook?

  /// - Parameter book: rules; one without any is none.
  package init(_ book: RuleBook? = nil) {
    self.book = book?.isEmpty == true ? nil : book
  }

  /// The key of a request, where there are no rules.
  ///
  /// Allocates nothing where there is neither a query nor a body.
  ///
  /// - Parameters:
  ///   - method: as sent.
  ///   - upstream: its index among the environment's.
  ///   - target: in origin form, with the query.
  ///   - contentType: the value of `Content-Type`.
  ///   - body: without transfer coding and content coding.
  /// - Returns: the key, the same for all requests that count as the same.
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

  /// Adds all but the body to a hash.
  @inline(__always)
  private func appendHead(
    method: UnsafeRawBufferPointer, upstream: Int, target: UnsafeRawBufferPointer, to hash: inout SipHash
  ) {
    // Every part is followed by its length: read from the end, no two requests give the same bytes.
    hash.append(method)
    hash.append(number: method.count)
    hash.append(number: upstream)
    let mark = target.offset(of: UInt8(ascii: "?")) ?? target.count
    CanonicalPath.append(UnsafeRawBufferPointer(rebasing: target[..<mark]), to: &hash)
    if mark + 1 < target.count {
      QueryItems(UnsafeRawBufferPointer(rebasing: target[(mark + 1)...])).append(to: &hash)
    } else {
      hash.append(number: 0)
    }
  }

  /// Adds all but the body to a hash.
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

  /// The keys of a request, by the rules.
  ///
  /// - Parameters:
  ///   - method: as sent.
  ///   - upstream: its index among the environment's.
  ///   - target: in origin form, with the query.
  ///   - headers: as sent.
  ///   - body: without transfer coding and content coding.
  /// - Returns: the keys.
  /// - Throws: when a pattern takes too long.
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
  ///   - request: what was recorded.
  ///   - upstream: the index of the upstream that it belongs to.
  ///   - body: reads its body, where that lies in a file, piece by piece.
  /// - Returns: the keys of any request that counts as the same.
  /// - Throws: what `body` throws; when a pattern takes too long.
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

/// By what a request is looked up.
package struct RequestKeys: Sendable, Equatable {
  /// By the rules.
  package let key: MatchKey
  /// As if there were no rules: tells requests apart that only rules make equal.
  package let plain: MatchKey

  /// Of what is never looked up.
  static let none = RequestKeys(key: MatchKey(high: 0, low: 0), plain: MatchKey(high: 0, low: 0))
}
