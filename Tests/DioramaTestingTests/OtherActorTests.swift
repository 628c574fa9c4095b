import DioramaTesting
import Foundation
import HTTPMessages
import TestSupport
import Testing

/// What a test says as the other side of an app. The suite also runs with environments in a daemon.
@Suite("A test as the server side of its app", .environment(.mock, upstreams: ["api": "https://api.example.com"]))
struct OtherActorTests {
  struct Visit: Codable, Equatable {
    var id: Int?
    var room: String
  }

  /// An app that has sent a request, and does not end it.
  private func connect(_ environment: TestEnvironment, _ path: String, _ headers: String = "") async throws -> RawClient
  {
    let port = UInt16(try environment.endpoint("api").port ?? 0)
    return try await onThread {
      let client = try RawClient(port: port)
      try client.send("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\n\(headers)\r\n")
      #expect(try [101, 200].contains(client.receiveHead().status))
      return client
    }
  }

  private let upgrade =
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    + "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: chat\r\n"

  private func next(_ client: RawClient) async throws -> WebSocketMessage? {
    try await onThread {
      var reader = WebSocketReader(isMasked: false)
      var message: WebSocketMessage?
      while message == nil {
        // One byte at a time: nothing of the next message is taken.
        let byte = try client.receive(1)
        if byte.isEmpty { return nil }
        try reader.push(byte) { message = $0 }
      }
      return message
    }
  }

