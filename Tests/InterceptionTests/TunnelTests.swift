import Basics
import Foundation
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@testable import Interception

@Suite("A tunnel to another interceptor", .timeLimit(.minutes(5)))
struct TunnelTests {
  /// Runs a test with an interceptor that passes its connections on to another one.
  ///
  /// - Parameters:
  ///   - status: the status with which the other side answers; 101 to accept connections.
  ///   - isProxy: whether the listener is a proxy.
  ///   - body: gets the interceptor, the one that it passes connections on to, and the port of the first.
  /// - Throws: the errors of `body`.
  private func withTunnel(
    status: Int = 101, isProxy: Bool = false,
    _ body: (_ near: TestDelegate, _ far: Setting, UInt16) async throws -> Void
  ) async throws {
    try await withInterceptor { far in
      let handler = TestHandler { [interceptor = far.interceptor] request in
        var response = Response(status: status, headers: status == 101 ? ["Upgrade": "bytes"] : [:])
        guard status == 101 else { return response }
        let parts = request.target.dropFirst().split(separator: "/").map(String.init)
        let number = try #require(UInt16(parts[1]))
        let destination =
          parts[2] == "true" ? Destination(proxyPort: number) : Destination(address: parts[0], port: number)
        response.takeover = { channel, received in
          interceptor.serve(channel, destination: destination, received: received)
        }
        return response
      }
      let listener = try far.server.listen(handler: handler)
      let tunnel = Tunnel(to: RelayTarget(host: "127.0.0.1", port: listener.port)) { destination in
        Array(
          ("GET /\(destination.address)/\(destination.port)/\(destination.isProxy) HTTP/1.1\r\nHost: a\r\n"
            + "Connection: Upgrade\r\nUpgrade: bytes\r\n\r\n").utf8)
      }
      let server = try HTTPServer(HTTPServer.Configuration())
      let delegate = TestDelegate(TestHandler.mirror)
      let near = try Interceptor(
        server: server, authority: nil, delegate: delegate, configuration: .init(tunnel: tunnel))
      let (descriptor, port) = try tcpListener()
      try near.start(listener: descriptor) {
        isProxy ? Destination(proxyPort: port) : Destination(localAddressOf: $0)
      }
      let result: Result<Void, any Error>
      do { result = .success(try await body(delegate, far, port)) } catch { result = .failure(error) }
      await near.stop()
      await server.stop(grace: .zero)
      listener.close()
      try result.get()
    }
  }

  @Test("carries requests, by HTTP/2 over TLS and without it, and large bodies in both directions")
  func requests() async throws {
    try await withTunnel { _, far, port in
      let half = String(repeating: "x", count: 100_000)
      let secure = try await run(
        ["curl", "-sS", "--noproxy", "*", "--cacert", far.authority, "--connect-to", "a.example:443:127.0.0.1:\(port)"]
          // Curl joins the two with a `&`. Linux allows 128 KiB for an argument.
          + ["-d", half, "-d", half, "-H", "Expect:", "-w", " %{http_version}", "https://a.example/one"])
      #expect(secure.text == "POST /one a.example 200001 2", "\(secure.words)")
      let plain = try await run(
        [
          "curl", "-sS", "--noproxy", "*", "-H", "Host: b.example", "http://127.0.0.1:\(port)/two",
          "http://127.0.0.1:\(port)/three",
        ])
      #expect(plain.text == "GET /two b.example 0GET /three b.example 0", "\(plain.words)")
      let destinations = far.delegate.state.withLock { $0.destinations }
      #expect(destinations.first?.name == "a.example" && destinations.first?.isTLS == true)
      #expect(destinations.allSatisfy { $0.port == port && !$0.isProxy })
    }
  }

  @Test("serves a proxy's connections as those of a proxy")
  func proxy() async throws {
    try await withTunnel(isProxy: true) { _, far, port in
      let proxy = "http://127.0.0.1:\(port)"
      let answer = try await run(
        [
          "curl", "-sS", "--noproxy", "", "--cacert", far.authority, "-x", proxy, "https://a.example/one",
          "http://b.example/two",
        ])
      #expect(answer.text == "GET /one a.example 0GET http://b.example/two b.example 0", "\(answer.words)")
      let destinations = far.delegate.state.withLock { $0.destinations }
      #expect(destinations.map(\.isProxy) == [false, true])
    }
  }

  @Test("closes connections that the other side refuses, and reports it")
  func refused() async throws {
    try await withTunnel(status: 503) { near, _, port in
      let answer = try await run(["curl", "-sS", "--noproxy", "*", "http://127.0.0.1:\(port)/"])
      #expect(answer.text.isEmpty && answer.status != 0)
      let events = near.state.withLock { $0.events }
      guard case .relayFailed(_, let cause) = events.first else {
        Issue.record("\(events)")
        return
      }
      #expect(cause == "the environment refused the connection: HTTP/1.1 503 Service Unavailable")
    }
  }
}
