import HTTPClient
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("HTTP/2 to upstreams", .timeLimit(.minutes(5)))
struct HTTP2Tests {
  private struct Handler: RequestHandler {
    let body: @Sendable (Request) async throws -> Response
    func respond(to request: Request) async throws -> Response { try await body(request) }
  }

  private func withUpstream(
    _ body: @escaping @Sendable (Request) async throws -> Response, _ use: (HTTPClient, Origin) async throws -> Void
  ) async throws {
    let server = try HTTPServer()
    let port = try server.listen(handler: Handler(body: body)).port
    let client = try HTTPClient()
    defer { client.shutdown() }
    try await use(client, Origin(scheme: "http", host: "127.0.0.1", port: Int(port)))
    await server.stop(grace: .zero)
  }

  private func request(_ target: String, _ body: Body = .empty) -> Request {
    var request = Request(method: "POST", target: target, headers: ["te": "trailers"], body: body)
    request.isHTTP2 = true
    return request
  }

  @Test("uses the version that the request has, one request after the other")
  func versions() async throws {
    try await withUpstream { request in
      Response(status: 200, body: .bytes(Array("\(request.isHTTP2) \(request.headers["te"] ?? "")".utf8)))
    } _: { client, origin in
      for isHTTP2 in [true, false, true, true, false] {
        var sent = request("/", .bytes([1]))
        sent.isHTTP2 = isHTTP2
        let response = try await client.send(sent, to: origin)
        let text = String(decoding: try await response.body.collect(upTo: 100), as: UTF8.self)
        #expect(text == (isHTTP2 ? "true trailers" : "false trailers"))
      }
    }
  }

  @Test("receives trailers, and sees that there are none")
  func trailers() async throws {
    try await withUpstream { request in
      let trailers: Trailers? = request.target == "/none" ? nil : Trailers(["grpc-status": "0"])
      return Response(
        status: 200, body: trailers == nil ? .bytes([1]) : .stream(BytePipe(holding: [1]), length: nil),
        trailers: trailers)
    } _: { client, origin in
      for target in ["/some", "/none"] {
        let response = try await client.send(request(target), to: origin)
        #expect(try await response.body.collect(upTo: 100) == [1])
        #expect(response.trailers?.headers["grpc-status"] == (target == "/some" ? "0" : nil))
      }
    }
  }

  @Test("sends and receives at the same time, by turns")
  func byTurns() async throws {
    try await withUpstream { request in
      guard case .stream(let incoming, _) = request.body else { return Response(status: 400) }
      let pipe = BytePipe()
      Task {
        while let bytes = try? await incoming.read() { try? await pipe.write(bytes.map { $0 + 1 }) }
        pipe.finish()
      }
      return Response(status: 200, body: .stream(pipe, length: nil))
    } _: { client, origin in
      let outgoing = BytePipe()
      try await outgoing.write([1])
      let response = try await client.send(request("/", .stream(outgoing, length: nil)), to: origin)
      guard case .stream(let incoming, _) = response.body else {
        Issue.record("the response is no stream")
        return
      }
      var received: [UInt8] = []
      for number in UInt8(1)...50 {
        if number > 1 { try await outgoing.write([number]) }
        received += try await incoming.read() ?? []
      }
      outgoing.finish()
      #expect(received == Array(2...51))
      #expect(try await incoming.read() == nil)
    }
  }
}
