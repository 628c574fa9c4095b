package import Basics
package import ControlAPI
import Diorama
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import Transforms

#if os(Linux)
  package import Interception

  // Commands whose connections lead to the environment, whatever URLs they have.
  extension Environment {
    /// What takes the connections of isolated commands. It is made at the first call, and stops with the environment.
    ///
    /// - Returns: the interceptor.
    /// - Throws: a ``CodedError`` if the environment has ended, or the system fails.
    package func isolated() throws(CodedError) -> Interceptor {
      try interceptor.withLock { interceptor throws(CodedError) in
        if let interceptor { return interceptor }
        guard !state.withLock({ $0.isOver }) else {
          throw CodedError(.noUpstream, "the environment has ended; create another one")
        }
        // Programs read the authority's certificate when they start, so that it has to outlast moves of the clock.
        let years = 10 * 365 * 86_400.0
        let authority = try CertificateAuthority(environment: id, dates: [Date(), now, now - years, now + years])
        let made = try Interceptor(
          server: server, authority: authority,
          delegate: InterceptedTraffic(self, certificatesUntil: authority.expiry))
        interceptor = made
        return made
      }
    }

    /// Closes all connections of isolated commands.
    package func stopIntercepting() async {
      await interceptor.withLock { $0.take() }?.stop()
    }

    /// Describes how to isolate a command.
    ///
    /// - Returns: the description.
    /// - Throws: a ``CodedError`` if the environment is not for isolated commands, or has ended.
    package func isolationPlan() throws(CodedError) -> IsolationPlan {
      guard let settings = specification.isolation else {
        throw CodedError(
          .usage, "environment \(id) is not for isolated commands; create one with --isolate (isolation.kind)")
      }
      let interceptor = try isolated()
      let origins = upstreams.map(\.origin.host) + settings.map.keys.compactMap { try? Origin(parsing: $0).host }
      let (clock, now, revision) = state.withLock { state in
        (state.live.state.clock, state.live.state.timeline.now, state.live.state.revision)
      }
      return IsolationPlan(
        environment: id, settings: settings, ports: specification.ports.values.sorted(),
        ownPorts: [mainPort] + upstreams.map(\.port).filter { $0 > 0 },
        hasLocalOrigins: origins.contains(where: Origin.loopbackNames.contains),
        certificate: Base64.encode(interceptor.authority?.certificate ?? []), seed: seed,
        clock: .init(clock: clock, now: RFC3339.format(now, exactly: true)), revision: revision)
    }
  }

  // What `diorama env enter` uses.
  extension Control {
    /// The name of the protocol after an upgrade: the bytes of a connection.
    private static let tunnelProtocol = "diorama-tunnel"

    private static let notIsolated = Problem(
      status: 409, title: "Cannot enter the environment",
      detail: "create an environment with --isolate (isolation.kind)")

    /// `GET /isolation`: describes how to isolate a command.
    func isolation() throws -> Response {
      let plan: IsolationPlan
      do { plan = try environment.isolationPlan() } catch {
        throw Problem(
          status: error.kind == .usage ? 409 : 503, title: "Cannot enter the environment", detail: error.message)
      }
      return Response(
        status: 200, headers: ["Content-Type": "application/json", "Cache-Control": "no-store"],
        body: .bytes(Array(try JSON.encode(plan))))
    }

    /// `POST /isolation`: adds to the report how a command is isolated.
    func note(_ note: IsolationNote) throws -> Response {
      guard environment.specification.isolation != nil else { throw Self.notIsolated }
      if let kind = note.kind, !Report.Isolation.kinds.contains(kind) {
        throw Problem(
          status: 400, title: "Invalid note",
          detail: "kind: '\(kind)' is not one of \(Report.Isolation.kinds.joined(separator: ", "))")
      }
      environment.noteIsolation(note)
      return Response(status: 204)
    }

    /// `GET /tunnel?address=ADDRESS&port=PORT&name=NAME`, or `?proxy=true`: becomes a connection of an isolated command.
    func tunnel(_ request: Request, query: String) throws -> Response {
      guard request.headers["Upgrade"] == Self.tunnelProtocol else {
        throw Problem(
          status: 426, title: "An upgrade is required", detail: "send Upgrade: \(Self.tunnelProtocol)",
          headers: ["Upgrade": Self.tunnelProtocol])
      }
      guard environment.specification.isolation != nil else { throw Self.notIsolated }
      let items = try ControlQuery(query)
      let destination: Destination
      if items["proxy"] == "true" {
        destination = Destination(proxyPort: environment.mainPort)
      } else {
        guard let address = items["address"], !address.isEmpty, let port = items["port"].flatMap(UInt16.init) else {
          throw Problem(status: 400, title: "No destination", detail: "give the address and the port of the connection")
        }
        destination = Destination(address: address, port: port, name: items["name"])
      }
      let interceptor: Interceptor
      do { interceptor = try environment.isolated() } catch {
        throw Problem(status: 503, title: "The environment has ended", detail: error.message)
      }
      var response = Response(status: 101, headers: ["Upgrade": Self.tunnelProtocol])
      response.takeover = { channel, received in
        interceptor.serve(channel, destination: destination, received: received)
      }
      return response
    }
  }
#endif
