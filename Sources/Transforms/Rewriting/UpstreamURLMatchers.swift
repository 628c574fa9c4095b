import HTTPMessages

/// The matchers of one address map.
///
/// Each is made when it is first asked for: to make one takes longer than to rewrite a short answer with it.
final class UpstreamURLMatchers: Sendable {
  private struct Key: Hashable {
    let upstream: Int
    let form: AddressMap.Form
    let onlyOrigins: Bool
  }

  private let made = Guarded<[Key: UpstreamURLMatcher]>([:])

  /// The matcher for answers of an upstream.
  ///
  /// - Parameters:
  ///   - map: always the same.
  ///   - index: the upstream that answered.
  ///   - form: how the request came.
  ///   - onlyOrigins: whether addresses stand for origins, which have no path.
  /// - Returns: the same for the same question.
  func matcher(
    map: AddressMap, upstream index: Int, form: AddressMap.Form, onlyOrigins: Bool
  ) -> UpstreamURLMatcher {
    let key = Key(upstream: index, form: form, onlyOrigins: onlyOrigins)
    if let matcher = made.withLock({ $0[key] }) { return matcher }
    let matcher = UpstreamURLMatcher(map: map, upstream: index, form: form, onlyOrigins: onlyOrigins)
    made.withLock { $0[key] = matcher }
    return matcher
  }
}
