/// The rules of what counts as the same request, as INTERFACE.md has them: method, upstream, path, query and body.
///
/// - Method: as sent. Headers do not count.
/// - Path: `%7E` is `~`, since an escaped unreserved character is the character (RFC 3986, 6.2.2.2), and `%2f` is
///   `%2F`. Nothing else is touched, neither dot segments nor `//`: a server may tell them apart.
/// - Query: items between `&`, decoded, `+` being a space; order counts among those of one name only. `a` and `a=`
///   differ; empty items, and an empty query, are none.
/// - Body: JSON by value, forms as queries, else bytes; ``BodyContent`` has the details.
package struct MatchKeyMaker: Sendable {
  package init() {}

  /// The key of a request.
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
    if body.isEmpty {
      hash.append(number: 0)
      hash.append(BodyContent.Tag.bytes.rawValue)
    } else {
      BodyContent(body, contentType: contentType).append(to: &hash)
    }
    let (high, low) = hash.finish()
    return MatchKey(high: high, low: low)
  }
}
