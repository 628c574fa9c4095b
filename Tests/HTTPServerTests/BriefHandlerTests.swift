import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Brief handlers", .timeLimit(.minutes(5)))
struct BriefHandlerTests {
  private static func thread() -> Int { Int(bitPattern: UInt(pthread_self())) }

  @Test("stay on their connection's thread, however often they suspend")
  func sameThread() async throws {
    let handler = TestHandler(
      isBrief: true,
      slow: { _ in
        let thread = Self.thread()
        for _ in 0..<100 {
          await waitForAnotherThread()
          guard Self.thread() == thread else { return Response(status: 500) }
        }
        return Response(status: 204)
      })
    try await withServer(.init(threads: 2), handler) { port async throws in
      for _ in 0..<10 { #expect(try await ask(port, .get("/")).status == 204) }
    }
  }

  @Test("let other connections be served while they wait")
  func others() async throws {
    let started = Event()
    let go = Event()
    let handler = TestHandler(
      isBrief: true,
      slow: { request in
        guard request.target == "/waits" else { return Response(status: 204) }
        started.happen()
        try await go.wait()
        return Response(status: 200)
      })
    try await withServer(.init(threads: 1), handler) { port async throws in
      let client = try RawClient(port: port)
      try client.send(.get("/waits"))
      try await started.wait()
      #expect(try await ask(port, .get("/")).status == 204)
      go.happen()
      #expect(try await onThread { try client.receiveAnswer() }.status == 200)
    }
  }

  @Test("read a body that arrives in pieces", arguments: [10, 100_000, 3_000_000])
  func body(length: Int) async throws {
    let handler = TestHandler(
      isBrief: true,
      slow: { request in
        await waitForAnotherThread()
        let body = try await request.body.collect(upTo: 1 << 24)
        await waitForAnotherThread()
        return Response(status: 200, body: .bytes(Array("\(body.count)".utf8)))
      })
    try await withServer(.init(), handler) { port async throws in
      let text = String(repeating: "x", count: length)
      let answer = try await ask(port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n\(text)")
      #expect(answer.status == 200)
      #expect(String(decoding: answer.body, as: UTF8.self) == "\(length)")
    }
  }

  @Test("end when the server stops")
  func stopped() async throws {
    let started = Event()
    let ended = Event()
    let handler = TestHandler(
      isBrief: true,
      slow: { _ in
        started.happen()
        try? await waitForCancellation()
        await waitForAnotherThread()
        ended.happen()
        return Response(status: 204)
      })
    let server = try HTTPServer(.init())
    let port = try server.listen(handler: handler).port
    let client = try RawClient(port: port)
    try client.send(.get("/"))
    try await started.wait()
    await server.stop(grace: .zero)
    try await ended.wait()
    client.close()
  }
}
