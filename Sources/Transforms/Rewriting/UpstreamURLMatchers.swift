import Basics

/// A cache of the URL matchers of an address map.
///
/// A matcher is created on first use, because creating one takes longer than rewriting a short response.
final class UpstreamURLMatchers: Sendable {
  private struct Key: Hashable {
    let upstream: Int
    let form: AddressMap.Form
    let onlyOrigins: Bool
  }

  private let made = Guarded<[Key: UpstreamURLMatcher]>([:])

  /// Returns the matcher for an upstream's responses.
  ///
  /// - Parameters:
  ///   - map: must be the same in every call.
  ///   - index: the upstream that responded.
  ///   - form: the form of the request.
  ///   - onlyOrigins: whether to translate to origins, which have no path.
  /// - Returns: the cached matcher for these arguments.
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
