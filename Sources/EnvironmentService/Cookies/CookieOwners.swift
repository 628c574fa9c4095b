import HTTPMessages

/// Which upstream has set which cookie.
///
/// Cookies do not know ports (RFC 6265, 8.5): for an app all endpoints are one host, so that it sends what one upstream
/// has set to all. In reality each has a host of its own, and so it is here: a cookie goes back to whom it came from. One
/// that several have set, of which an app can keep but one, goes to each with the value that it has set itself. What no
/// upstream has set is the app's own, and passes.
struct CookieOwners: Sendable {
  /// What one upstream has set under one name: a cookie for each path.
  private struct Cookie: Sendable {
    private struct Value: Sendable {
      let path: String
      /// Nil where it is only known that it was set.
      var value: String?
    }

    /// As many former values are known again, in an app that has not heard of the last.
    private static let remembered = 8

    private var standing: [Value] = []
    private var former: [String] = []

    /// Whether there are values that nobody knows.
    var hasUnknown: Bool { standing.contains { $0.value == nil } }

    mutating func set(_ value: String?, path: String?) {
      take(path)
      standing.append(Value(path: path ?? "/", value: value))
    }

    /// Takes one away; what it was is known again.
    mutating func take(_ path: String?) {
      guard let index = standing.firstIndex(where: { $0.path == path ?? "/" }) else { return }
      guard let value = standing.remove(at: index).value else { return }
      former.removeAll { $0 == value }
      former = former.suffix(Self.remembered - 1) + [value]
    }

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
  private(set) var knowsRecorded = false

  /// - Parameter hosts: the upstreams', in order.
  init(hosts: [String]) { self.hosts = hosts }

  /// An upstream sets cookies.
  ///
  /// - Parameters:
  ///   - fields: the values of `Set-Cookie`.
  ///   - upstream: its index.
  mutating func learn(_ fields: [String], from upstream: Int) {
    for field in fields {
      guard let set = SetCookie(field) else { continue }
      for owner in owners(of: set, from: upstream) {
        if set.isGone {
          cookies[set.name]?[owner]?.take(set.path)
        } else {
          cookies[set.name, default: [:]][owner, default: Cookie()].set(set.value, path: set.path)
        }
      }
    }
  }

  /// What the recording will set: whose a cookie is, is known before it is set, since an app may have it from before.
  mutating func learn(recorded: [RecordedSetCookies]) {
    knowsRecorded = true
    for one in recorded {
      for set in one.fields.compactMap({ SetCookie($0) }) {
        for owner in owners(of: set, from: one.upstream) where cookies[set.name]?[owner] == nil {
          cookies[set.name, default: [:]][owner, default: Cookie()].set(nil, path: set.path)
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
  func passed(_ headers: Headers, to upstream: Int, target: String) -> Headers {
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

/// The `Set-Cookie` fields of one recorded answer.
struct RecordedSetCookies: Sendable {
  var upstream: Int
  var fields: [String]
}

/// What of a `Set-Cookie` field tells whose a cookie is (RFC 6265, 5.2).
struct SetCookie {
  let name: String
  let value: String
  private(set) var domain: String?
  private(set) var path: String?
  /// Whether the field takes the cookie away.
  private(set) var isGone = false

  /// Nil for one with neither name nor value.
  init?(_ field: String) {
    let parts = field.split(separator: ";", omittingEmptySubsequences: false)
    let equals = parts[0].firstIndex(of: "=")
    name = equals.map { parts[0][..<$0].trimmingBlanks } ?? ""
    value = (equals.map { parts[0][$0...].dropFirst() } ?? parts[0]).trimmingBlanks
    guard !(name.isEmpty && value.isEmpty) else { return nil }
    for part in parts.dropFirst() {
      let pair = part.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      let content = pair.count == 2 ? pair[1].trimmingBlanks : ""
      switch pair[0].trimmingBlanks.lowercased() {
      case "domain":
        let bare = content.lowercased().drop { $0 == "." }
        domain = bare.isEmpty ? nil : String(bare)
      case "path": path = content.hasPrefix("/") ? content : nil
      case "max-age": isGone = Int(content).map { $0 <= 0 } ?? isGone
      // What is to go is dated to the beginning of time; a date that is only past may come of a clock that stands.
      case "expires": isGone = isGone || content.contains("1970") || content.contains("-70 ")
      default: break
      }
    }
  }

  /// Whether a cookie with this path goes with a request (RFC 6265, 5.1.4).
  static func path(_ path: String?, covers target: String) -> Bool {
    guard let path, path != "/" else { return true }
    let target = target.prefix { $0 != "?" }
    guard target.hasPrefix(path) else { return false }
    return path.hasSuffix("/") || target.utf8.count == path.utf8.count || target.dropFirst(path.count).first == "/"
  }
}
