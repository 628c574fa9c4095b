package import HTTPMessages

/// Tracks which upstream has set which cookie.
///
/// Cookies are not separated by port (RFC 6265, section 8.5). To an app, all endpoints are one host, so it sends the
/// cookies of one upstream to all of them. Real upstreams have separate hosts, and this type restores that separation:
/// a cookie is sent only to the upstream that set it. If several upstreams set a cookie with the same name, the app can
/// keep only one of them; each upstream receives the value that it set itself. If one upstream deletes such a cookie,
/// the app is instructed to keep the cookie of another. Cookies that no upstream has set belong to the app and are
/// always sent.
package struct CookieOwners: Sendable {
  /// The cookies that one upstream has set under one name, one for each path.
  private struct Cookie: Sendable {
    private struct Value: Sendable {
      let path: String
      /// Nil if it is only known that the cookie was set.
      var value: String?
      /// The `Set-Cookie` value that the app received for it.
      var field: String?
    }

    /// The number of former values that are still recognized, for an app that has not yet received the latest one.
    private static let remembered = 8

    private var standing: [Value] = []
    private var former: [String] = []

    /// Whether a cookie was set whose value is not known.
    var hasUnknown: Bool { standing.contains { $0.value == nil } }

    mutating func set(_ value: String?, path: String, field: String?) {
      take(path)
      standing.append(Value(path: path, value: value, field: field))
    }

    /// Removes the cookie of a path. Its value is still recognized as a former value.
    mutating func take(_ path: String) {
      guard let index = standing.firstIndex(where: { $0.path == path }) else { return }
      guard let value = standing.remove(at: index).value else { return }
      former.removeAll { $0 == value }
      former = former.suffix(Self.remembered - 1) + [value]
    }

    /// The `Set-Cookie` value that the app received for a path.
    func field(path: String) -> String? { standing.first { $0.path == path && $0.value != nil }?.field }

    func has(_ value: String) -> Bool { standing.contains { $0.value == value } || former.contains(value) }

    /// The value to send with a request: with several matches, the one with the longest path (RFC 6265, section 5.4).
    func value(for target: String) -> String? {
      standing.filter { $0.value != nil && SetCookie.path($0.path, covers: target) }
        .max { $0.path.utf8.count < $1.path.utf8.count }?.value
    }
  }

  /// Cookies by name, then by upstream.
  private var cookies: [String: [Int: Cookie]] = [:]
  private let hosts: [String]
  /// Whether the cookies of the recording were learned.
  package private(set) var knowsRecorded = false

  /// - Parameter hosts: the hosts of the upstreams, in order.
  package init(hosts: [String]) { self.hosts = hosts }

  /// Learns the cookies of an upstream's response.
  ///
  /// - Parameters:
  ///   - fields: the values of `Set-Cookie`.
  ///   - shown: the values as the app receives them; nil if they are the same.
  ///   - upstream: the index of the upstream.
  ///   - target: the target of the request.
  ///   - date: the `Date` field of the response.
  /// - Returns: replacements for fields, by position. Each replaces a field that would delete another upstream's cookie
  ///   from the app's cookie jar, and sets that cookie again.
  @discardableResult
  package mutating func learn(
    _ fields: [String], shown: [String]? = nil, from upstream: Int, target: String = "/", date: String? = nil
  ) -> [Int: String] {
    var kept: [Int: String] = [:]
    for (position, field) in fields.enumerated() {
      guard let set = SetCookie(field, date: date) else { continue }
      let path = set.path(in: target)
      let owners = owners(of: set, from: upstream)
      for owner in owners {
        if set.isGone {
          cookies[set.name]?[owner]?.take(path)
        } else {
          cookies[set.name, default: [:]][owner, default: Cookie()]
            .set(set.value, path: path, field: shown?[position] ?? field)
        }
      }
      guard set.isGone, let setters = cookies[set.name] else { continue }
      let others = setters.keys.filter { !owners.contains($0) }.sorted()
      kept[position] = others.compactMap { setters[$0]?.field(path: path) }.first
    }
    return kept
  }

  /// Learns the cookies of the recording in advance, since an app may still have them from an earlier run.
  package mutating func learn(recorded: [RecordedSetCookies]) {
    knowsRecorded = true
    for one in recorded {
      for set in one.fields.compactMap({ SetCookie($0) }) {
        for owner in owners(of: set, from: one.upstream) where cookies[set.name]?[owner] == nil {
          cookies[set.name, default: [:]][owner, default: Cookie()]
            .set(nil, path: set.path(in: one.target), field: nil)
        }
      }
    }
  }

  /// Adapts the `Cookie` fields for an upstream.
  ///
  /// - Parameters:
  ///   - headers: the fields of the request.
  ///   - upstream: the index of the upstream.
  ///   - target: the target of the request.
  /// - Returns: the fields; equal to `headers` if nothing had to change.
  package func passed(_ headers: Headers, to upstream: Int, target: String) -> Headers {
    guard !cookies.isEmpty else { return headers }
    var result = headers
    result.fields = headers.fields.compactMap { field in
      guard field.name.equalsIgnoringASCIICase("Cookie") else { return field }
      let pairs = field.value.split(separator: ";", omittingEmptySubsequences: false)
      var passed: [String] = []
      for pair in pairs {
        guard let own = self.pair(String(pair), to: upstream, target: target) else { continue }
        // The request may already contain the pair that replaces another upstream's.
        let bare = own.trimmingBlanks
        let isThere =
          pairs.contains { $0.trimmingBlanks == bare } || passed.contains { $0.trimmingBlanks == bare }
        if own == pair || !isThere { passed.append(own) }
      }
      if passed.elementsEqual(pairs, by: { $0 == $1 }) { return field }
      let value = passed.joined(separator: ";").drop { $0 == " " }
      return value.isEmpty ? nil : Headers.Field(field.name, String(value))
    }
    return result
  }

  /// Adapts a `name=value` pair for an upstream. Returns nil if the upstream must not receive it.
  private func pair(_ pair: String, to upstream: Int, target: String) -> String? {
    // A pair without a name is a value (RFC 6265bis, section 5.7).
    let start = pair.firstIndex(of: "=").map { pair.index(after: $0) }
    let name = start.map { pair[..<pair.index(before: $0)].trimmingBlanks } ?? ""
    let value = pair[(start ?? pair.startIndex)...].trimmingBlanks
    guard !(name.isEmpty && value.isEmpty), let setters = cookies[name] else { return pair }
    let own = setters[upstream]
    if let own, own.has(value) { return pair }
    let others = setters.filter { $0.key != upstream }.values
    guard others.contains(where: { $0.has(value) }) else {
      // The cookie belongs to the app, unless it may be one that is only known from the recording.
      return own == nil && others.contains(where: \.hasUnknown) ? nil : pair
    }
    // The cookie belongs to another upstream and has replaced this upstream's cookie in the app.
    return own?.value(for: target).map { pair[..<(start ?? pair.startIndex)] + $0 }
  }

  /// The upstreams that a cookie applies to: the one that set it, and those whose real hosts it covers.
  private func owners(of set: SetCookie, from upstream: Int) -> [Int] {
    guard hosts.indices.contains(upstream) else { return [] }
    let host = hosts[upstream]
    // Local upstreams differ only by port, so each port counts as a separate host.
    guard !Self.isLocal(host) else { return [upstream] }
    return hosts.indices.filter { index in
      if index == upstream || hosts[index] == host { return true }
      guard let domain = set.domain else { return false }
      return Self.host(host, isIn: domain) && Self.host(hosts[index], isIn: domain)
    }
  }

  private static func isLocal(_ host: String) -> Bool {
    host == "localhost" || host.hasPrefix("127.") || host == "[::1]" || host.hasSuffix(".localhost")
  }

  private static func host(_ host: String, isIn domain: String) -> Bool {
    host == domain || host.hasSuffix("." + domain)
  }
}
