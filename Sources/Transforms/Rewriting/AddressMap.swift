package import HTTPMessages

/// Maps endpoint addresses to upstreams, and translates messages in both directions.
///
/// An app that reaches its backends through endpoints must see only endpoint addresses in their responses, and the
/// backends must see no endpoint address in its requests: requests are matched, recorded and forwarded with upstream
/// addresses only. All functions are pure. One map serves an environment for its whole lifetime.
///
/// ```swift
/// let map = AddressMap(
///   upstreams: [.init(name: "api", origin: try Origin(parsing: "https://dev.api1.com"), port: 20013)],
///   mainPort: 20011)
/// map.requestTarget("/login?next=http%3A%2F%2F127.0.0.1%3A20013%2Fhome")
/// // "/login?next=https%3A%2F%2Fdev.api1.com%2Fhome"
/// ```
package struct AddressMap: Sendable {
  /// How a request addressed its upstream. The response uses addresses of the same form.
  package enum Form: Sendable {
    /// To the upstream's own port: `http://127.0.0.1:PORT/path`.
    case ownPort
    /// To the main port, with the upstream as the first path segment: `http://127.0.0.1:MAIN/dev.api1.com/path`.
    case pathSegment
    /// To the main port as an HTTP proxy: `GET http://dev.api1.com/path`.
    case absolute
    /// With the upstream's own URL, by a client that passes its requests to the environment:
    /// `https://dev.api1.com/path`.
    case ownURL

    /// Whether the app sees each upstream under its own host, and keeps their cookies apart itself.
    package var showsHosts: Bool { self == .absolute || self == .ownURL }
  }

  /// A declared upstream and the port of its endpoint.
  package struct Upstream: Sendable {
    /// The name from `--upstream NAME=URL`.
    package let name: String
    /// The backend.
    package let origin: Origin
    /// The port of the endpoint on 127.0.0.1; 0 if the app reaches the upstream by its own URL only.
    package let port: UInt16
    /// The backend's origins at the time of recording, if they differ. Addresses with these origins in recorded
    /// responses are translated too, so a test backend on a changing port keeps its cassette.
    package let formerOrigins: [Origin]
    /// The texts of the origin and its authority, stored because every request needs them.
    package let url: String
    package let authority: String

    package init(name: String, origin: Origin, port: UInt16, formerOrigins: [Origin] = []) {
      self.name = name
      self.origin = origin
      self.port = port
      self.formerOrigins = formerOrigins
      url = origin.description
      authority = origin.authority
    }
  }

  /// The upstreams in the order of declaration. Other code refers to an upstream by its index.
  package private(set) var upstreams: [Upstream]
  /// The name or address by which the app reaches all ports, such as 127.0.0.1.
  package let host: String
  /// The environment's main port.
  package let mainPort: UInt16
  /// The places in responses that are not translated.
  package let kept: KeptAddresses
  /// The first path segment for each upstream: its authority, with an explicit port if an earlier upstream has the same
  /// authority with the other scheme.
  private(set) var segments: [String]
  /// Every `host[:port]` that names an upstream on the main port, and each upstream's own name.
  let authorities: [Authority]
  /// The names of ``hosts`` with each of our ports.
  let endpoints: [Endpoint]
  /// The ports of ``endpoints``.
  let ports: [Int]
  /// ``host``, and the loopback names.
  let hosts: [String]
  private let matchers = UpstreamURLMatchers()

  /// One way to write the authority of an upstream, in lower case.
  struct Authority: Sendable {
    let text: [UInt8]
    let upstream: Int
  }

  /// The `host:port` of a listener, and its upstream; nil for the main port.
  struct Endpoint: Sendable {
    let authority: [UInt8]
    let upstream: Int?
  }

  package init(
    upstreams: [Upstream], mainPort: UInt16, host: String = "127.0.0.1", kept: KeptAddresses = KeptAddresses()
  ) {
    self.host = host
    let hosts = Self.loopback.contains(host) ? Self.loopback : [host] + Self.loopback
    self.hosts = hosts
    self.upstreams = upstreams
    self.mainPort = mainPort
    self.kept = kept
    var authorities: [Authority] = []
    var segments: [String] = []
    for (index, upstream) in upstreams.enumerated() {
      let origin = upstream.origin
      let spellings = [origin.authority, "\(origin.host):\(origin.port)"]
      let isTaken = upstreams[..<index].contains { $0.origin != origin && $0.origin.authority == origin.authority }
      segments.append(isTaken ? spellings[1] : spellings[0])
      for text in spellings.map({ Array($0.utf8) }) where !authorities.contains(where: { $0.text == text }) {
        authorities.append(Authority(text: text, upstream: index))
      }
    }
    for (index, upstream) in upstreams.enumerated() {
      let name = upstream.name.utf8.map(\.asciiLowercased)
      guard !authorities.contains(where: { $0.text == name }) else { continue }
      authorities.append(Authority(text: name, upstream: index))
    }
    self.segments = segments
    // Longest first, so that `host:8080` is found before `host`.
    self.authorities = authorities.sorted { $0.text.count > $1.text.count }
    // If ports are equal, current ones take precedence over former ones.
    var handlers: [(port: Int, upstream: Int?)] = [(Int(mainPort), nil)]
    handlers += upstreams.enumerated().map { (Int($1.port), $0) }
    for (index, upstream) in upstreams.enumerated() {
      for former in upstream.formerOrigins where former.scheme == "http" && Self.loopback.contains(former.host) {
        handlers.append((former.port, index))
      }
    }
    ports = handlers.map(\.port)
    endpoints = handlers.flatMap { port, upstream in
      hosts.map { Endpoint(authority: Array("\($0):\(port)".utf8), upstream: upstream) }
    }
  }

  /// Adds an upstream without an endpoint. No address has to be translated for it.
  package mutating func append(_ upstream: Upstream) {
    upstreams.append(upstream)
    segments.append(upstream.authority)
  }

  /// Returns the matcher that finds addresses of upstreams in a response.
  package func matcher(upstream index: Int, form: Form, onlyOrigins: Bool = false) -> UpstreamURLMatcher {
    matchers.matcher(map: self, upstream: index, form: form, onlyOrigins: onlyOrigins)
  }

  static let loopback = ["127.0.0.1", "localhost", "[::1]"]

  /// Whether an authority in any case names one of our ports.
  package func isOwn(_ authority: String, port: UInt16) -> Bool {
    hosts.contains { authority.equalsIgnoringASCIICase("\($0):\(port)") }
  }

  /// The upstream that `host[:port]` names as the first path segment or in an absolute-form request.
  ///
  /// - Parameters:
  ///   - authority: compared ignoring case. A default port may be written or omitted, and the host name may end with a
  ///     dot. The upstream's name is also accepted.
  ///   - scheme: that of an absolute-form request, `http` or `https`; nil for a path segment.
  /// - Returns: the index, or nil if no declared upstream matches. If both `http` and `https` are declared for a host,
  ///   the bare host means the one with the scheme, or the first of them; `host:80` and `host:443` are unambiguous.
  package func upstream(authority: String, scheme: String? = nil) -> Int? {
    if let scheme, let origin = try? Origin(parsing: "\(scheme)://\(authority)"),
      let index = upstreams.firstIndex(where: { $0.origin == origin })
    {
      return index
    }
    var lowered = authority.utf8.map(\.asciiLowercased)
    let hostEnd = lowered.lastIndex(of: AddressByte.colon) ?? lowered.endIndex
    if hostEnd > 0, lowered[hostEnd - 1] == AddressByte.dot { lowered.remove(at: hostEnd - 1) }
    return authorities.first { $0.text == lowered }?.upstream
  }

  /// The address that replaces an upstream's origin for the app, without a trailing slash.
  func appAddress(of index: Int, form: Form) -> String {
    switch form {
    case .ownPort: "http://\(host):\(upstreams[index].port)"
    case .pathSegment: "http://\(host):\(mainPort)/\(segments[index])"
    case .absolute: "http://\(segments[index])"
    case .ownURL: upstreams[index].url
    }
  }

  /// Whether an upstream's address equals an endpoint's own, for example if a test backend's former port was assigned
  /// to an endpoint. Only then does translation leave an address unchanged.
  package var hasUpstreamAtEndpoint: Bool {
    let own = upstreams.indices.map { appAddress(of: $0, form: .ownPort) }
    return upstreams.contains { upstream in
      ([upstream.origin] + upstream.formerOrigins).contains { own.contains($0.description) }
    }
  }

  /// Whether an upstream's address differs for the app. For an app that uses Diorama as a proxy, it does for `https`,
  /// which would bypass the proxy, and to distinguish `http` from `https` on the same host.
  func changes(_ index: Int, form: Form) -> Bool {
    appAddress(of: index, form: form) != upstreams[index].url
  }
}
