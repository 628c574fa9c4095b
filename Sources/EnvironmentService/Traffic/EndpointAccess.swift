import HTTPMessages
import HTTPServer

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Decides which requests an endpoint serves, by what a browser reports about the page that sends them.
///
/// Endpoints listen on a loopback address without requiring a token, so any page in the user's browser can send
/// requests to them. But pages cannot change what the browser itself reports: `Host` has the name that a page has
/// rebound to 127.0.0.1, and a request from another site has `Sec-Fetch-Site: cross-site` (W3C Fetch Metadata).
package struct EndpointAccess: Sendable {
  private let upstreams: [Origin]
  /// The name or address of the endpoints.
  private let host: String
  /// Additional hosts that the environment allows, in lower case.
  private let allowedHosts: Set<String>
  /// Whether all hosts and pages are allowed.
  private let isOpen: Bool
  /// Whether pages of other sites could do harm: spend secrets, or add to a recording.
  private let hasStakes: Bool

  /// - Parameters:
  ///   - upstreams: the origins of the upstreams.
  ///   - host: the name or address by which programs reach the endpoints.
  ///   - allowedHosts: as in ``EnvironmentSpecification/allowedHosts``.
  ///   - hasStakes: whether the environment records, or adds secrets to requests.
  init(upstreams: [Origin], host: String = "127.0.0.1", allowedHosts: [String], hasStakes: Bool) {
    self.host = host
    self.upstreams = upstreams
    self.allowedHosts = Set(allowedHosts.map { $0.lowercased() })
    isOpen = allowedHosts.contains("*")
    self.hasStakes = hasStakes
  }

  /// Whether a request can be served without a full ``check(_:at:)``, and has no ``ClientMark``. Does not allocate.
  func admitsAtOnce(_ request: borrowing RequestView, at port: UInt16) -> Bool {
    guard request.header("Diorama-Client") == nil else { return false }
    if isOpen { return true }
    guard !hasStakes || (request.header("Sec-Fetch-Site") == nil && request.header("Upgrade") == nil),
      let host = request.header("Host")
    else { return false }
    return Self.isEndpoint(host, "127.0.0.1", port) || Self.isEndpoint(host, "localhost", port)
  }

  /// Whether a host is `name` or `name:port`.
  private static func isEndpoint(_ host: UnsafeRawBufferPointer, _ name: StaticString, _ port: UInt16) -> Bool {
    let length = name.utf8CodeUnitCount
    guard host.count >= length, let start = host.baseAddress, memcmp(start, name.utf8Start, length) == 0 else {
      return false
    }
    guard host.count > length else { return true }
    guard host[length] == UInt8(ascii: ":"), host.count <= length + 6 else { return false }
    var number = 0
    for index in length + 1..<host.count {
      guard 0x30...0x39 ~= host[index] else { return false }
      number = number * 10 + Int(host[index] - 0x30)
    }
    return number == Int(port)
  }

  /// Checks a request.
  ///
  /// - Parameters:
  ///   - request: the request as received.
  ///   - port: the port on which it arrived.
  /// - Throws: a ``Problem`` for a host that is not allowed, or a request from a page of another site.
  func check(_ request: Request, at port: UInt16) throws(Problem) {
    guard !isOpen else { return }
    let headers = request.headers
    // An absolute target contains the host, and `Host` is ignored (RFC 9112, 3.2.2).
    if request.target.utf8.first == UInt8(ascii: "/"), let host = headers["Host"] {
      guard let (name, given) = Origin.split(authority: host),
        isAllowed(name, port: given) || (isLoopback(name) && given ?? Int(port) == Int(port))
      else {
        throw Problem(
          status: 403, title: "Host header not allowed",
          detail: "'\(host)' is neither an endpoint's address nor an upstream's; "
            + "use the endpoint's URL, or allow the name (--allowed-host, allowedHosts)")
      }
    }
    let isCrossSite = headers.all("Sec-Fetch-Site").contains { $0.equalsIgnoringASCIICase("cross-site") }
    // A page's WebSocket handshake may lack Sec-Fetch-Site, but always has an Origin (RFC 6455, 10.2).
    let isHandshake = headers["Upgrade"] != nil && headers["Origin"] != nil
    let page = headers["Origin"] ?? headers["Referer"]
    guard hasStakes, isCrossSite || isHandshake, !isKnown(page: page) else { return }
    throw Problem(
      status: 403, title: "Cross-origin request refused",
      detail: "a page of another site (\(page ?? "unnamed")) sent this request while the environment records or adds "
        + "secrets to requests; allow the page's host (--allowed-host, allowedHosts)")
  }

  private func isKnown(page: String?) -> Bool {
    guard let page, let scheme = page.firstRange(of: "://") else { return false }
    let authority = page[scheme.upperBound...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    guard let (host, port) = Origin.split(authority: String(authority)) else { return false }
    return isLoopback(host) || isAllowed(host, port: port)
  }

  private func isAllowed(_ host: String, port: Int?) -> Bool {
    let host = host.hasSuffix(".") ? String(host.dropLast()) : host
    return allowedHosts.contains(host)
      || upstreams.contains { $0.host == host && $0.port == port ?? Origin.defaultPort(of: $0.scheme) }
  }

  /// Whether a name always refers to this machine (RFC 6761, 6.3), so that it cannot be rebound, or is the endpoints' own.
  private func isLoopback(_ host: String) -> Bool {
    Origin.loopbackNames.contains(host) || host.hasSuffix(".localhost") || host == self.host
  }
}
