import Basics
import HTTPClient
import HTTPMessages
import TestSupport
import Testing

@Suite("Connections of HTTP/2", .timeLimit(.minutes(5)))
struct HTTP2ConnectionTests {
  private func request(_ method: String = "GET", _ body: Body = .empty) -> Request {
    var request = Request(method: method, target: "/", body: body)
    request.isHTTP2 = true
    return request
  }

  /// Sends a request and checks the body of the response.
  private func expect(_ client: HTTPClient, _ upstream: ScriptedUpstream, _ text: String) async throws {
    let response = try await client.send(request(), to: upstream.origin)
    let body = try await response.body.collect(upTo: 1 << 20)
    #expect(String(decoding: body, as: UTF8.self) == text)
  }

  private func failure(_ client: HTTPClient, _ upstream: ScriptedUpstream) async -> UpstreamError? {
    await #expect(throws: UpstreamError.self) {
      try await client.send(request(), to: upstream.origin).body.collect(upTo: 1 << 24)
    }
  }

  @Test("are reused")
  func reuse() async throws {
    try await withUpstream { connection in
      try FrameConnection(connection).serveToEnd()
    } _: { client, upstream in
      for _ in 0..<5 { try await expect(client, upstream, "ok") }
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test("take as many requests at a time as the upstream allows; more use further ones", arguments: [2, 100])
  func concurrency(limit: Int) async throws {
    let all = Counter(5)
    try await withUpstream { connection in
      let frames = try FrameConnection(connection, settings: [(3, UInt32(limit))])
      var streams: [UInt32] = []
      while true {
        streams.append(try frames.next(1).stream)
        #expect(streams.count <= limit)
        all.count()
        // The client learns the limit with its first request.
        guard streams.count == limit || limit == 100 && streams.count == 5 || connection.number == 2 else { continue }
        all.wait()
        for stream in streams { try frames.write(Frames.headers(stream, [(":status", "200")], ends: true)) }
      }
    } _: { client, upstream in
      try await withThrowingTaskGroup(of: Int.self) { group in
        for _ in 0..<5 {
          group.addTask { try await client.send(request(), to: upstream.origin).status }
        }
        for try await status in group { #expect(status == 200) }
      }
      #expect(upstream.connectionCount == (limit == 2 ? 3 : 1))
    }
  }

  @Test("are replaced when the upstream has closed them", arguments: [true, false])
  func stale(sees: Bool) async throws {
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      try frames.serve()
      // Without a GOAWAY, the client cannot know whether the second request has been seen.
      guard sees || connection.number > 0 else { return try frames.readConfirmation() }
      if connection.number == 0 { try frames.next(1) } else { try frames.serveToEnd() }
    } _: { client, upstream in
      for _ in 0..<2 { try await expect(client, upstream, "ok") }
      #expect(upstream.connectionCount == 2)
    }
  }

  @Test("that the upstream closes on the first request are an error")
  func closed() async throws {
    try await withUpstream { connection in
      try FrameConnection(connection).next(1)
    } _: { client, upstream in
      #expect(await failure(client, upstream)?.kind == .cut)
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test("end with a GOAWAY, whose requests are finished or sent again on another one", arguments: [0, 1])
  func goAway(last: UInt32) async throws {
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      guard connection.number == 0 else { return try frames.serveToEnd() }
      try frames.next(1)
      try frames.write(Frames.goAway(last: last))
      if last == 1 {
        try frames.write(Frames.headers(1, [(":status", "200")]), Frames.data(1, Array("old".utf8), ends: true))
      }
      // The client closes it.
      while (try? frames.next()) != nil {}
    } _: { client, upstream in
      try await expect(client, upstream, (last == 1 ? "old" : "ok"))
      try await expect(client, upstream, "ok")
      #expect(upstream.connectionCount == 2)
    }
  }

  @Test("that refuse a request are avoided, three times", arguments: [1, 3, 4])
  func refused(times: Int) async throws {
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      guard connection.number < times else { return try frames.serveToEnd() }
      let stream = try frames.next(1).stream
      try frames.write(Frames.reset(stream, 7))
      _ = try? frames.next(1)
    } _: { client, upstream in
      if times < 4 {
        try await expect(client, upstream, "ok")
      } else {
        let error = await failure(client, upstream)
        #expect(error?.kind == .cut)
        #expect(error?.message.contains("REFUSED_STREAM") == true, "\(String(describing: error))")
      }
      #expect(upstream.connectionCount == min(times + 1, 4))
    }
  }

  @Test("that require HTTP/1.1 get it")
  func http1Required() async throws {
    try await withUpstream { connection in
      guard connection.number == 0 else { return try connection.serve { _ in ok("old") } }
      let frames = try FrameConnection(connection)
      let stream = try frames.next(1).stream
      try frames.write(Frames.reset(stream, 13))
      _ = try? frames.next(1)
    } _: { client, upstream in
      for _ in 0..<2 { try await expect(client, upstream, "old") }
      #expect(upstream.connectionCount == 2)
    }
  }

  @Test("report a response that is reset")
  func reset() async throws {
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      try frames.next(1)
      try frames.write(Frames.headers(1, [(":status", "200")]), Frames.data(1, [1, 2]), Frames.reset(1, 2))
      _ = try? frames.next(1)
    } _: { client, upstream in
      let error = await failure(client, upstream)
      #expect(error?.kind == .cut)
      #expect(error?.message.contains("INTERNAL_ERROR") == true)
    }
  }

  @Test("stay open when a request is cancelled, which resets its stream", arguments: [false, true])
  func cancelled(hasHead: Bool) async throws {
    let begun = Signal<Void>()
    let code = Signal<UInt32>()
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      let stream = try frames.next(1).stream
      if hasHead { try frames.write(Frames.headers(stream, [(":status", "200")])) }
      begun.send(())
      code.send(try frames.next(3).number)
      try frames.serveToEnd()
    } _: { client, upstream in
      let origin = upstream.origin
      let task = Task { try await client.send(request(), to: origin) }
      try await begun.next()
      if hasHead {
        guard case .stream(let pipe, _) = try await task.value.body else { throw Failure(what: "no stream") }
        pipe.abandon()
      } else {
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
      }
      #expect(try await code.next() == 8)
      try await expect(client, upstream, "ok")
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test("report a request that stalls, and take no further ones")
  func stalled() async throws {
    try await withUpstream(.init(stallSeconds: 1, environment: [:])) { connection in
      let frames = try FrameConnection(connection)
      if connection.number > 0 { try frames.serveToEnd() }
      while (try? frames.next()) != nil {}
    } _: { client, upstream in
      #expect(await failure(client, upstream)?.kind == .timedOut)
      try await expect(client, upstream, "ok")
      #expect(upstream.connectionCount == 2)
    }
  }

  @Test("end with the client")
  func shutDown() async throws {
    let begun = Signal<Void>()
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      try frames.next(1)
      begun.send(())
      while (try? frames.next()) != nil {}
    } _: { client, upstream in
      let origin = upstream.origin
      let task = Task { try await client.send(request(), to: origin) }
      try await begun.next()
      client.shutdown()
      let error = await #expect(throws: UpstreamError.self) { try await task.value }
      #expect(error?.message.contains("shut down") == true)
    }
  }

  @Test("let an upstream send as much as is read")
  func receiving() async throws {
    let windows = Signal<Int>()
    let mayRead = Gate()
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      try frames.next(1)
      try frames.write(Frames.headers(1, [(":status", "200")]))
      let block = [UInt8](repeating: 7, count: 16_384)
      for _ in 0..<64 { try frames.write(Frames.data(1, block)) }
      try frames.synchronize()
      windows.send(frames.windows[1] ?? 0)
      mayRead.wait()
      while frames.windows[1] ?? 0 < 900_000 { try frames.next(8) }
      try frames.write(Frames.data(1, [8], ends: true))
      windows.send(frames.windows[1] ?? 0)
      while (try? frames.next()) != nil {}
    } _: { client, upstream in
      let response = try await client.send(request(), to: upstream.origin)
      // The first bytes, and those for which the stream has room.
      #expect(try await windows.next() <= 65_536 + 262_144 + 16_384)
      mayRead.open()
      guard case .stream(let pipe, _) = response.body else { throw Failure(what: "no stream") }
      var count = 0
      while let bytes = try await pipe.read() { count += bytes.count }
      #expect(count == 64 * 16_384 + 1)
    }
  }

  @Test("send as much as the upstream allows")
  func sending() async throws {
    let counts = Signal<Int>()
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      let stream = try frames.next(1).stream
      while frames.received < 65_535 { try frames.next(0) }
      try frames.synchronize()
      counts.send(frames.received)
      try frames.write(Frames.windowUpdate(0, 1 << 21), Frames.windowUpdate(stream, 1 << 21))
      while try !frames.next(0).endsStream {}
      counts.send(frames.received)
      try frames.write(Frames.headers(stream, [(":status", "200")], ends: true))
      while (try? frames.next()) != nil {}
    } _: { client, upstream in
      let body = Body.bytes([UInt8](repeating: 1, count: 1 << 20))
      #expect(try await client.send(request("PUT", body), to: upstream.origin).status == 200)
      let allowed = try await counts.next()
      #expect(allowed == 65_535)
      let all = try await counts.next()
      #expect(all == 1 << 20)
    }
  }

  @Test("pass on the final response only")
  func informational() async throws {
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      try frames.next(1)
      for status in ["100", "103"] { try frames.write(Frames.headers(1, [(":status", status), ("x-a", status)])) }
      try frames.write(Frames.headers(1, [(":status", "200"), ("x-a", "1")], ends: true))
      while (try? frames.next()) != nil {}
    } _: { client, upstream in
      let response = try await client.send(request(), to: upstream.origin)
      #expect(response.status == 200)
      #expect(response.headers.fields.map { "\($0.name) \($0.value)" } == ["x-a 1"])
    }
  }

  @Test("drop the rest of a request whose response has ended", arguments: [true, false])
  func early(resets: Bool) async throws {
    let code = Signal<UInt32>()
    try await withUpstream { connection in
      let frames = try FrameConnection(connection)
      let stream = try frames.next(1).stream
      try frames.write(Frames.headers(stream, [(":status", "200"), ("grpc-status", "12")], ends: true))
      if resets { try frames.write(Frames.reset(stream, 0)) }
      if resets { code.send(0) } else { code.send(try frames.next(3).number) }
      try frames.serveToEnd()
    } _: { client, upstream in
      for number in 0..<2 {
        let outgoing = BytePipe(capacity: 1)
        let body = number == 0 ? Body.stream(outgoing, length: nil) : .empty
        let response = try await client.send(request("POST", body), to: upstream.origin)
        guard number == 0 else { continue }
        #expect(response.headers["grpc-status"] == "12")
        #expect(try await response.body.collect(upTo: 1) == [])
        #expect(try await code.next() == 0)
        await #expect(throws: BytePipe.ReaderGone.self) { while true { try await outgoing.write([1]) } }
      }
      #expect(upstream.connectionCount == 1)
    }
  }

  @Test("survive invalid and hostile frames", arguments: Hostile.allCases)
  func hostile(_ hostile: Hostile) async throws {
    try await withUpstream { connection in
      _ = try connection.readExactly(24)
      if hostile == .http1 { return try connection.write("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n") }
      try connection.write(Frames.settings() + Frames.settingsAcknowledgement)
      // Up to the request.
      while true {
        let head = try connection.readExactly(9)
        _ = try connection.readExactly(Int(head[1]) << 8 | Int(head[2]))
        if head[3] == 1 { break }
      }
      try connection.write(hostile.bytes)
      _ = connection.readToEnd()
    } _: { client, upstream in
      let error = await failure(client, upstream)
      #expect(error?.kind == (hostile == .http1 || hostile == .bomb ? .other : .cut), "\(String(describing: error))")
    }
  }

  enum Hostile: CaseIterable {
    case http1, dataWithoutHead, dataWithoutStream, noStatus, badFields, badLength, longFrame, push, emptyUpdate
    case continuation, shortSettings, pings, bomb, trailersWithoutEnd, switching

    var bytes: [UInt8] {
      let head = Frames.headers(1, [(":status", "200")])
      return switch self {
      case .http1: []
      case .dataWithoutHead: Frames.data(1, [1], ends: true)
      case .dataWithoutStream: head + Frames.data(0, [1])
      case .noStatus: Frames.headers(1, [("x-a", "1")], ends: true)
      case .badFields: Frames.frame(1, flags: 4, stream: 1, [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF])
      case .badLength:
        Frames.headers(1, [(":status", "200"), ("content-length", "5")]) + Frames.data(1, [1], ends: true)
      case .longFrame: head + Frames.data(1, [UInt8](repeating: 0, count: 20_000))
      case .push: head + Frames.frame(5, flags: 4, stream: 1, Frames.number(2) + Frames.head)
      case .emptyUpdate: head + Frames.windowUpdate(1, 0)
      case .continuation: head + Frames.frame(9, flags: 4, stream: 1, [])
      case .shortSettings: Frames.frame(4, [0, 3])
      case .pings: head + (0..<20_000).flatMap { _ in Frames.ping() } + Frames.data(0, [1])
      case .bomb:
        // A field of the dynamic table, repeated (RFC 7541, 6.1).
        Frames.frame(
          1, flags: 4, stream: 1,
          [0x88, 0x40, 1, 0x61, 0x7F, 0xA1, 0x1E] + [UInt8](repeating: 0x62, count: 4000)
            + [UInt8](repeating: 0xBE, count: 1000))
      case .trailersWithoutEnd: head + Frames.headers(1, [("x-a", "1")])
      case .switching: Frames.headers(1, [(":status", "101")], ends: true)
      }
    }
  }
}

/// Blocks threads until all of them have counted.
private final class Counter: Sendable {
  private let left: Guarded<Int>
  private let isOpen = Gate()

  init(_ count: Int) { left = Guarded(count) }

  func count() {
    let isLast = left.withLock { left in
      left -= 1
      return left == 0
    }
    if isLast { isOpen.open() }
  }

  func wait() {
    isOpen.wait()
    isOpen.open()
  }
}
