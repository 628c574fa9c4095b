import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Cancellation", .timeLimit(.minutes(5)))
struct CancellationTests {
  @Test("closes the upstream connection if no head has arrived")
  func beforeHead() async throws {
    let begun = Signal<Void>()
    let ended = Signal<Int>()
    try await withUpstream { connection in
      _ = try connection.readHead()
      begun.send(())
      ended.send(connection.readToEnd())
    } _: { client, upstream in
      let origin = upstream.origin
      let task = Task { try await client.send(Request(method: "GET", target: "/"), to: origin) }
      try await begun.next()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(try await ended.next() == 0)
    }
  }

  @Test("sends nothing if the request has not begun")
  func beforeStart() async throws {
    try await withUpstream { connection in
      try connection.serve { _ in ok() }
    } _: { client, upstream in
      let origin = upstream.origin
      let task = Task {
        withUnsafeCurrentTask { $0?.cancel() }
        return try await client.send(Request(method: "GET", target: "/"), to: origin)
      }
      await #expect(throws: CancellationError.self) { try await task.value }
      #expect(upstream.connectionCount == 0)
    }
  }

  @Test("abandoning the stream closes the upstream connection", arguments: [true, false])
  func afterHead(isFull: Bool) async throws {
    let ended = Signal<Void>()
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n")
      if isFull {
        let block = [UInt8]("10000\r\n".utf8) + [UInt8](repeating: 1, count: 65_536) + [13, 10]
        while (try? connection.write(block)) != nil {}
      } else {
        _ = connection.readToEnd()
      }
      ended.send(())
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      guard case .stream(let pipe, _) = response.body else { throw Failure(what: "no stream") }
      _ = try await pipe.read()
      pipe.abandon()
      try await ended.next()
    }
  }

  @Test("dropping the response's stream unread cancels the transfer")
  func dropped() async throws {
    let ended = Signal<Void>()
    try await withUpstream(.init(stallSeconds: 5, environment: [:])) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 100000000\r\n\r\na")
      while (try? connection.write([UInt8](repeating: 1, count: 65_536))) != nil {}
      ended.send(())
    } _: { client, upstream in
      _ = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      try await ended.next()
    }
  }

  @Test("notifies the request's writer during the upload")
  func duringUpload() async throws {
    let begun = Signal<Void>()
    let ended = Signal<Void>()
    try await withUpstream { connection in
      _ = try connection.readHead()
      begun.send(())
      _ = connection.readToEnd()
      ended.send(())
    } _: { client, upstream in
      let origin = upstream.origin
      let pipe = BytePipe()
      let task = Task {
        try await client.send(Request(method: "PUT", target: "/", body: .stream(pipe, length: nil)), to: origin)
      }
      try await begun.next()
      task.cancel()
      await #expect(throws: CancellationError.self) { try await task.value }
      try await ended.next()
      await #expect(throws: BytePipe.ReaderGone.self) {
        while true { try await pipe.write([1]) }
      }
    }
  }

  @Test("leaves the client usable at any moment")
  func anyMoment() async throws {
    try await withUpstream { connection in
      try connection.serve { _ in ok("hello") }
    } _: { client, upstream in
      let origin = upstream.origin
      await withTaskGroup(of: Void.self) { group in
        for number in 0..<200 {
          group.addTask {
            let task = Task { try await client.send(Request(method: "GET", target: "/"), to: origin) }
            for _ in 0..<(number % 20) { await Task.yield() }
            task.cancel()
            _ = try? await task.value
          }
        }
      }
      let response = try await client.send(Request(method: "GET", target: "/"), to: origin)
      #expect(try await response.body.collect(upTo: 9) == [UInt8]("hello".utf8))
    }
  }
}
