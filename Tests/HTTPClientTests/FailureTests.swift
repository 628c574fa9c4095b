import Foundation
@testable import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Failing upstreams", .timeLimit(.minutes(5)))
struct FailureTests {
  private func failure(
    _ client: HTTPClient, _ origin: Origin, _ request: Request = Request(method: "GET", target: "/")
  ) async throws -> UpstreamError {
    do {
      let response = try await client.send(request, to: origin)
      throw Failure(what: "status \(response.status)")
    } catch let error as UpstreamError {
      #expect(!error.message.contains("\n") && error.message.contains(origin.description), "\(error)")
      return error
    }
  }

  private func failure(
    _ configuration: HTTPClient.Configuration = .init(environment: [:]), script: @escaping ScriptedUpstream.Script
  ) async throws -> UpstreamError {
    try await withUpstream(configuration, script: script) { client, upstream in
      try await failure(client, upstream.origin)
    }
  }

  @Test("has the same text however long an attempt took")
  func duration() {
    #expect(
      EasyHandle.withoutDuration("Failed to connect to 127.0.0.1 port 1 after 12 ms: Couldn't connect to server")
        == "Failed to connect to 127.0.0.1 port 1: Couldn't connect to server")
    #expect(EasyHandle.withoutDuration("SSL: no alternative certificate") == "SSL: no alternative certificate")
  }

  @Test("reports a refused connection")
  func refused() async throws {
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: nil)
    defer { close(descriptor) }
    let client = try HTTPClient(.init(environment: [:]))
    #expect(try await failure(client, Origin(scheme: "http", host: "127.0.0.1", port: port)).kind == .refused)
  }

  @Test("reports a host name that cannot be resolved")
  func unresolved() async throws {
    let client = try HTTPClient(.init(environment: [:]))
    let error = try await failure(client, Origin(scheme: "http", host: "nowhere.invalid", port: 80))
    #expect(error.kind == .unresolved, "\(error)")
  }

  @Test("reports an unreachable host")
  func unreachable() async throws {
    let client = try HTTPClient(.init(environment: [:]))
    // The kernel has no route to the addresses of RFC 6666.
    let error = try await failure(client, Origin(scheme: "http", host: "[100::1]", port: 80))
    #expect(error.kind == .unreachable, "\(error)")
  }

  @Test("reports a close or reset before the response", arguments: [true, false])
  func beforeHead(isReset: Bool) async throws {
    let error = try await failure { connection in
      _ = try connection.readHead()
      if isReset { connection.reset() }
    }
    #expect(error.kind == .cut, "\(error)")
  }

  @Test("reports a close inside the head")
  func withinHead() async throws {
    let error = try await failure { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Le")
    }
    #expect(error.kind == .cut, "\(error)")
  }

  @Test(
    "fails the body's stream after a close or reset",
    arguments: ["Content-Length: 10\r\n\r\nhalf", "Transfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n"], [true, false])
  func halfWay(rest: String, comesAtOnce: Bool) async throws {
    let gate = Gate()
    try await withUpstream { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\n" + rest)
      if comesAtOnce { return }
      gate.wait()
      connection.reset()
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      guard case .stream(let pipe, _) = response.body else { throw Failure(what: "no stream") }
      #expect(try await pipe.read() == [UInt8]("half".utf8))
      gate.open()
      let error = await #expect(throws: UpstreamError.self) { try await pipe.read() }
      #expect(error?.kind == .cut)
    }
  }

  @Test(
    "reports a response that is not HTTP",
    arguments: ["SSH-2.0-OpenSSH_9\r\n", "\u{15}\u{3}\u{1}\0\u{2}\u{2}\n", "220 ftp\r\n"])
  func noHTTP(answer: String) async throws {
    let error = try await failure { connection in
      _ = try connection.readHead()
      try connection.write(answer)
    }
    #expect(error.kind == .other, "\(error)")
  }

  @Test("rejects a switch to a protocol that was not requested")
  func upgrade() async throws {
    let error = try await failure { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\nbytes of another protocol")
    }
    #expect(error.kind == .cut, "\(error)")
  }

  @Test("times out if the upstream accepts no connection")
  func connect() async throws {
    // A full queue of one: the kernel drops further connections.
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: 0)
    defer { close(descriptor) }
    let plain = try HTTPClient(.init(connectSeconds: 0.3, environment: [:]))
    let origin = Origin(scheme: "http", host: "127.0.0.1", port: port)
    var waiting: [Task<UpstreamError, any Error>] = []
    for _ in 0..<4 { waiting.append(Task { try await failure(plain, origin) }) }
    defer { waiting.forEach { $0.cancel() } }
    let kinds = Signal<UpstreamError.Kind>()
    for task in waiting { Task { kinds.send(try await task.value.kind) } }
    #expect(try await kinds.next() == .timedOut)
  }

  @Test("times out if TLS does not start")
  func handshake() async throws {
    try await withUpstream(.init(connectSeconds: 0.3, environment: [:])) { connection in
      _ = connection.readToEnd()
    } _: { client, upstream in
      let error = try await failure(client, Origin(scheme: "https", host: "127.0.0.1", port: upstream.origin.port))
      #expect(error.kind == .timedOut, "\(error)")
    }
  }

  @Test("times out if there is no response")
  func silence() async throws {
    let ended = Signal<Int>()
    let error = try await failure(.init(stallSeconds: 0.3, environment: [:])) { connection in
      _ = try connection.readHead()
      ended.send(connection.readToEnd())
    }
    #expect(error.kind == .timedOut, "\(error)")
    #expect(try await ended.next() == 0)
  }

  @Test("times out if the response stalls")
  func stall() async throws {
    try await withUpstream(.init(stallSeconds: 0.3, environment: [:])) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
      _ = connection.readToEnd()
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      let error = await #expect(throws: UpstreamError.self) { try await response.body.collect(upTo: 10) }
      #expect(error?.kind == .timedOut)
    }
  }

  @Test(
    "does not time out within a response without a length, whatever its type",
    arguments: ["text/event-stream; charset=utf-8", "application/json"])
  func silentStream(type: String) async throws {
    try await withUpstream(.init(stallSeconds: 0.3, environment: [:])) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\n\r\ndata: a\n\n")
      // The upstream is silent far longer than otherwise allowed.
      usleep(1_500_000)
      try connection.write("data: b\n\n")
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      #expect(try await response.body.collect(upTo: 100) == Array("data: a\n\ndata: b\n\n".utf8))
    }
  }

  @Test("times out if the upstream does not read the request")
  func deaf() async throws {
    let gate = Gate()
    let error = try await withUpstream(.init(stallSeconds: 0.3, environment: [:])) { connection in
      gate.wait()
    } _: { client, upstream in
      defer { gate.open() }
      return try await failure(
        client, upstream.origin,
        Request(method: "PUT", target: "/", body: .bytes([UInt8](repeating: 1, count: 50_000_000))))
    }
    #expect(error.kind == .timedOut, "\(error)")
  }

  @Test("does not time out while bytes arrive slowly or our own reader is slow")
  func slow() async throws {
    let full = Signal<Void>()
    let isRead = Gate()
    try await withUpstream(.init(stallSeconds: 2, environment: [:])) { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 60000010\r\n\r\n")
      for _ in 0..<10 {
        try connection.write("x")
        // A slow upstream: ten bytes in more than twice the timeout.
        usleep(250_000)
      }
      connection.limitWaits(milliseconds: 3000)
      let rest = [UInt8](repeating: 2, count: 60_000_000)
      var done = 0
      while done < rest.count {
        let count = try connection.writeSome(rest[done...])
        if count == 0 { full.send(()) }
        done += count
      }
      isRead.wait()
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/"), to: upstream.origin)
      try await full.next()
      #expect(try await response.body.collect(upTo: 60_000_010).count == 60_000_010)
      isRead.open()
    }
  }

  @Test("fails running and later requests when the client is shut down")
  func shutdown() async throws {
    let begun = Signal<Void>()
    try await withUpstream { connection in
      while let head = try connection.readHead() {
        if head.hasPrefix("GET /stream") {
          try connection.write("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf")
        }
        begun.send(())
      }
    } _: { client, upstream in
      let response = try await client.send(Request(method: "GET", target: "/stream"), to: upstream.origin)
      let origin = upstream.origin
      let waiting = Task { try await failure(client, origin) }
      try await begun.next()
      try await begun.next()
      client.shutdown()
      client.shutdown()
      #expect(try await waiting.value.kind == .other)
      await #expect(throws: UpstreamError.self) { try await response.body.collect(upTo: 10) }
      #expect(try await failure(client, origin).kind == .other)
    }
  }
}
