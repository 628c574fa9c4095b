package import HTTPMessages

/// Which address at the endpoints stands for which upstream, and both ways of translating messages.
///
/// An app that reaches its backends through endpoints must find no other address in their answers, and the
/// backends must find no endpoint in its requests: what is matched, recorded and forwarded speaks of upstreams only.
/// Everything here is pure; one map serves one environment for its whole life.
///
/// ```swift
/// let map = AddressMap(
///   upstreams: [.init(name: "api", origin: try Origin(parsing: "https://dev.api1.com"), port: 20013)],
///   mainPort: 20011)
/// map.requestTarget("/login?next=http%3A%2F%2F127.0.0.1%3A20013%2Fhome")
/// // "/login?next=https%3A%2F%2Fdev.api1.com%2Fhome"
/// ```
package struct AddressMap: Sendable {
  /// How a request reached the environment; its answer speaks of upstreams in the same form.
  package enum Form: Sendable {
    /// At the upstream's own port: `http://127.0.0.1:PORT/path`.
    case ownPort
    /// At the main port, the upstream named by the first path segment: `http://127.0.0.1:MAIN/dev.api1.com/path`.
    case pathSegment
    /// At the main port as at a proxy: `GET http://dev.api1.com/path`.
    case absolute
  }

  /// A declared upstream and the port of its endpoint.
  package struct Upstream: Sendable {
    /// As in `--upstream NAME=URL`.
    package let name: String
    /// The backend.
    package let origin: Origin
    /// The endpoint's own port on 127.0.0.1.
    package let port: UInt16
    /// Where the backend was when it was recorded, if elsewhere. In recorded answers these are its address too, so that
    /// a test backend on a changing port keeps its cassette.
    package let formerOrigins: [Origin]
    /// The origin's text and its authority: each request asks for them.
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

  /// In the order of their declaration; an index into it names an upstream everywhere.
  package let upstreams: [Upstream]
  /// The environment's main port on 127.0.0.1.
  package let mainPort: UInt16
  /// The name of each upstream as first path segment: its authority, or with the port written out where an
  /// upstream declared before has the same authority under the other scheme.
  let segments: [String]
  /// Every `host[:port]` that names an upstream on the main port.
  let authorities: [Authority]
  /// 127.0.0.1, localhost and ::1 with each port that is ours.
  let endpoints: [Endpoint]
  /// The ports of ``endpoints``.
  let ports: [Int]
  private let matchers = UpstreamURLMatchers()

  /// A way to write the authority of an upstream, in lower case.
  struct Authority: Sendable {
    let text: [UInt8]
    let upstream: Int
  }

  /// `host:port` of a listener, and the upstream behind it; nil on the main port.
  struct Endpoint: Sendable {
    let authority: [UInt8]
    let upstream: Int?
  }

  package init(upstreams: [Upstream], mainPort: UInt16) {
    self.upstreams = upstreams
    self.mainPort = mainPort
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
    self.segments = segments
    // Longest first, so that `host:8080` is found before `host`.
    self.authorities = authorities.sorted { $0.text.count > $1.text.count }
    // Ports in use before ports of the past, should they be the same.
    var handlers: [(port: Int, upstream: Int?)] = [(Int(mainPort), nil)]
    handlers += upstreams.enumerated().map { (Int($1.port), $0) }
    for (index, upstream) in upstreams.enumerated() {
      for former in upstream.formerOrigins where former.scheme == "http" && Self.loopback.contains(former.host) {
        handlers.append((former.port, index))
      }
    }
    ports = handlers.map(\.port)
    endpoints = handlers.flatMap { port, upstream in
      Self.loopback.map { Endpoint(authority: Array("\($0):\(port)".utf8), upstream: upstream) }
    }
  }

  /// Finds addresses of upstreams in an answer.
  package func matcher(upstream index: Int, form: Form, onlyOrigins: Bool = false) -> UpstreamURLMatcher {
    matchers.matcher(map: self, upstream: index, form: form, onlyOrigins: onlyOrigins)
  }

  static let loopback = ["127.0.0.1", "localhost", "[::1]"]

  /// The upstream that `host[:port]` names as first path segment or in a request in absolute form.
  ///
  /// - Parameter authority: compared without regard to case; a default port may be written out or not, and the name may end with a dot.
  /// - Returns: its index, nil when none is declared so. Where both `http` and `https` are declared for a host, the
  ///   bare host is the one declared first and `host:80`, `host:443` tell them apart.
  package func upstream(authority: String) -> Int? {
    var lowered = authority.utf8.map(\.asciiLowercased)
    let hostEnd = lowered.lastIndex(of: AddressByte.colon) ?? lowered.endIndex
    if hostEnd > 0, lowered[hostEnd - 1] == AddressByte.dot { lowered.remove(at: hostEnd - 1) }
    return authorities.first { $0.text == lowered }?.upstream
  }

  /// The address by which the app knows an upstream, without a closing slash: what stands for its origin.
  func appAddress(of index: Int, form: Form) -> String {
    switch form {
    case .ownPort: "http://127.0.0.1:\(upstreams[index].port)"
    case .pathSegment: "http://127.0.0.1:\(mainPort)/\(segments[index])"
    case .absolute: "http://\(segments[index])"
    }
  }

  /// Whether an upstream's address is an endpoint's own, as that of a test's backend whose port came round again: to
  /// translate it changes nothing then, here alone.
  package var hasUpstreamAtEndpoint: Bool {
    let own = upstreams.indices.map { appAddress(of: $0, form: .ownPort) }
    return upstreams.contains { upstream in
      ([upstream.origin] + upstream.formerOrigins).contains { own.contains($0.description) }
    }
  }

  /// Whether an app that takes us for its proxy knows the upstream by another address than its own: `https`, since that
  /// would pass us by, and where `http` and `https` of one host have to be told apart.
  func changesInAbsoluteForm(_ index: Int) -> Bool {
    appAddress(of: index, form: .absolute) != upstreams[index].origin.description
  }
}
