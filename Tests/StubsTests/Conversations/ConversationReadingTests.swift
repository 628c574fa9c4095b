import Basics
import Foundation
import HTTPMessages
import Stubs
import Testing

@Suite("Event streams and WebSockets of mappings")
struct ConversationReadingTests {
  private func response(_ json: String, isTemplate: Bool = false) throws -> StubResponse {
    try mapping(#"{"request": {"url": "/a"}, "response": \#(json)}"#, isTemplate: isTemplate).response
  }

  private var plain: TemplateContext {
    TemplateContext(request("GET", "/a?x=1"), url: .any, parameters: .null, context) { Array(repeating: 0, count: $0) }
  }

  @Test("read events, and number those without an id")
  func events() throws {
    let script = try #require(
      try response(
        #"{"events": [{"data": "a\nb"}, {"comment": "ping"}, {"event": "moved", "data": {"x": 1}, "id": "k"},"#
          + #" {"data": "", "retry": 100, "delayMilliseconds": 5}, {"close": true, "delayMilliseconds": 1}]}"#
      ).events)
    let texts = try script.steps.compactMap { try $0.rendered(plain) }.map { event, id in
      String(decoding: event.encoded(id: id), as: UTF8.self)
    }
    #expect(
      texts == [
        "id: 1\ndata: a\ndata: b\n\n", ": ping\n\n", "id: k\nevent: moved\ndata: {\"x\":1}\n\n",
        "id: 3\nretry: 100\ndata: \n\n",
      ])
    #expect(script.steps.map(\.delay) == [0, 0, 0, 5, 1])
    #expect(script.count == 3)
  }

  @Test("end lines of an event's data at CR LF, LF and CR")
  func lines() {
    let event = ServerSentEvent(data: "a\r\nb\rc\n\nd")
    #expect(String(decoding: event.encoded(id: nil), as: UTF8.self) == "data: a\ndata: b\ndata: c\ndata: \ndata: d\n\n")
  }

  @Test("fill in templates of events, whose fields stay one line")
  func templates() throws {
    let script = try #require(
      try response(
        #"{"events": [{"data": "x {{request.query.x}}", "event": "{{request.query.e}}"}]}"#, isTemplate: true
      )
      .events)
    let context = TemplateContext(
      request("GET", "/a?x=1&e=a%0Aid:%207"), url: .any, parameters: .null, context
    ) { Array(repeating: 0, count: $0) }
    let event = try #require(try script.steps.first?.rendered(context))
    #expect(event.event.data == "x 1")
    #expect(event.event.name == "a id: 7")
  }

  @Test("read a conversation of text, JSON, bytes, conditions, pauses and a close")
  func conversation() throws {
    let script = try #require(
      try response(
        #"{"webSocket": {"protocols": ["chat"], "conversation": [{"send": "hi"}, {"send": {"a": [1.50]}},"#
          + #" {"sendBase64": "AQI="}, {"expect": {"equalTo": "x"}}, {"delayMilliseconds": 5},"#
          + #" {"close": {"code": 4000, "reason": "bye"}, "delayMilliseconds": 1}]}}"#
      ).webSocket)
    #expect(script.protocols == ["chat"])
    #expect(script.isStrict)
    let sent = script.steps.compactMap { step -> WebSocketMessage? in
      if case .send(let message) = step.action { message } else { nil }
    }
    #expect(
      sent == [
        .init(.text, Array("hi".utf8)), .init(.text, Array(#"{"a":[1.50]}"#.utf8)), .init(.binary, [1, 2]),
        .close(4000, "bye"),
      ])
    #expect(script.steps.map(\.delay) == [0, 0, 0, 0, 5, 1])
    #expect(try response(#"{"webSocket": {}}"#).webSocket?.isStrict == false)
    let template = try response(#"{"webSocket": {"conversation": [{"send": "{{now}}"}]}}"#, isTemplate: true).webSocket
    guard case .sendText = template?.steps.first?.action else {
      Issue.record("not a template: \(template?.steps.count ?? 0) steps")
      return
    }
  }

  @Test(
    "are refused, with the member and what to do",
    arguments: [
      (#"{"events": [{"dta": "x"}]}"#, "response.events[0].dta: unknown member; did you mean 'data'?"),
      (#"{"events": [{}]}"#, "response.events[0]: is empty; add 'data', 'delayMilliseconds' or \"close\": true"),
      (
        #"{"events": [{"event": "x"}]}"#,
        "response.events[0].event: clients ignore an event without data; add 'data', which may be \"\""
      ),
      (
        #"{"events": [{"data": "", "id": "a\nb"}]}"#,
        "response.events[0].id: has a line break or a null character, which this field cannot contain"
      ),
      (
        #"{"events": [{"close": true}, {"data": "x"}]}"#,
        "response.events[1]: follows the end of the stream; remove it, or the 'close' before it"
      ),
      (
        #"{"events": [{"close": true, "data": "x"}]}"#,
        "response.events[0].close: an event is also given; put \"close\": true in its own element"
      ),
      (#"{"events": [], "body": "x"}"#, "response.body: 'events' is also given; keep one of them"),
      (#"{"events": [], "webSocket": {}}"#, "response.webSocket: 'events' is also given; keep one of them"),
      (#"{"events": [], "status": 204}"#, "response.status: 'events' sets the status; remove this member"),
      (#"{"event": []}"#, "response.event: unknown member; did you mean 'events'?"),
      (#"{"webSockets": {}}"#, "response.webSockets: unknown member; did you mean 'webSocket'?"),
      (
        #"{"webSocket": {"conversations": []}}"#,
        "response.webSocket.conversations: unknown member; did you mean 'conversation'?"
      ),
      (
        #"{"webSocket": {"protocols": ["a b"]}}"#,
        "response.webSocket.protocols[0]: 'a b' is not a valid subprotocol name (RFC 6455, 4.1)"
      ),
      (
        #"{"webSocket": {"conversation": [{"expect": {"equalsTo": "x"}}]}}"#,
        "response.webSocket.conversation[0].expect: has no condition; did you mean 'equalTo'?"
      ),
      (
        #"{"webSocket": {"conversation": [{"expect": {"equalTo": "x"}, "send": "y"}]}}"#,
        "response.webSocket.conversation[0].expect: a message to send is also given; put it in its own element"
      ),
      (
        #"{"webSocket": {"conversation": [{"send": "x", "close": 1000}]}}"#,
        "response.webSocket.conversation[0].close: 'send' is also given; keep one of them"
      ),
      (
        #"{"webSocket": {"conversation": [{"close": 1006}]}}"#,
        "response.webSocket.conversation[0].close: 1006 is reserved (RFC 6455, 7.4); use 1000, or one from 3000 to 4999"
      ),
      (
        #"{"webSocket": {"conversation": [{"close": 1000}, {"send": "x"}]}}"#,
        "response.webSocket.conversation[1]: follows the close; remove it, or the 'close' before it"
      ),
      (
        #"{"webSocket": {"conversation": [{}]}}"#,
        "response.webSocket.conversation[0]: is empty; add 'send', 'expect', 'delayMilliseconds' or 'close'"
      ),
      (
        #"{"webSocket": {"conversation": [{"sendBase64": "?"}]}}"#,
        "response.webSocket.conversation[0].sendBase64: not Base64"
      ),
      (
        #"{"webSocket": {"conversation": [{"send": "{{#if}}"}]}, "transformers": ["response-template"]}"#,
        "response.webSocket.conversation[0].send: line 1, column 1: "
      ),
    ])
  func refused(json: String, message: String) {
    let error = #expect(throws: CodedError.self) { try response(json) }
    #expect(error?.message.hasPrefix(message) == true, "\(error?.message ?? "")")
  }

  private let handshake: Headers = [
    "Connection": "keep-alive, Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
  ]

  @Test("answer only handshakes, before other stubs")
  func handshakes() throws {
    var store = try StubStore(
      mapping(#"{"name": "socket", "request": {"urlPath": "/chat"}, "response": {"webSocket": {}}}"#),
      mapping(#"{"name": "history", "request": {"urlPath": "/chat"}, "response": {"body": "x"}}"#))
    #expect(try store.answer(request("GET", "/chat", handshake)) == "socket")
    #expect(try store.answer(request("GET", "/chat")) == "history")
    #expect(try store.answer(request("POST", "/chat", handshake)) == "history")
    #expect(store.constant(method: "GET", target: "/chat")?.name == "history")
    let socket = try #require(store.conversation(at: "/chat", \.webSocket))
    #expect(store.obstacle(socket, request("GET", "/chat")) == "it answers only WebSocket handshakes")
    #expect(store.obstacle(socket, request("GET", "/chat", handshake)) == nil)
    for mapping in store.mappings where mapping.name == "history" { store.remove(mapping.id) }
    #expect(try store.answer(request("GET", "/chat")) == nil)
    try store.add(mapping(#"{"name": "any", "request": {}, "response": {"status": 503}}"#))
    #expect(try store.answer(request("GET", "/other", handshake)) == "any")
    // Where the cassette or the upstream may answer.
    #expect(try store.match(request("GET", "/other", handshake), context, isSocketWanted: true) == nil)
    #expect(try store.match(request("GET", "/other"), context, isSocketWanted: true)?.name == "any")
    #expect(try store.match(request("GET", "/chat", handshake), context, isSocketWanted: true)?.name == "socket")
    store.removeAll { $0.name == "any" }
    #expect(store.constant(method: "GET", target: "/chat") == nil)
  }

  @Test("are found by their path, regardless of the query")
  func paths() throws {
    var store = StubStore()
    for (url, path) in [
      (#""url": "/a?x=1""#, "/a"), (#""urlPath": "/b""#, "/b"), (#""urlPathTemplate": "/c/{id}""#, "/c/7"),
      (#""urlPathPattern": "/d/.*""#, "/d/e"),
    ] {
      try store.add(mapping(#"{"request": {"method": "GET", \#(url)}, "response": {"events": []}}"#))
      #expect(store.conversation(at: path, \.events) != nil, "\(url)")
      #expect(store.conversation(at: path, \.webSocket) == nil)
      #expect(store.conversation(at: "/other", \.events) == nil)
    }
    try store.add(mapping(#"{"request": {"method": "POST", "urlPath": "/e"}, "response": {"events": []}}"#))
    #expect(store.conversation(at: "/e", \.events) == nil)
    // Never at once: the stream has to be opened.
    #expect(store.constant(method: "GET", target: "/b") == nil)
    store.removeAll()
    #expect(store.conversation(at: "/b", \.events) == nil)
  }
}
