package import Basics
import HTTPMessages

/// A host, or the subdomains of one, with an optional port: `api.example.com`, `*.example.com`, `localhost:8080`.
///
/// ```swift
/// let pattern = try HostPattern("*.example.com")
/// pattern.matches(host: "api.example.com", port: 443)  // true
/// pattern.matches(host: "example.com", port: 443)      // false
/// ```
package struct HostPattern: Sendable, Equatable {
  private let host: String
  private let coversSubdomains: Bool
  private let port: Int?

  /// Reads a pattern.
  ///
  /// - Parameter text: `HOST`, `*.HOST` or `*`, with an optional `:PORT`.
  /// - Throws: a `CodedError` if the text has another form, such as a URL's.
  package init(_ text: String) throws(CodedError) {
    let wildcard = text == "*" || text.hasPrefix("*:") ? "*" : text.hasPrefix("*.") ? "*." : ""
    // The name of any host, in place of the asterisk.
    let parsed = wildcard == "*" ? "any" + text.dropFirst() : String(text.dropFirst(wildcard.count))
    guard let (host, port) = Origin.split(authority: parsed), !host.hasPrefix(".") else {
      throw CodedError(
        .broken, "'\(text.prefix(100))' is not a host; write api.example.com, *.example.com or api.example.com:8080")
    }
    self.host = wildcard == "*" ? "" : host
    self.port = port
    coversSubdomains = !wildcard.isEmpty
  }

  /// Whether the pattern covers a host.
  ///
  /// - Parameters:
  ///   - name: in lower case, as in ``Origin/host``.
  ///   - number: the port.
  /// - Returns: whether both match.
  package func matches(host name: String, port number: Int) -> Bool {
    guard port == nil || port == number else { return false }
    guard coversSubdomains else { return name == host }
    return host.isEmpty || name.hasSuffix("." + host)
  }
}

extension EnvironmentConfiguration.Isolation {
  /// - Throws: a `CodedError` that names the first invalid setting.
  func check() throws(CodedError) {
    for (member, hosts) in [("allow", allow), ("deny", deny)] {
      for (index, host) in hosts.enumerated() {
        _ = try CodedError.translating(at: "isolation.\(member)[\(index)]", try HostPattern(host))
      }
    }
    let allowed = try allow.map { host throws(CodedError) in try HostPattern(host) }
    for (index, host) in deny.enumerated() where allowed.contains(try HostPattern(host)) {
      throw CodedError(
        .broken, "isolation.deny[\(index)]: '\(host)' is allowed, too (isolation.allow); remove it from one of them")
    }
    for (origin, url) in map.sorted(by: { $0.key < $1.key }) {
      _ = try CodedError.translating(at: "isolation.map", try Origin(parsing: origin))
      _ = try CodedError.translating(at: "isolation.map.\(origin)", try Origin(parsing: url))
    }
  }
}
