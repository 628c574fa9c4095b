import Basics
import HTTPMessages
import TestSupport
import Testing

@testable import HTTP2Echo
@testable import HTTPServer

@Suite("HTTP/2 and HTTP/1.1 on one port", .timeLimit(.minutes(5)))
struct ListenerTests {
  private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)

  private func withListener<Value: Sendable>(
    _ handler: any RequestHandler = EchoHandler(), _ body: (HTTPServer, UInt16) async throws -> Value
  ) async throws -> Value {
    let server = try HTTPServer()
    let port = try server.listen(handler: handler).port
    do {
      let value = try await body(server, port)
      await server.stop(grace: .zero)
      return value
    } catch {
      await server.stop(grace: .zero)
      throw error
    }
  }

  @Test("tells them apart by the first bytes")
  func both() async throws {
    try await withListener { _, port in
      let (new, old) = try await onThread {
        let client = try TestClient(port: port, window: nil)
        return (
          try client.answer(client.request("GET", "/")),
          try RawClient(port: port).exchange("GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
        )
      }
      #expect(new.status == 200 && new.text == "hello\n")
      #expect(old.status == 200)
    }
  }

  @Test(
    "waits for bytes that arrive one by one", arguments: ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "PRINT / HTTP/1.1\r\n"])
  func slow(first: String) async throws {
    try await withListener { _, port in
      let received = try await onThread {
        let client = try RawClient(port: port)
        for byte in first.utf8 { try client.send([byte]) }
        // Empty SETTINGS, or the rest of the head.
        try client.send(first.hasPrefix("PRINT") ? Array("Host: a\r\n\r\n".utf8) : [0, 0, 0, 4, 0, 0, 0, 0, 0])
        return try client.receive(9)
      }
      // A SETTINGS frame, or a status line.
      #expect(first.hasPrefix("PRINT") ? received.starts(with: "HTTP/1.1".utf8) : received[3] == 4)
    }
  }

  @Test("stops with silent connections, open ones and a running request")
  func stops() async throws {
    let began = Monitor(false)
    let handler = TestHandler { _ in
      began.withLock { $0 = true }
      try await Task.sleep(for: .seconds(600))
      return Response(status: 200)
    }
    try await withListener(handler) { server, port in
      let clients = try await onThread {
        let silent = try RawClient(port: port)
        let open = try RawClient(port: port)
        try open.send(Self.preface)
        let busy = try TestClient(port: port, window: nil)
        _ = busy.request("GET", "/")
        try busy.sendAll()
        return (silent, open, busy)
      }
      await began.waitIgnoringCancellation { $0 }
      await server.stop(grace: .zero)
      let rest = try await onThread { try clients.0.receiveAll() }
      #expect(rest.isEmpty)
    }
  }
}
