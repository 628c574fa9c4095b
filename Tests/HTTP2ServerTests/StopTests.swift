import CNGHTTP2
import EventLoops
import Glibc
import HTTPMessages
import TestSupport
import Testing

@testable import HTTP2Echo
@testable import HTTPServer

@Suite("The end of HTTP/2 connections", .timeLimit(.minutes(5)))
struct StopTests {
  @Test("lets running requests finish and refuses new ones")
  func graceful() async throws {
    let started = Event()
    let mayEnd = Event()
    let handler = TestHandler { _ in
      started.happen()
      try await mayEnd.wait()
      return Response(status: 204)
    }
    try await withServer(handler) { server in
      let client = try TestClient(port: server.port)
      let stream = try await onThread {
        let stream = client.request()
        try client.synchronize()
        return stream
      }
      try await started.wait()
      server.drain(grace: .seconds(60))
      try await onThread {
        try client.wait { client.goAway != nil }
        #expect(client.goAway == 0 && client.lastStream == stream)
      }
      mayEnd.happen()
      try await onThread {
        #expect(try client.answer(stream).status == 204)
        try client.end()
      }
    }
  }

  @Test("cancels requests that outlast the grace period")
  func cancelled() async throws {
    let started = Event()
    let cancelled = Event()
    let handler = TestHandler { _ in
      started.happen()
      try? await waitForCancellation()
      cancelled.happen()
      return Response(status: 204)
    }
    try await withServer(handler) { server in
      let client = try TestClient(port: server.port)
      try await onThread {
        client.request()
        try client.synchronize()
      }
      try await started.wait()
      server.drain(grace: .milliseconds(1))
      try await cancelled.wait()
      try await onThread { try client.end() }
      #expect(client.goAway == 0)
    }
  }

  @Test("closes an idle connection at once when it stops")
  func idle() async throws {
    try await withServer { server in
      let client = try TestClient(port: server.port)
      try await onThread { _ = try client.answer(client.request()) }
      server.drain(grace: .seconds(60))
      try await onThread { try client.end() }
      #expect(client.goAway == 0)
    }
  }

  @Test("closes a connection without requests after the idle time")
  func timeout() async throws {
    let limits = HTTP2Limits(idleSeconds: 1)
    let code = try await withClient(EchoHandler(), limits) { client in
      _ = try client.answer(client.request())
      try client.end()
      return client.goAway
    }
    #expect(code == 0)
  }

  @Test("keeps a connection whose handlers need longer than the idle time")
  func slowHandler() async throws {
    let mayEnd = Event()
    let handler = TestHandler { request in
      if request.target == "/slow" { try await mayEnd.wait() }
      return Response(status: 204)
    }
    try await withServer(handler, HTTP2Limits(idleSeconds: 1)) { server in
      let patient = try TestClient(port: server.port)
      let port = server.port
      let stream = try await onThread {
        let stream = patient.request("GET", "/slow")
        try patient.synchronize()
        // Another connection, whose end shows that the time has passed.
        let other = try TestClient(port: port)
        _ = try other.answer(other.request())
        try other.end()
        return stream
      }
      mayEnd.happen()
      #expect(try await onThread { try patient.answer(stream).status } == 204)
    }
  }

  @Test("closes a connection whose client holds up a response or its own request", arguments: [true, false])
  func stalledClient(hasData: Bool) async throws {
    let abandoned = Event()
    let handler = TestHandler { _ in
      let pipe = BytePipe(capacity: 1 << 20)
      pipe.onAbandoned { abandoned.happen() }
      try await pipe.write([UInt8](repeating: 1, count: 100_000))
      return Response(status: 200, body: .stream(pipe, length: nil))
    }
    try await withServer(handler, HTTP2Limits(idleSeconds: 1)) { server in
      let client = try TestClient(port: server.port)
      client.isReading = false
      try await onThread {
        if hasData {
          client.request()
        } else {
          client.request("POST", "/", [("content-length", "10")], body: nil)
        }
        try client.end()
      }
      if hasData { try await abandoned.wait() }
    }
  }

  @Test("serves bytes that were read before the connection was handed over")
  func bytesReadBefore() async throws {
    var pair: [Int32] = [0, 0]
    #expect(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &pair) == 0)
    defer { close(pair[1]) }
    let loop = try EventLoop(named: "test")
    let answered = Event()
    let closed = Event()
    let handler = TestHandler { _ in
      answered.happen()
      return Response(status: 200, body: .bytes(Array("hello".utf8)))
    }
    let connection = try HTTP2Connection(
      SocketChannel(pair[0]), received: Frames.preface + Frames.settings() + Frames.get(1), handler: handler,
      connection: 1, on: loop, closed: { closed.happen() })
    try loop.start()
    defer { loop.stop() }
    try await answered.wait()
    connection.stop(grace: .seconds(60))
    try await closed.wait()
    var bytes = [UInt8](repeating: 0, count: 4096)
    let count = recv(pair[1], &bytes, bytes.count, 0)
    #expect(String(decoding: bytes.prefix(max(0, count)), as: UTF8.self).contains("hello"))
  }

  @Test("ends all connections with the loop")
  func loopEnds() async throws {
    let cancelled = Event()
    let started = Event()
    let handler = TestHandler { _ in
      started.happen()
      try? await waitForCancellation()
      cancelled.happen()
      return Response(status: 204)
    }
    try await withServer(handler) { server in
      let client = try TestClient(port: server.port)
      try await onThread {
        client.request()
        try client.synchronize()
      }
      try await started.wait()
      server.stop()
      try await cancelled.wait()
      #expect(server.connectionCount == 0)
    }
  }
}
