import HTTPMessages
import HTTPServer
import TestSupport
import Testing

@Suite("Concurrent load", .timeLimit(.minutes(5)))
struct LoadTests {
  @Test("handles 1,000 requests that wait at the same time")
  func thousand() async throws {
    let count = Guarded(0)
    let allHere = Event()
    let handler = TestHandler(slow: { request in
      let here = count.withLock { count in
        count += 1
        return count
      }
      if here == 1000 { allHere.happen() }
      try await allHere.wait()
      return Response(status: 200, body: .bytes(Array(request.target.utf8)))
    })
    try await withServer(.init(), handler) { port in
      let texts = try await onThread {
        let clients = try (0..<1000).map { index in
          let client = try RawClient(port: port)
          try client.send(.get("/\(index)"))
          return client
        }
        return try clients.map { try $0.receiveAnswer().text }
      }
      #expect(texts == (0..<1000).map { "/\($0)" })
    }
  }

  @Test("supports 200 listeners, each with its own handler")
  func listeners() async throws {
    let server = try HTTPServer()
    let listeners = try (0..<200).map { index in
      try server.listen(handler: TestHandler.responding(Response(status: 200, body: .bytes(Array("\(index)".utf8)))))
    }
    #expect(Set(listeners.map(\.port)).count == 200)
    let texts = try await onThread { try listeners.map { try RawClient(port: $0.port).exchange(.get("/")).text } }
    #expect(texts == (0..<200).map(String.init))
    await server.stop()
  }

  @Test("sends prepared responses on many connections and threads at once")
  func prepared() async throws {
    let prepared = try PreparedResponse(status: 200, headers: ["X-A": "1"], body: Array("prepared".utf8))
    try await withServer(.init(threads: 4), TestHandler(fast: { _ in prepared })) { port in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<8 {
          group.addTask {
            try await onThread {
              let client = try RawClient(port: port)
              return try (0..<500).count { _ in try client.exchange(.get("/a?b")).text == "prepared" }
            }
          }
        }
        for try await count in group { #expect(count == 500) }
      }
    }
  }
}
