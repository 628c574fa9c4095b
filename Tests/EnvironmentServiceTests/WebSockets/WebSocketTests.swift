import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import Diorama
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

/// A server that greets, answers text in capitals and bytes in reverse order, and closes on `bye`.
private func chatServer() throws -> TestUpstream {
  try server(greeting: ["hello"]) { message in
    let said = String(decoding: message.payload, as: UTF8.self)
    return switch message.kind {
    case .text where said == "bye": [.close(4000, "as you wish")]
    case .text: [saying(said.uppercased())]
    case .binary: [WebSocketMessage(.binary, message.payload.reversed())]
    case .ping: [WebSocketMessage(.pong, message.payload)]
    case .close: [message]
    case .pong: []
    }
  }
}

private func saying(_ text: String) -> WebSocketMessage { WebSocketMessage(.text, Array(text.utf8)) }

/// A server that sends a greeting, answers each message until it has sent its close, and ends at the app's close.
private func server(
  greeting: [String] = [], answer: @escaping @Sendable (WebSocketMessage) -> [WebSocketMessage]
) throws -> TestUpstream {
  try TestUpstream { request in
    guard WebSocketHandshake.isAsked(by: request) else { return text("no", status: 426) }
    #expect(request.headers["Sec-WebSocket-Extensions"] == nil)
    var response = Response(
      status: 101,
      headers: [
        "Upgrade": "websocket", "Sec-WebSocket-Protocol": "chat",
        "Sec-WebSocket-Accept": WebSocketHandshake.accept(request.headers["Sec-WebSocket-Key"] ?? ""),
      ])
    response.upgrade = { duplex in
      Task {
        for said in greeting { try await duplex.outgoing.write(saying(said).frame()) }
        var reader = WebSocketReader(isMasked: true)
        var hasClosed = false
        var isOver = false
        while !isOver, let chunk = try await duplex.incoming.read() {
          var answers: [WebSocketMessage] = []
          try reader.push(chunk) { message in
            isOver = isOver || message.kind == .close
            if !hasClosed { answers += answer(message) }
            hasClosed = hasClosed || answers.last?.kind == .close
          }
          for answer in answers { try await duplex.outgoing.write(answer.frame()) }
        }
        duplex.outgoing.finish()
      }
    }
    return response
  }
}

/// An app with one WebSocket.
final class Chat: Sendable {
  let client: RawClient
  let head: RawClient.Answer
  private let read = Guarded((reader: WebSocketReader(isMasked: false), messages: [WebSocketMessage]()))

  convenience init(_ environment: Environment, _ target: String = "/chat") async throws {
    try await self.init(port: environment.upstreams[0].port, target)
  }

  init(port: UInt16, _ target: String = "/chat", protocols: String = "chat", receiveBuffer: Int32? = nil) async throws {
    (client, head) = try await onThread {
      let client = try RawClient(port: port, receiveBuffer: receiveBuffer)
      try client.send(Self.handshake(target, protocols))
      return (client, try client.receiveHead())
    }
  }

  static func handshake(_ target: String, _ protocols: String = "chat") -> String {
    request(
      "GET", target,
      [
        "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==", "Sec-WebSocket-Protocol": protocols,
        "Sec-WebSocket-Extensions": "permessage-deflate",
      ])
  }

  func say(_ text: String) throws { try send(WebSocketMessage(.text, Array(text.utf8))) }

  func send(_ message: WebSocketMessage) throws { try client.send(message.frame(mask: 0x1234_5678)) }

  /// The next message; nil if the connection has ended.
  func next() async throws -> WebSocketMessage? {
    try await onThread { [self] in
      while true {
        if let message = read.withLock({ $0.messages.isEmpty ? nil : $0.messages.removeFirst() }) { return message }
        let bytes = try client.receive()
        if bytes.isEmpty { return nil }
        try read.withLock { read in try read.reader.push(bytes) { read.messages.append($0) } }
      }
    }
  }

