import Basics
package import HTTPMessages
package import HTTPServer
import Transforms

/// The request handler of the connections of an isolated command to one destination. Requests use the upstreams' own URLs.
///
/// The fast path answers replay hits as ``EndpointHandler``'s does; everything else goes to ``Pipeline``.
package final class InterceptedHandler: RequestHandler {
  private let endpoint: EndpointHandler
  private let environment: Environment
  private let client: UpstreamClient?
  private let scheme: String
  /// The host of requests that name none.
  private let host: String
  private let port: Int
  /// Whether the destination is a proxy, which serves absolute targets only.
  private let isProxy: Bool
  /// The upstream of the last `Host` field.
  private let last = Guarded<(host: [UInt8], index: Int)?>(nil)

  /// - Parameters:
  ///   - environment: answers the requests. Its command is isolated.
  ///   - scheme: `http` or `https`.
  ///   - host: the name or address to which the command connects; IPv6 addresses are in brackets.
  ///   - port: the port to which it connects.
  ///   - isProxy: whether it connects to a proxy.
  package init(_ environment: Environment, scheme: String, host: String, port: Int, isProxy: Bool = false) {
    let client = environment.client
    endpoint = EndpointHandler(environment, upstream: nil, client: client)
    self.environment = environment
    self.client = client
    self.isProxy = isProxy
    self.scheme = scheme
    self.host = host.lowercased()
    self.port = port
  }

  package func answer(_ request: borrowing RequestView) -> PreparedResponse? {
    guard !isProxy, environment.stubs.contract == nil, !environment.faults.isActive, !environment.stubs.isActive,
      !environment.specification.journalsRequests,
      let host = request.header("Host"),
      let index = last.withLock({ last in last.flatMap { $0.host.elementsEqual(host) ? $0.index : nil } })
    else { return nil }
    return environment.answer(request, at: index, isLive: client != nil)
  }

  package func respond(to request: Request) async throws -> Response {
    var request = request
    let route: Route
    do {
      let isAbsolute = request.target.utf8.first != UInt8(ascii: "/")
      let origin = try origin(of: &request)
      let index = try environment.interceptedUpstream(origin, for: request)
      if !isAbsolute, let host = request.headers["Host"] { last.withLock { $0 = (Array(host.utf8), index) } }
      route = .upstream(index, target: request.target, form: .ownURL)
    } catch {
      return error.response
    }
    return await endpoint.respond(to: request, as: nil, by: route)
  }

  /// The origin of a request. Its target becomes a path.
  ///
  /// The name is that of `Host`, and the port that of the connection: a request for a name that leads to another port is
  /// served there.
  private func origin(of request: inout Request) throws(Problem) -> Origin {
    if let absolute = Route.absolute(request.target) {
      request.target = absolute.rest
      if let origin = try? Origin(parsing: "\(absolute.scheme)://\(absolute.authority)") {
        return Origin(scheme: origin.scheme, host: Self.withoutDot(origin.host), port: origin.port)
      }
      throw Problem(
        status: 400, title: "The target is not valid", detail: "'\(absolute.authority)' is not a host with a port")
    }
    guard !isProxy else {
      throw Problem(
        status: 400, title: "This port is a proxy",
        detail: "use it as an HTTP proxy: CONNECT, or a target such as http://host/path")
    }
    guard let authority = request.headers["Host"], !authority.isEmpty else {
      return Origin(scheme: scheme, host: host, port: port)
    }
    guard let (name, _) = Origin.split(authority: authority) else {
      throw Problem(
        status: 400, title: "The host is not valid", detail: "'\(authority)' is not a host with a port (RFC 9110, 7.2)")
    }
    let named = Self.withoutDot(name)
    // Such a name would lead to this machine, although the command has connected to another one.
    let isLoopback = Origin.loopbackNames.contains(named) || named.hasSuffix(".localhost")
    return Origin(scheme: scheme, host: isLoopback ? host : named, port: port)
  }

  /// A host without the dot that can end a name.
  private static func withoutDot(_ host: String) -> String { host.hasSuffix(".") ? String(host.dropLast()) : host }
}
