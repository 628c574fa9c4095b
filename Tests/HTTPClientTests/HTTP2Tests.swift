import Basics
import Foundation
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
    _ configuration: HTTPClient.Configuration = .init(environment: [:]),
    _ body: @escaping @Sendable (Request) async throws -> Response, _ use: (HTTPClient, Origin) async throws -> Void
  ) async throws {
    let server = try HTTPServer()
    let port = try server.listen(handler: Handler(body: body)).port
    let client = try HTTPClient(configuration)
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

  @Test("passes on methods, fields and bodies")
  func content() async throws {
    try await withUpstream { request in
      let body = try await request.body.collect(upTo: 1 << 20)
      let fields = request.headers.fields.filter { $0.name != "te" }.map { "\($0.name)=\($0.value)" }
      return Response(
        status: 200, headers: ["X-Request": "\(request.method) \(request.target) \(fields) \(body.count)"])
    } _: { client, origin in
      let pipe = BytePipe(holding: [1, 2, 3])
      for (method, body, expected) in [
        ("GET", .empty, #"GET /?x=1 ["Host=\#(origin.authority)", "x-case=Value", "x-empty="] 0"#),
        ("HEAD", .bytes([1]), #"HEAD /?x=1 ["Host=\#(origin.authority)", "x-case=Value", "x-empty="] 0"#),
        (
          "POST", .empty,
          #"POST /?x=1 ["Host=\#(origin.authority)", "x-case=Value", "x-empty=", "content-length=0"] 0"#
        ),
        (
          "PUT", .bytes([UInt8](repeating: 0, count: 100_000)),
          #"PUT /?x=1 ["Host=\#(origin.authority)", "x-case=Value", "x-empty=", "content-length=100000"] 100000"#
        ),
        (
          "PATCH", .stream(pipe, length: nil),
          #"PATCH /?x=1 ["Host=\#(origin.authority)", "x-case=Value", "x-empty="] 3"#
        ),
      ] as [(String, Body, String)] {
        var request = Request(
          method: method, target: "/?x=1",
          headers: ["X-Case": " Value ", "X-Empty": "", "Connection": "X-Drop", "X-Drop": "1"], body: body)
        request.isHTTP2 = true
        let response = try await client.send(request, to: origin)
        #expect(response.headers["X-Request"] == expected)
      }
    }
  }

  @Test("receives responses that end before their request, which is no longer sent")
  func early() async throws {
    try await withUpstream { _ in
      Response(status: 200, headers: ["grpc-status": "12"])
    } _: { client, origin in
      for _ in 0..<50 {
        let outgoing = BytePipe(capacity: 1)
        let response = try await client.send(request("/", .stream(outgoing, length: nil)), to: origin)
        #expect(response.headers["grpc-status"] == "12")
        #expect(try await response.body.collect(upTo: 1) == [])
        await #expect(throws: BytePipe.ReaderGone.self) { while true { try await outgoing.write([1]) } }
      }
    }
  }

  @Test("uses the same connection for several requests at a time and one after the other")
  func sameConnection() async throws {
    let arrived = Signal<Void>()
    let all = Event()
    try await withUpstream { request in
      arrived.send(())
      try await all.wait()
      return Response(status: 200, headers: ["X-Connection": "\(request.connection ?? 0)"])
    } _: { client, origin in
      try await withThrowingTaskGroup(of: String?.self) { group in
        for _ in 0..<8 {
          group.addTask { try await client.send(request("/"), to: origin).headers["X-Connection"] }
        }
        for _ in 0..<8 { try await arrived.next() }
        all.happen()
        group.addTask { try await client.send(request("/"), to: origin).headers["X-Connection"] }
        var connections: Set<String?> = []
        for try await connection in group { connections.insert(connection) }
        #expect(connections.count == 1)
      }
    }
  }

  @Test("sends and receives 20 MB with a slow reader")
  func large() async throws {
    try await withUpstream { request in
      guard case .stream(let incoming, _) = request.body else { return Response(status: 400) }
      return Response(status: 200, body: .stream(incoming, length: nil))
    } _: { client, origin in
      let outgoing = BytePipe()
      let writer = Task {
        for number in 0..<320 { try await outgoing.write([UInt8](repeating: UInt8(number & 255), count: 65_536)) }
        outgoing.finish()
      }
      let response = try await client.send(request("/", .stream(outgoing, length: nil)), to: origin)
      guard case .stream(let pipe, _) = response.body else { throw Failure(what: "no stream") }
      var count = 0
      var isSame = true
      while let chunk = try await pipe.read() {
        isSame = isSame && chunk.first == UInt8(truncatingIfNeeded: count >> 16)
        count += chunk.count
        await Task.yield()
      }
      try await writer.value
      #expect(count == 20 << 20)
      #expect(isSame)
    }
  }

  @Test("goes through the tunnel of a proxy")
  func proxy() async throws {
    let heads = Guarded<[String]>([])
    let port = Guarded(0)
    let proxy = try ScriptedUpstream { connection in
      guard let head = try connection.readHead() else { return }
      heads.withLock { $0.append(head) }
      try connection.write("HTTP/1.1 200 Established\r\n\r\n")
      try connection.tunnel(toPort: port.withLock { $0 })
    }
    defer { proxy.stop() }
    try await withUpstream(.init(environment: ["http_proxy": proxy.origin.description])) { request in
      Response(status: 200, body: .bytes(Array("\(request.isHTTP2)".utf8)))
    } _: { client, origin in
      port.withLock { $0 = origin.port }
      for _ in 0..<2 {
        let response = try await client.send(request("/"), to: origin)
        #expect(try await response.body.collect(upTo: 99) == Array("true".utf8))
      }
      #expect(heads.withLock { $0 } == ["CONNECT \(origin.authority) HTTP/1.1\r\nHost: \(origin.authority)\r\n\r\n"])
      client.shutdown()
    }
  }

  @Test("goes through the configured Unix socket")
  func unixSocket() async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "diorama-\(UUID().uuidString)").path
    let server = try HTTPServer()
    _ = try server.listen(onUnixSocket: path, handler: Handler { Response(status: $0.isHTTP2 ? 200 : 400) })
    let client = try HTTPClient(.init(environment: [:], unixSocket: path))
    defer { client.shutdown() }
    let origin = try Origin(parsing: "http://api.test")
    for _ in 0..<2 { #expect(try await client.send(request("/"), to: origin).status == 200) }
    await server.stop(grace: .zero)
  }

  @Test("is negotiated at TLS, whose trust settings apply")
  func tls() async throws {
    try await withUpstream { request in
      Response(status: 200, headers: ["X-Connection": "\(request.connection ?? 0)"], body: request.body)
    } _: { _, plain in
      try await withTLSUpstream(relayingTo: UInt16(plain.port)) { origin, certificate in
        let client = try HTTPClient(.init(environment: ["SSL_CERT_FILE": certificate]))
        defer { client.shutdown() }
        var connections: Set<String?> = []
        for _ in 0..<2 {
          let response = try await client.send(request("/", .bytes([5])), to: origin)
          connections.insert(response.headers["X-Connection"])
          #expect(try await response.body.collect(upTo: 99) == [5])
        }
        #expect(connections.count == 1)
        #expect(!connections.contains(nil))
        let strict = try HTTPClient(.init(environment: [:]))
        defer { strict.shutdown() }
        let error = await #expect(throws: UpstreamError.self) { try await strict.send(request("/"), to: origin) }
        #expect(error?.kind == .tls)
        let trust = Trust(authorities: certificate)
        #expect(try await strict.send(request("/"), to: origin, trust: trust).status == 200)
      }
    }
  }

  @Test("is HTTP/1.1 at TLS if the server has no other, on a connection that is reused")
  func withoutHTTP2() async throws {
    try await withTLSUpstream { origin, certificate in
      let client = try HTTPClient(.init(certificateAuthorities: certificate, environment: [:]))
      defer { client.shutdown() }
      for _ in 0..<3 {
        let response = try await client.send(request("/", .bytes([UInt8]("secret".utf8))), to: origin)
        #expect(try await response.body.collect(upTo: 99) == [UInt8]("secret".utf8))
        // One to ask, one to use.
        #expect(response.headers["X-Connections"] == "2")
      }
    }
  }

  @Test("presents the configured client certificate, and reports that one is missing")
  func clientCertificate() async throws {
    try await withTLSUpstream(asksForClient: true) { origin, certificate in
      let folder = certificate.dropLast("cert.pem".count)
      let client = try HTTPClient(.init(environment: [:]))
      defer { client.shutdown() }
      let trust = Trust(
        authorities: certificate, clientCertificate: folder + "client.pem", clientKey: folder + "client.key")
      #expect(try await client.send(request("/", .bytes([1])), to: origin, trust: trust).status == 200)
      let error = await #expect(throws: UpstreamError.self) {
        try await client.send(request("/"), to: origin, trust: Trust(authorities: certificate))
      }
      #expect(error?.message.contains("configure the client certificate that the upstream requires") == true)
    }
  }
}