  @Test("sends events before and after an app has connected")
  func events() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.get("/visits/events")) { .events(.text("hello"), .retry(after: .seconds(2))) }
    #expect(try await environment.send(.json(Visit(id: 7, room: "3"), event: "moved"), to: "/visits/events") == 0)
    let app = try await connect(environment, "/visits/events")
    #expect(
      try await environment.send(.text("a\nb", id: "k"), to: "/visits/events", afterConnections: 1) == 1)
    try await environment.send(.comment("ping"), to: "/visits/events")
    #expect(try await environment.closeEvents(at: "/visits/events") == 1)
    let text = try await onThread {
      var text = ""
      while let chunk = try app.receiveChunk() { text += String(decoding: chunk, as: UTF8.self) }
      return text
    }
    #expect(
      text == "id: 1\ndata: hello\n\nretry: 2000\n\nid: 2\nevent: moved\ndata: {\"id\":7,\"room\":\"3\"}\n\n"
        + "id: k\ndata: a\ndata: b\n\n: ping\n\n")
  }

  @Test("talks over a WebSocket: text, JSON and bytes, in both directions")
  func socket() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.get("/chat")) { .webSocket(protocols: ["chat"]) }
    let chat = environment.socket("/chat")
    async let greeted = chat.send("hello")
    async let heard = chat.received()
    let app = try await connect(environment, "/chat", upgrade)
    #expect(try await greeted == 1)
    #expect(try await next(app) == WebSocketMessage(.text, Array("hello".utf8)))
    let said = [
      WebSocketMessage(.text, Array("hi".utf8)), WebSocketMessage(.text, Array(#"{"room":"3"}"#.utf8)),
      WebSocketMessage(.binary, [1, 2]),
    ]
    try await onThread { for message in said { try app.send(message.frame(mask: 7)) } }
    #expect(try await heard.text == "hi")
    #expect(try await chat.received(as: Visit.self) == Visit(room: "3"))
    let bytes = try await chat.received()
    #expect(bytes.text == nil)
    #expect(bytes.data == Data([1, 2]))
    #expect(bytes.connection == 1)
    #expect(try await chat.messages.map(\.text) == ["hi", #"{"room":"3"}"#, nil])
    // Another handle begins at the start.
    #expect(try await environment.socket("/chat").received().text == "hi")
    try await chat.send(json: Visit(room: "4"))
    try await chat.send(data: Data([3]))
    #expect(try await next(app) == WebSocketMessage(.text, Array(#"{"room":"4"}"#.utf8)))
    #expect(try await next(app) == WebSocketMessage(.binary, [3]))
    #expect(try await chat.openConnections == 1)
    #expect(try await chat.close(code: 4000, reason: "bye") == 1)
    #expect(try await next(app) == .close(4000, "bye"))
    #expect(try await next(app) == nil)
    let again = try await connect(environment, "/chat", upgrade)
    try await chat.send("back")
    #expect(try await next(again) == WebSocketMessage(.text, Array("back".utf8)))
    again.close()
    try await chat.disconnected()
    #expect(try await chat.connections == 2)
    #expect(try await chat.openConnections == 0)
  }

  @Test("observes changes to a collection, by the app and by the test")
  func changes() async throws {
    let environment = try TestEnvironment.current
    let visits = try await environment.collection("visits", at: "/visits/{id}", items: [Visit(id: 7, room: "3")])
    async let first = visits.changes.first { _ in true }
    let port = UInt16(try environment.endpoint("api").port ?? 0)
    let requests = [
      ("POST", "/visits", #"{"room": "4"}"#), ("PATCH", "/visits/7", #"{"room": "5"}"#), ("DELETE", "/visits/8", ""),
    ]
    for (method, path, body) in requests {
      _ = try await onThread {
        try RawClient(port: port).exchange(
          "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
      }
    }
    #expect(try await first?.item == Visit(id: 8, room: "4"))
    try await visits.put(Visit(id: 7, room: "6"))
    var seen: [String] = []
    for try await change in visits.changes {
      seen.append("\(change.kind) \(change.id) \(change.old?.room ?? "-") \(change.item?.room ?? "-")")
      if seen.count == 4 { break }
    }
    #expect(seen == ["created 8 - 4", "patched 7 3 5", "removed 8 4 -", "replaced 7 5 6"])
  }

  @Test("gets a clear error if nothing arrives in time, or nothing can arrive")
  func late() async throws {
    let environment = try TestEnvironment.current
    try await environment.stub(.get("/chat")) { .webSocket() }
    let chat = environment.socket("/chat")
    let visits = try await environment.collection("visits", of: Visit.self, at: "/visits/{id}")
    let cases: [(String, DioramaTestingError.Kind, () async throws -> Void)] = [
      (
        "no app is connected to /chat; 0 connected so far; launch the app first, or wait longer", .timedOut,
        { try await chat.send("hello", timeout: .zero) }
      ),
      (
        "no message from the app at /chat within 0.0 seconds; it has sent none so far; 0 connected so far, 0 now",
        .timedOut,
        { _ = try await chat.received(timeout: .zero) }
      ),
      (
        "no change to the collection 'visits' within 0.0 seconds", .timedOut,
        { _ = try await visits.changes(timeout: .zero).first { _ in true } }
      ),
      (
        "path: no stub for GET /chat has the response .events() (in a mapping: {\"events\": []}); add one", .usage,
        { try await environment.send(.text("x"), to: "/chat") }
      ),
      (
        "path: no stub for GET /chats has the response .webSocket() (in a mapping: {\"webSocket\": {}}); add one; "
          + "stubs that do: GET /chat", .usage, { _ = try await environment.socket("/chats").messages }
      ),
      (
        "close.code: 1006 is reserved (RFC 6455, 7.4); use 1000, or one from 3000 to 4999", .usage,
        { try await chat.close(code: 1006) }
      ),
    ]
    for (text, kind, use) in cases {
      let error = await #expect(throws: DioramaTestingError.self) { try await use() }
      #expect(error?.description == text)
      #expect(error?.kind == kind)
    }
    let app = try await connect(environment, "/chat", upgrade)
    try await onThread { try app.send(WebSocketMessage(.text, Array("hi".utf8)).frame(mask: 7)) }
    #expect(try await chat.received().text == "hi")
    let error = await #expect(throws: DioramaTestingError.self) { try await chat.received(timeout: .zero) }
    #expect(
      error?.description
        == "no message from the app at /chat within 0.0 seconds; so far it has sent `hi`; 1 connected so far, 1 now")
  }
}
