import Basics
import EventLoops
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Connections accepted elsewhere", .timeLimit(.minutes(5)))
struct ServedConnectionTests {
  private let ok = TestHandler.responding(Response(status: 200))

  @Test("serve successive requests on the chosen loop, without a client process")
  func loop() async throws {
    try await withServer { server in
      for loop in server.loops {
        let handler = TestHandler(
          fast: { _ in
            #expect(EventLoop.current === loop); return nil
          },
          slow: { Response(status: $0.peer == nil ? 200 : 500) })
        let client = try Self.pair { try server.serve(descriptor: $0, handler: handler, on: loop) }
        let statuses = try await onThread {
          try [client.exchange(.get("/")), client.exchange(.get("/"))].map(\.status)
        }
        #expect(statuses == [200, 200])
      }
    }
  }

  @Test("carry large bodies in both directions")
  func bodies() async throws {
    try await withServer { server in
      let client = try Self.pair { try server.serve(descriptor: $0, handler: TestHandler.mirror) }
      let text = try await onThread {
        try client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n\r\n")
        try client.send([UInt8](repeating: 65, count: 3_000_000))
        return try client.receiveAnswer().text
      }
      #expect(text.hasSuffix(String(repeating: "A", count: 3_000_000)))
    }
  }

  @Test("end when the client leaves within the first bytes of HTTP/2", arguments: ["P", "PRI * HT"])
  func incompletePreface(bytes: String) async throws {
    try await withServer { server in
      let closed = Event()
      let observer = ConnectionObserver(reset: {}, closed: { closed.happen() })
      let client = try Self.pair { try server.serve(descriptor: $0, handler: ok, observer: observer) }
      try await onThread { try client.send(bytes) }
      client.close()
      try await closed.wait()
    }
  }

  @Test("report that they are closed, and before that, that they are reset")
  func observer() async throws {
    // libmicrohttpd 0.9.75 may keep a connection that was suspended until the idle timeout (see ResponseStream.end).
    try await withServer(.init(idleSeconds: 1)) { server in
      for isReset in [true, false] {
        let events = Guarded<[String]>([])
        let closed = Event()
        let observer = ConnectionObserver(
          reset: { events.withLock { $0.append("reset") } },
          closed: {
            events.withLock { $0.append("closed") }
            closed.happen()
          })
        let handler = TestHandler(slow: { _ in
          var response = Response(status: 200, headers: ["Connection": "close"])
          if isReset { response.fault = .reset }
          return response
        })
        let client = try Self.pair { try server.serve(descriptor: $0, handler: handler, observer: observer) }
        let bytes = try await onThread {
          try client.send(.get("/"))
          return try client.receiveAll()
        }
        client.close()
        try await closed.wait()
        #expect(events.withLock { $0 } == (isReset ? ["reset", "closed"] : ["closed"]))
        #expect(bytes.isEmpty == isReset)
      }
    }
  }

  @Test("end on request, with their handler's task")
  func end() async throws {
    try await withServer { server in
      let started = Event()
      let cancelled = Event()
      let handler = TestHandler(slow: { _ in
        started.happen()
        defer { cancelled.happen() }
        try await waitForCancellation()
        return Response(status: 200)
      })
      var served: ServedConnection?
      let client = try Self.pair { served = try server.serve(descriptor: $0, handler: handler) }
      try client.send(.get("/"))
      try await started.wait()
      served?.end()
      try await cancelled.wait()
      #expect(try await onThread { try client.receiveAll() }.isEmpty)
    }
  }

  @Test("are swept like others when a head arrives too slowly")
  func slowHead() async throws {
    try await withServer(.init(headSeconds: 1)) { server in
      let client = try Self.pair { try server.serve(descriptor: $0, handler: ok) }
      let bytes = try await onThread {
        try client.send("GET / HTTP/1.1\r\n")
        return try client.receiveAll()
      }
      #expect(bytes.isEmpty)
    }
  }

  @Test("are closed above the connection limit, and after the server has stopped")
  func refusal() async throws {
    let server = try HTTPServer(.init(maximumConnections: 1))
    let first = try Self.pair { try server.serve(descriptor: $0, handler: ok) }
    var refused: [RawClient] = []
    #expect(throws: CodedError.self) {
      _ = try Self.pair(keeping: { refused.append($0) }) { try server.serve(descriptor: $0, handler: ok) }
    }
    await server.stop()
    #expect(throws: CodedError.self) {
      _ = try Self.pair(keeping: { refused.append($0) }) { try server.serve(descriptor: $0, handler: ok) }
    }
    #expect(server.loops.isEmpty)
    for client in refused + [first] { #expect(try await onThread { try client.receiveAll() }.isEmpty) }
    #expect(refused.count == 2)
  }

  /// Creates a socket pair, passes one end on, and returns a client on the other.
  private static func pair(
    keeping: (RawClient) -> Void = { _ in }, _ body: (Int32) throws -> some Any
  ) throws -> RawClient {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
    let client = RawClient(connected: ends[0])
    keeping(client)
    _ = try body(ends[1])
    return client
  }

  private func withServer(
    _ configuration: HTTPServer.Configuration = .init(), _ body: (HTTPServer) async throws -> Void
  ) async throws {
    let server = try HTTPServer(configuration)
    let result: Result<Void, any Error>
    do { result = .success(try await body(server)) } catch { result = .failure(error) }
    await server.stop(grace: .seconds(2))
    try result.get()
  }
}
