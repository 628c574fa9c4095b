package import HTTPMessages

/// Which upstream has set which cookie.
///
/// Cookies do not know ports (RFC 6265, 8.5): for an app all endpoints are one host, so that it sends what one upstream
/// has set to all. In reality each has a host of its own, and so it is here: a cookie goes back to whom it came from. One
/// that several have set, of which an app can keep but one, goes to each with the value that it has set itself. Where one
/// of them takes it away the app is told to keep another's. What no upstream has set is the app's own, and passes.
package struct CookieOwners: Sendable {
  /// What one upstream has set under one name: a cookie for each path.
  private struct Cookie: Sendable {
    private struct Value: Sendable {
      let path: String
      /// Nil where it is only known that it was set.
      var value: String?
      /// By what the app was told to keep it.
      var field: String?
    }

    /// As many former values are known again, in an app that has not heard of the last.
    private static let remembered = 8

    private var standing: [Value] = []
    private var former: [String] = []

    /// Whether there are values that nobody knows.
    var hasUnknown: Bool { standing.contains { $0.value == nil } }

    mutating func set(_ value: String?, path: String, field: String?) {
      take(path)
      standing.append(Value(path: path, value: value, field: field))
    }

    /// Takes one away; what it was is known again.
    mutating func take(_ path: String) {
      guard let index = standing.firstIndex(where: { $0.path == path }) else { return }
      guard let value = standing.remove(at: index).value else { return }
      former.removeAll { $0 == value }
      former = former.suffix(Self.remembered - 1) + [value]
    }

    /// By what an app was told to keep the one of a path.
    func field(path: String) -> String? { standing.first { $0.path == path && $0.value != nil }?.field }

    func has(_ value: String) -> Bool { standing.contains { $0.value == value } || former.contains(value) }

    /// The one that goes with a request: of several that with the longest path (RFC 6265, 5.4).
    func value(for target: String) -> String? {
      standing.filter { $0.value != nil && SetCookie.path($0.path, covers: target) }
        .max { $0.path.utf8.count < $1.path.utf8.count }?.value
    }
  }

  /// By name, then by upstream.
  private var cookies: [String: [Int: Cookie]] = [:]
  private let hosts: [String]
  /// Whether what the recording sets is known.
  package private(set) var knowsRecorded = false

  /// - Parameter hosts: the upstreams', in order.
  package init(hosts: [String]) { self.hosts = hosts }

  /// An upstream sets cookies.
  ///
  /// - Parameters:
  ///   - fields: the values of `Set-Cookie`.
  ///   - shown: the same as the app gets them; the former where none are given.
  ///   - upstream: its index.
  ///   - target: of the request that it answers.
  ///   - date: of its answer, as it says.
  /// - Returns: by position, what the app is to be told in place of a field that takes from its jar what another upstream
  ///   has set there: that it is to keep that.
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

  /// What the recording will set: whose a cookie is, is known before it is set, since an app may have it from before.
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

  /// The `Cookie` fields as an upstream is to see them.
  ///
  /// - Parameters:
  ///   - headers: of the request.
  ///   - upstream: its index.
  ///   - target: of the request.
  /// - Returns: the fields, equal to those given where nothing had to be changed.
  package func passed(_ headers: Headers, to upstream: Int, target: String) -> Headers {
    guard !cookies.isEmpty else { return headers }
    var result = headers
    result.fields = headers.fields.compactMap { field in
      guard field.name.equalsIgnoringASCIICase("Cookie") else { return field }
      let pairs = field.value.split(separator: ";", omittingEmptySubsequences: false)
      var passed: [String] = []
      for pair in pairs {
        guard let own = self.pair(String(pair), to: upstream, target: target) else { continue }
        // What takes the place of another's may be there itself.
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

  /// `name=value` as an upstream is to see it; nil where it is none of its business.
  private func pair(_ pair: String, to upstream: Int, target: String) -> String? {
    // One without a name is its value (RFC 6265bis, 5.7).
    let start = pair.firstIndex(of: "=").map { pair.index(after: $0) }
    let name = start.map { pair[..<pair.index(before: $0)].trimmingBlanks } ?? ""
    let value = pair[(start ?? pair.startIndex)...].trimmingBlanks
    guard !(name.isEmpty && value.isEmpty), let setters = cookies[name] else { return pair }
    let own = setters[upstream]
    if let own, own.has(value) { return pair }
    let others = setters.filter { $0.key != upstream }.values
    guard others.contains(where: { $0.has(value) }) else {
      // The app's own, unless it may be one of which only the recording knows.
      return own == nil && others.contains(where: \.hasUnknown) ? nil : pair
    }
    // Another's, which has taken the place of its own in the app.
    return own?.value(for: target).map { pair[..<(start ?? pair.startIndex)] + $0 }
  }

  /// For whom a cookie is: the upstream itself, and those whose hosts it covers in reality, too.
  private func owners(of set: SetCookie, from upstream: Int) -> [Int] {
    guard hosts.indices.contains(upstream) else { return [] }
    let host = hosts[upstream]
    // On this machine ports stand for machines.
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
