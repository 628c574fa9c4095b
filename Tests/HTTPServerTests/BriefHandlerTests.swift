import Dispatch
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("A handler that is brief", .timeLimit(.minutes(5)))
struct BriefHandlerTests {
  /// Waits for somebody on another thread.
  private static func wait() async {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { continuation.resume() }
    }
  }

  private static func thread() -> Int { Int(bitPattern: UInt(pthread_self())) }

  @Test("stays on the thread of its connection, however often it waits")
  func sameThread() async throws {
    let handler = TestHandler(
      isBrief: true,
      slow: { _ in
        let thread = Self.thread()
        for _ in 0..<100 {
          await Self.wait()
          guard Self.thread() == thread else { return Response(status: 500) }
        }
        return Response(status: 204)
      })
    try await withServer(.init(threads: 2), handler) { port async throws in
      for _ in 0..<10 { #expect(try await ask(port, .get("/")).status == 204) }
    }
  }

  @Test("lets others be served while it waits")
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

  @Test("reads a body that comes in pieces", arguments: [10, 100_000, 3_000_000])
  func body(length: Int) async throws {
    let handler = TestHandler(
      isBrief: true,
      slow: { request in
        await Self.wait()
        let body = try await request.body.collect(upTo: 1 << 24)
        await Self.wait()
        return Response(status: 200, body: .bytes(Array("\(body.count)".utf8)))
      })
    try await withServer(.init(), handler) { port async throws in
      let text = String(repeating: "x", count: length)
      let answer = try await ask(port, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \(length)\r\n\r\n\(text)")
      #expect(answer.status == 200)
      #expect(String(decoding: answer.body, as: UTF8.self) == "\(length)")
    }
  }

  @Test("ends when its client leaves, whatever it waits for")
  func cancelled() async throws {
    let started = Event()
    let ended = Event()
    let handler = TestHandler(
      isBrief: true,
      slow: { _ in
        started.happen()
        await #expect(throws: CancellationError.self) { try await waitForCancellation() }
        // Its connection has gone: what is left runs elsewhere.
        await Self.wait()
        ended.happen()
        throw CancellationError()
      })
    try await withServer(.init(), handler) { port async throws in
      let client = try RawClient(port: port)
      try client.send(.get("/"))
      try await started.wait()
      client.reset()
      try await ended.wait()
    }
  }

  @Test("ends when the server stops")
  func stopped() async throws {
    let started = Event()
    let ended = Event()
    let handler = TestHandler(
      isBrief: true,
      slow: { _ in
        started.happen()
        try? await waitForCancellation()
        await Self.wait()
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

  @Test("serves others while hundreds of clients leave at any moment")
  func churn() async throws {
    let handler = TestHandler(
      isBrief: true,
      slow: { request in
        if request.target == "/hang" { try await waitForCancellation() }
        await Self.wait()
        await Task.yield()
        return Response(status: 200, body: .bytes([UInt8](repeating: 1, count: 10_000)))
      })
    try await withServer(.init(), handler) { port async throws in
      let statuses = try await onThread {
        let patient = try RawClient(port: port)
        var statuses: [Int] = []
        for index in 0..<400 {
          let client = try RawClient(port: port)
          try client.send(.get(index % 2 == 0 ? "/hang" : "/quick"))
          if index % 3 == 0 { client.reset() } else { client.close() }
          if index % 10 == 0 { statuses.append(try patient.exchange(.get("/")).status) }
        }
        return statuses
      }
      #expect(statuses == Array(repeating: 200, count: 40))
    }
  }
}