  func nextText() async throws -> String? { try await next().map { String(decoding: $0.payload, as: UTF8.self) } }
}

extension ServiceFixture {
  /// Writes a cassette with one WebSocket, with messages at the given seconds after its start.
  fileprivate func write(_ messages: [(Double, isFromApp: Bool, WebSocketMessage)]) throws {
    let start = 1_538_989_200.0
    let interaction = Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00.000Z", milliseconds: 90_000,
      request: RecordedRequest(
        method: RecordedRequest.webSocketMethod, url: "http://a.test/chat", headers: [:], body: .empty),
      response: RecordedResponse(status: 101, reason: "", headers: [:], body: .empty),
      webSocket: messages.map { WebSocketFrame(isFromApp: $0.isFromApp, time: start + $0.0, message: $0.2) })
    let header = CassetteHeader(
      recordedAt: "2018-10-08T09:00:00Z", upstreams: [.init(name: "api", origin: try Origin(parsing: "http://a.test"))])
    let cassette = Cassette(header: header, interactions: [interaction])
    try write(String(decoding: HAR.write(cassette), as: UTF8.self), to: "c.har")
  }
}

@Suite("WebSockets")
struct WebSocketTests {
  /// What the app does, in a recording and in its replay.
  private func talk(_ environment: Environment) async throws {
    let chat = try await Chat(environment)
    #expect(chat.head.status == 101)
    // The example of RFC 6455, section 1.3.
    #expect(chat.head.headers["Sec-WebSocket-Accept"] == "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=")
    #expect(chat.head.headers["Sec-WebSocket-Protocol"] == "chat")
    #expect(chat.head.headers["Sec-WebSocket-Extensions"] == nil)
    #expect(try await chat.nextText() == "hello")
    try chat.say("naïve")
    #expect(try await chat.nextText() == "NAÏVE")
    try chat.send(WebSocketMessage(.ping, [7]))
    #expect(try await chat.next() == WebSocketMessage(.pong, [7]))
    let bytes = noise(200_000)
    try await onThread { try chat.send(WebSocketMessage(.binary, bytes)) }
    #expect(try await chat.next() == WebSocketMessage(.binary, bytes.reversed()))
    try chat.say("bye")
    let close = try await chat.next()
    #expect(close?.closeCode == 4000)
    #expect(close?.closeReason == "as you wish")
    try? chat.send(close ?? .close(1000))
    #expect(try await chat.next() == nil)
  }

