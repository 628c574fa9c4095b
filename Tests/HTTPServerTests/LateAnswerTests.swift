import Basics
import EventLoops
import Glibc
import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Responses from another source")
struct LateAnswerTests {
  @Test("are sent unchanged when ready, repeatedly on one connection")
  func sent() async throws {
    let handler = PassingHandler { answer in
      var raw = RawAnswer(status: 203, body: strdup("late"), count: 4)
      "X-A".withCString { name in "b c".withCString { raw?.add(name, $0, size: 3) } }
      "X-Empty".withCString { name in "".withCString { raw?.add(name, $0, size: 0) } }
      if let raw { answer.send(raw) }
    }
    try await withServer(.init(), handler) { port in
      try await onThread {
        let client = try RawClient(port: port)
        for _ in 0..<3 {
          let answer = try client.exchange(.get("/"))
          #expect(answer.status == 203)
          #expect(answer.text == "late")
          #expect(answer.headers["X-A"] == "b c" && answer.headers["X-Empty"] == "")
          #expect(answer.headers["Content-Length"] == "4")
        }
      }
    }
    #expect(handler.cancelled.withLock { $0 } == 0)
  }

  @Test("can be replaced by a normally handled request")
  func goesOn() async throws {
    let handler = PassingHandler { answer in
      answer.respond { request in
        await Task.yield()
        return Response(status: 200, body: .bytes(Array("\(request.method) \(request.target)".utf8)))
      }
    }
    try await withServer(.init(), handler) { port async throws in
      #expect(try await ask(port, .get("/a?b")).text == "GET /a?b")
    }
  }

  @Test("are cancelled and dropped when the client disconnects")
  func clientLeaves() async throws {
    let handler = PassingHandler { _ in }
    try await withServer(.init(), handler) { port in
      try await onThread {
        let client = try RawClient(port: port)
        try client.send(.get("/"))
      }
      try await handler.end.wait()
      #expect(handler.cancelled.withLock { $0 } == 1)
      // Too late to be sent.
      let answer = try #require(handler.answer.withLock { $0 })
      handler.onLoop { if let raw = RawAnswer(status: 200, body: nil, count: 0) { answer.send(raw) } }
      handler.onLoop { answer.respond { _ in Response(status: 200) } }
    }
  }

  @Test("are cancelled when the server stops")
  func serverStops() async throws {
    let handler = PassingHandler { _ in }
    let server = try HTTPServer(.init(threads: 1))
    let listener = try server.listen(handler: handler)
    let client = try await onThread {
      let client = try RawClient(port: listener.port)
      try client.send(.get("/"))
      return client
    }
    try await handler.begun.wait()
    await server.stop(grace: .zero)
    client.close()
    #expect(handler.cancelled.withLock { $0 } == 1)
  }
}

/// Responds to each request with a closure's result, one turn of the loop later.
private final class PassingHandler: RequestHandler, Sendable {
  let cancelled = Guarded(0)
  let begun = Event()
  let end = Event()
  let answer = Guarded<LateAnswer?>(nil)
  private let place = Guarded<EventPlace?>(nil)
  private let turns = Turns()
  private let give: @Sendable (LateAnswer) -> Void

  init(_ give: @escaping @Sendable (LateAnswer) -> Void) { self.give = give }

  func pass(_ request: borrowing RequestView, to answer: LateAnswer) -> (any Passage)? {
    self.answer.withLock { $0 = answer }
    onLoop { [give] in give(answer) }
    begun.happen()
    return Passing { [self] in
      cancelled.withLock { $0 += 1 }
      end.happen()
    }
  }

  func respond(to request: Request) async throws -> Response { Response(status: 500) }

  /// Runs a closure in a turn of the loop that has served a request.
  func onLoop(_ work: @escaping @Sendable () -> Void) {
    turns.work.withLock { $0.append(work) }
    let place = place.withLock { place in
      if place == nil { place = EventLoop.current?.add(turns) }
      return place
    }
    place?.wake()
  }

  private final class Turns: EventSource, Sendable {
    let work = Guarded<[@Sendable () -> Void]>([])

    func isReady(_ descriptor: Int32, for readiness: Readiness) {}

    func turn(now: UInt64) -> UInt64? {
      let work = work.withLock { work in
        defer { work = [] }
        return work
      }
      for work in work { work() }
      return nil
    }

    func loopEnds() {}
  }

  private final class Passing: Passage {
    private let onCancel: () -> Void

    init(_ onCancel: @escaping () -> Void) { self.onCancel = onCancel }

    func cancel() { onCancel() }
  }
}
