import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Addresses in WebSocket messages", .timeLimit(.minutes(5)))
struct WebSocketAddressTests {
  private func frames(_ texts: [String], mask: UInt32? = nil) -> [UInt8] {
    texts.flatMap { WebSocketMessage(.text, Array($0.utf8)).frame(mask: mask) }
  }

  private func read(_ bytes: [UInt8], isMasked: Bool) throws -> [String] {
    var reader = WebSocketReader(isMasked: isMasked)
    var texts: [String] = []
    try reader.push(bytes) { texts.append(String(decoding: $0.payload, as: UTF8.self)) }
    #expect(reader.isBetweenMessages)
    return texts
  }

  @Test("are replaced in one message, and others pass, wherever chunks end", arguments: [true, false])
  func relay(isFromApp: Bool) throws {
    let bytes = frames(["one", "two", "three"], mask: isFromApp ? 0x0102_0304 : nil)
    for cut in 0...bytes.count {
      var relay = WebSocketRelay(isFromApp: isFromApp)
      var passed: [UInt8] = []
      for part in [bytes[..<cut], bytes[cut...]] where !part.isEmpty {
        passed += try relay.push(Array(part)) { message in
          message.payload == Array("two".utf8) ? WebSocketMessage(.text, Array("2".utf8)) : nil
        }
      }
      #expect(try read(passed, isMasked: isFromApp) == ["one", "2", "three"], "cut at \(cut)")
      #expect(relay.rest.isEmpty)
    }
  }

  @Test("pass unchanged, with fragments and masks, if nothing is replaced")
  func untouched() throws {
    let fragments: [UInt8] = [0x01, 0x02] + Array("he".utf8) + [0x80, 0x03] + Array("llo".utf8) + [0x89, 0x00]
    var relay = WebSocketRelay(isFromApp: false)
    var passed: [UInt8] = []
    for byte in fragments { passed += try relay.push([byte]) { _ in nil } }
    #expect(passed == fragments)
    // Control frames do not wait for the end of a message.
    #expect(try relay.push([0x01, 0x02] + Array("he".utf8)) { _ in nil } == [])
    #expect(try relay.push([0x89, 0x00]) { _ in nil } == [0x89, 0x00])
    #expect(try relay.push([0x80, 0x01, 0x21]) { _ in nil } == frames(["he!"]))
    let masked = frames(["hello"], mask: 0x0506_0708)
    relay = WebSocketRelay(isFromApp: true)
    #expect(try relay.push(masked) { _ in nil } == masked)
    #expect(try relay.push([0x81, 0x85, 1]) { _ in nil } == [])
    #expect(relay.rest == [0x81, 0x85, 1])
  }

  /// Answers each text with the text between two of its own addresses.
  private static func echo(_ origin: @escaping @Sendable () -> String) throws -> TestUpstream {
    try TestUpstream { request in
      guard WebSocketHandshake.isAsked(by: request) else { return text("no", status: 426) }
      var response = Response(
        status: 101,
        headers: [
          "Upgrade": "websocket",
          "Sec-WebSocket-Accept": WebSocketHandshake.accept(request.headers["Sec-WebSocket-Key"] ?? ""),
        ])
      response.upgrade = { duplex in
        Task {
          var reader = WebSocketReader(isMasked: true)
          var isOver = false
          while !isOver, let chunk = try await duplex.incoming.read() {
            var answers: [WebSocketMessage] = []
            try reader.push(chunk) { message in
              let said = String(decoding: message.payload, as: UTF8.self)
              isOver = message.kind == .close
              answers.append(
                message.kind == .text
                  ? WebSocketMessage(.text, Array(#"{"said":"\#(said)","next":"ws:\/\/\#(origin())\/next"}"#.utf8))
                  : message)
            }
            for answer in answers { try await duplex.outgoing.write(answer.frame()) }
          }
          duplex.outgoing.finish()
        }
      }
      return response
    }
  }

  private static func say(_ words: String, _ environment: Environment) async throws -> String {
    try await onThread {
      let client = try RawClient(port: environment.upstreams[0].port)
      try client.send(
        request(
          "GET", "/live",
          [
            "Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
          ]))
      #expect(try client.receiveHead().status == 101)
      try client.send(WebSocketMessage(.text, Array(words.utf8)).frame(mask: 7))
      var reader = WebSocketReader(isMasked: false)
      var answer: String?
      while answer == nil {
        let bytes = try client.receive()
        guard !bytes.isEmpty else { return "the end" }
        try reader.push(bytes) { answer = String(decoding: $0.payload, as: UTF8.self) }
      }
      try client.send(WebSocketMessage.close(1000).frame(mask: 7))
      while try !client.receive().isEmpty {}
      return answer ?? ""
    }
  }

  @Test("are the endpoints' for the app, and the upstreams' for the upstream and the recording, live and in replay")
  func live() async throws {
    let address = Guarded("")
    let upstream = try Self.echo { address.withLock { $0 } }
    address.withLock { $0 = upstream.origin.authority }
    try await withService(upstream) { fixture in
      for mode in [Mode.record, .replay] {
        let report = try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let port = environment.upstreams[0].port
          let answer = try await Self.say("to ws://127.0.0.1:\(port)/me", environment)
          #expect(answer == #"{"said":"to ws://127.0.0.1:\#(port)/me","next":"ws:\/\/127.0.0.1:\#(port)\/next"}"#)
        }
        #expect(report.ok, "\(report)")
      }
      let frames = try #require(try fixture.cassette().interactions[0].webSocket)
      let texts = frames.filter { $0.message.kind == .text }.map { String(decoding: $0.message.payload, as: UTF8.self) }
      #expect(
        texts == [
          "to ws://\(upstream.origin.authority)/me",
          #"{"said":"to ws://\#(upstream.origin.authority)/me","next":"ws:\/\/\#(upstream.origin.authority)\/next"}"#,
        ])
    }
  }
}