  @Test("are recorded message by message, and replayed without the upstream")
  func replayed() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      let recorded = try await fixture.record(["api": upstream.origin]) { try await talk($0) }
      #expect(recorded.requests.recorded == 1)
      let interaction = try #require(try fixture.cassette().interactions.first)
      let frames = try #require(interaction.webSocket)
      #expect(frames.map(\.isFromApp) == [false, true, false, true, false, true, false])
      #expect(frames.last?.message == .close(4000, "as you wish"))
      #expect(interaction.response.end == .whole)
      #expect(upstream.requestCount == 1)
      let replayed = try await fixture.run(.replay) { try await talk($0) }
      #expect(replayed.requests.replayed == 1)
      #expect(replayed.ok)
      #expect(upstream.requestCount == 1)
    }
  }

  @Test(
    "whose server continues after the app's close are recorded and replayed up to its own close, or a disconnect",
    arguments: [true, false])
  func late(closes: Bool) async throws {
    let upstream = try server { message in
      guard message.kind == .close else { return [] }
      return [saying("one"), saying("two")] + (closes ? [.close(4001, "server says bye")] : [])
    }
    func talk(_ environment: Environment) async throws {
      let chat = try await Chat(environment)
      for said in ["1", "2"] { try chat.say(said) }
      try chat.send(.close(1000))
      #expect(try await chat.nextText() == "one")
      #expect(try await chat.nextText() == "two")
      #expect(try await chat.next() == (closes ? .close(4001, "server says bye") : nil))
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { try await talk($0) }
      let interaction = try #require(try fixture.cassette().interactions.first)
      #expect(interaction.response.end == (closes ? .whole : .cut))
      let frames = interaction.webSocket ?? []
      #expect(frames.map(\.isFromApp) == [true, true, true, false, false] + (closes ? [false] : []))
      for pace in [StreamPace.instant, .recorded] {
        let replayed = try await fixture.run(.replay, with: { $0.streams = pace }) { try await talk($0) }
        #expect(replayed.ok)
      }
    }
  }

  @Test("pass through a proxy, and are not kept")
  func proxied() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      let report = try await fixture.run(.proxy, ["api": upstream.origin]) { try await talk($0) }
      #expect(report.requests.forwarded == 1)
      #expect(report.requests.total == 1)
    }
  }

  @Test("with an unrecorded message are closed with 1008 and the reason, and fail the environment")
  func miss() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        let chat = try await Chat(environment)
        // Wait for the greeting: messages are replayed in their recorded order.
        _ = try await chat.next()
        try chat.say("naïve")
        _ = try await chat.next()
        try chat.send(.close(1000))
        _ = try await chat.next()
      }
      let report = try await fixture.run(.replay) { environment async throws in
        let chat = try await Chat(environment)
        #expect(try await chat.nextText() == "hello")
        try chat.say("native")
        let close = try await chat.next()
        #expect(close?.closeCode == 1008)
        #expect(close?.closeReason.contains("message 1: recorded `naïve`, got `native`") == true)
        #expect(try await chat.next() == nil)
      }
      #expect(!report.ok)
      #expect(report.requests.unmatched == 1)
      // A message is not a request.
      #expect(report.requests.total == 1)
      #expect(report.unmatched.first?.method == "WEBSOCKET")
      #expect(report.unmatched.first?.url.hasSuffix("/chat") == true)
      #expect(report.unmatched.first?.refusal?.contains("; to re-record: diorama run --mode record") == true)
    }
  }

  @Test("match by the rules of their handshake, and an echo puts the app's ids into the server's messages")
  func echoed() async throws {
    func call(_ id: String, _ method: String) -> String { #"{"id": \#(id), "method": "\#(method)"}"# }
    func answer(_ id: String, _ result: Int) -> String { #"{"id": \#(id), "result": \#(result)}"# }
    let messages: [(String, isFromApp: Bool)] = [
      (call("1", "subscribe"), true), (answer("1", 1), false), (call("2", "get"), true), (answer("2", 2), false),
      (answer("1", 3), false), (call("1", "get"), true), (answer("1", 4), false),
    ]
    try await withService { fixture in
      try fixture.write(messages.enumerated().map { (Double($0.offset), $0.element.isFromApp, saying($0.element.0)) })
      for (member, isEchoed) in [("echo", true), ("ignore", false)] {
        try fixture.project(matching: #"{"rules": [{"path": "/chat", "\#(member)": {"json": ["$.id"]}}]}"#)
        let report = try await fixture.run(.replay) { environment async throws in
          let chat = try await Chat(environment)
          func hears(_ recorded: String, _ sent: String, _ result: Int) async throws {
            #expect(try await chat.nextText() == answer(isEchoed ? sent : recorded, result))
          }
          try chat.say(call("\"a\"", "subscribe"))
          try await hears("1", "\"a\"", 1)
          try chat.say(call("70", "get"))
          try await hears("2", "70", 2)
          // The subscription's id still counts, until another call takes its place.
          try await hears("1", "\"a\"", 3)
          try chat.say(call("71", "get"))
          try await hears("1", "71", 4)
          try chat.send(.close(1000))
        }
        #expect(report.ok)
        #expect((report.unechoed == nil) == isEchoed)
        if !isEchoed {
          #expect(report.unechoed?.count == 1)
          #expect(
            report.unechoed?[0].contains("WEBSOCKET http://a.test/chat contains the recorded value of $.id") == true)
        }
      }
    }
  }

  @Test("that differ from the recording fail an environment in extend too, since nothing can be added to one")
  func extended() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { try await talk($0) }
      let report = try await fixture.run(.extend) { environment async throws in
        let chat = try await Chat(environment)
        #expect(try await chat.nextText() == "hello")
        try chat.say("native")
        #expect(try await chat.next()?.closeCode == 1008)
      }
      #expect(!report.ok)
      #expect(report.failures.contains { $0.contains("differs from the recording; re-record it with mode record") })
    }
  }

  @Test("that are not recorded are a miss before they begin, and do not match a plain request for the same URL")
  func unknown() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { try await talk($0) }
      try await fixture.run(.replay) { environment async throws in
        let chat = try await Chat(environment, "/other")
        #expect(chat.head.status == 501)
        #expect(chat.head.headers["Diorama-Miss"] == "1")
        #expect(environment.report().requests.total == 1)
        #expect(try await environment.get("/chat").status == 501)
      }
    }
  }

  @Test(
    "that the upstream refuses are recorded as plain requests, and refused in replay",
    arguments: [false, true])
  func refused(isChunked: Bool) async throws {
    let upstream = try ScriptedUpstream { connection in
      _ = try connection.readHead()
      let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: 12"
      let body = isChunked ? "4\r\nwho \r\n8;x=1\r\nare you?\r\n0\r\n\r\n" : "who are you?"
      try connection.write(
        "HTTP/1.1 401 Unauthorized\r\nContent-Type: text/plain\r\nWWW-Authenticate: Basic\r\n\(framing)\r\n\r\n\(body)"
      )
      _ = connection.readToEnd()
    }
    defer { upstream.stop() }
    func ask(_ environment: Environment) async throws {
      let port = environment.upstreams[0].port
      let answer = try await onThread {
        let client = try RawClient(port: port)
        try client.send(Chat.handshake("/chat"))
        return try client.receiveAnswer()
      }
      #expect(answer.status == 401)
      #expect(answer.headers["WWW-Authenticate"] == "Basic")
      #expect(answer.text == "who are you?")
    }
    try await withService { fixture in
      let recorded = try await fixture.record(["api": upstream.origin]) { try await ask($0) }
      #expect(recorded.requests.recorded == 1)
      #expect(recorded.requests.failed == 0)
      let interaction = try #require(try fixture.cassette().interactions.first)
      #expect(interaction.webSocket == nil)
      #expect(interaction.request.method == RecordedRequest.webSocketMethod)
      #expect(try fixture.read("c.har").contains("\"ws://127.0.0.1:"))
      let replayed = try await fixture.run(.replay) { environment async throws in
        // A plain request for the same URL does not match.
        #expect(try await environment.get("/chat").status == 501)
        try await ask(environment)
      }
      #expect(replayed.requests.replayed == 1)
      let proxied = try await fixture.run(.proxy, ["api": upstream.origin]) { try await ask($0) }
      #expect(proxied.requests.forwarded == 1)
    }
  }

  @Test("that are open at the end of a recording are kept, and in replay stay open until its end")
  func ended() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      let recording = try fixture.provision(.record, ["api": upstream.origin])
      let recorded = try await Chat(recording)
      #expect(try await recorded.nextText() == "hello")
      let (report, sealed) = await recording.end(grace: .seconds(100_000))
      #expect(report.requests.recorded == 1)
      _ = try sealed.get()
      #expect(try fixture.cassette().interactions.first?.response.end == .open)
      let replaying = try fixture.provision(.replay)
      let chat = try await Chat(replaying)
      #expect(try await chat.nextText() == "hello")
      #expect(!chat.client.hasMore)
      _ = await replaying.end(grace: .seconds(100_000))
      #expect(try await chat.next()?.closeCode == 1001)
      #expect(try await chat.next() == nil)
    }
  }

  @Test("that follow the timeline get an answer when the clock has been moved far enough")
  func timeline() async throws {
    try await withService { fixture in
      try fixture.write([
        (5, isFromApp: true, saying("when?")), (65, isFromApp: false, saying("now")),
        (65, isFromApp: false, .close(1000)),
      ])
      try await fixture.run(.replay, with: { $0.streams = .timeline }) { environment async throws in
        let clock = DioramaClock(environment.state.withLock { $0.live.state.timeline })
        let chat = try await Chat(environment)
        try chat.say("when?")
        try await clock.waitForSleepers(1)
        _ = try await environment.moveClock(.advance(.seconds(59)), afterSleepers: nil, timeout: .seconds(60))
        #expect(clock.sleeperCount == 1)
        #expect(!chat.client.hasMore)
        _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: nil, timeout: .seconds(60))
        #expect(try await chat.nextText() == "now")
        #expect(try await chat.next()?.closeCode == 1000)
        try? chat.send(.close(1000))
        #expect(try await chat.next() == nil)
      }
    }
  }

  @Test("that follow the timeline get the rest at once when the app has closed, since it would wait for it")
  func closedEarly() async throws {
    try await withService { fixture in
      try fixture.write([
        (5, isFromApp: false, saying("soon")), (65, isFromApp: true, .close(1000)),
        (70, isFromApp: false, saying("late")),
        (75, isFromApp: false, .close(4001)),
      ])
      try await fixture.run(.replay, with: { $0.streams = .timeline }) { environment async throws in
        let chat = try await Chat(environment)
        try chat.send(.close(1000))
        #expect(try await chat.nextText() == "soon")
        #expect(try await chat.nextText() == "late")
        #expect(try await chat.next() == .close(4001))
        #expect(try await chat.next() == nil)
      }
    }
  }

  @Test("recorded by an old version up to the app's close answer with that close")
  func recordedToClose() async throws {
    try await withService { fixture in
      try fixture.write([(1, isFromApp: true, saying("a")), (2, isFromApp: true, .close(1000))])
      try await fixture.run(.replay) { environment async throws in
        let chat = try await Chat(environment)
        try chat.say("a")
        try chat.send(.close(1000, "bye"))
        #expect(try await chat.next() == .close(1000, "bye"))
        #expect(try await chat.next() == nil)
      }
    }
  }

  @Test("whose app violates the protocol are closed with its code")
  func broken() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { try await talk($0) }
      let report = try await fixture.run(.replay) { environment async throws in
        let chat = try await Chat(environment)
        #expect(try await chat.nextText() == "hello")
        // Without a mask.
        try chat.client.send(WebSocketMessage(.text, [0x61]).frame())
        #expect(try await chat.next()?.closeCode == 1002)
      }
      #expect(!report.ok)
    }
  }

  @Test("with a message that is too large are closed with 1009, and recorded up to there")
  func tooLarge() async throws {
    let upstream = try chatServer()
    try await withService(upstream) { fixture in
      func talk(_ environment: Environment, sendsMore: Bool) async throws {
        let chat = try await Chat(environment)
        #expect(try await chat.nextText() == "hello")
        try chat.say("a")
        #expect(try await chat.nextText() == "A")
        // The head of a message of 17 MiB, which is enough to refuse it.
        if sendsMore { try chat.client.send([0x82, 0xFF, 0, 0, 0, 0, 1, 0x10, 0, 0, 1, 2, 3, 4, 5] as [UInt8]) }
        let close = try await chat.next()
        #expect(close?.closeCode == 1009)
        #expect(close?.closeReason == "a message of more than 16777216 bytes")
      }
      let report = try await fixture.run(.record, ["api": upstream.origin], with: ServiceFixture.replaces) {
        environment async throws in
        try await talk(environment, sendsMore: true)
        #expect(try await environment.get("/plain").status == 426)
      }
      #expect(!report.ok)
      #expect(report.failures.contains { $0.contains("up to that point: the app sent a message of more than") })
      #expect(try fixture.cassette().interactions.count == 2)
      let replayed = try await fixture.run(.replay) { try await talk($0, sendsMore: false) }
      #expect(replayed.requests.replayed == 1)
    }
  }
}
