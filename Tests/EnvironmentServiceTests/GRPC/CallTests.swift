import Basics
import Cassettes
import ControlAPI
import HTTPClient
import HTTPMessages
import HTTPServer
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService
@testable import HTTP2Echo

@Suite("gRPC calls", .timeLimit(.minutes(5)))
struct CallTests {
  /// A server of gRPC, which is gone when the closure returns.
  private func withUpstream(
    _ body: (ServiceFixture, Origin, _ stop: () async -> Void) async throws -> Void
  ) async throws {
    let server = try HTTPServer()
    let port = try server.listen(handler: EchoHandler()).port
    try await withService { fixture in
      try await body(fixture, Origin(scheme: "http", host: "127.0.0.1", port: Int(port))) {
        await server.stop(grace: .zero)
      }
    }
    await server.stop(grace: .zero)
  }

  private final class Caller: Sendable {
    private let client: HTTPClient
    private let origin: Origin

    init(_ environment: Environment) throws {
      client = try HTTPClient()
      origin = Origin(scheme: "http", host: "127.0.0.1", port: Int(environment.upstreams[0].port))
    }

    deinit { client.shutdown() }

    func send(_ method: String, _ body: Body) async throws -> Response {
      var request = Request(
        method: "POST", target: "/echo.Echo/\(method)",
        headers: ["content-type": "application/grpc", "te": "trailers"],
        body: body)
      request.isHTTP2 = true
      return try await client.send(request, to: origin)
    }

    /// - Returns: the messages of the response, and its status.
    func call(_ method: String, _ messages: String...) async throws -> ([String], String?) {
      let body = messages.flatMap { GRPCMessage(Array($0.utf8)).frame }
      let response = try await send(method, .stream(BytePipe(holding: body), length: nil))
      return try await Self.end(of: response)
    }

    static func end(of response: Response) async throws -> ([String], String?) {
      var parser = GRPCMessageParser(limit: 1 << 20)
      var all: [String] = []
      try await response.body.forEachPiece { bytes in
        all += try parser.parse(Array(bytes)).map { String(decoding: $0.payload, as: UTF8.self) }
      }
      return (all, response.trailers?.headers["grpc-status"] ?? response.headers["grpc-status"])
    }

    /// Sends each message when the previous one was answered.
    func converse(_ messages: String..., leaving: Bool = false) async throws -> [String] {
      let outgoing = BytePipe()
      var answers: [String] = []
      var incoming: BytePipe?
      var response: Response?
      var parser = GRPCMessageParser(limit: 1 << 20)
      for message in messages {
        try await outgoing.write(GRPCMessage(Array(message.utf8)).frame)
        if response == nil {
          let began = try await send("BidiStream", .stream(outgoing, length: nil))
          if case .stream(let pipe, _) = began.body { incoming = pipe }
          response = began
        }
        var parsed: [GRPCMessage] = []
        while parsed.isEmpty, let bytes = try await incoming?.read() { parsed = try parser.parse(bytes) }
        guard !parsed.isEmpty else { break }
        answers += parsed.map { String(decoding: $0.payload, as: UTF8.self) }
      }
      guard !leaving else {
        incoming?.abandon()
        outgoing.fail(CancellationError())
        return answers
      }
      outgoing.finish()
      while let bytes = try await incoming?.read() { answers.append("\(bytes.count) more") }
      answers.append("status \(response?.trailers?.headers["grpc-status"] ?? "none")")
      return answers
    }
  }

  private func use(_ environment: Environment) async throws -> [String] {
    let caller = try Caller(environment)
    var seen: [String] = []
    for (method, messages) in [("Unary", ["one"]), ("ServerStream", ["abc"]), ("ClientStream", ["a", "b"])] {
      let (answers, status) =
        messages.count == 1
        ? try await caller.call(method, messages[0]) : try await caller.call(method, messages[0], messages[1])
      seen.append("\(method) \(answers) \(status ?? "none")")
    }
    seen += try await caller.converse("x1", "x2", "x3")
    seen += try await caller.converse("y1", "y2")
    seen.append("\(try await caller.call("Missing"))")
    return seen
  }

  @Test("are recorded and replayed message by message in all four kinds")
  func kinds() async throws {
    try await withUpstream { fixture, origin, stop in
      let recorded = Guarded<[String]>([])
      try await fixture.record(["api": origin]) { environment in
        let seen = try await use(environment)
        recorded.withLock { $0 = seen }
      }
      await stop()
      #expect(
        recorded.withLock { $0 } == [
          #"Unary ["one"] 0"#, #"ServerStream ["a", "b", "c"] 0"#, #"ClientStream ["ab"] 0"#, "x1", "x2", "x3",
          "status 0", "y1", "y2", "status 0", #"([], Optional("12"))"#,
        ])
      let cassette = try fixture.cassette()
      #expect(cassette.interactions.map(\.interleaving) == [[], [], [], [0, 1, 2, 3], [0, 1, 2], []])
      #expect(cassette.interactions[1].response.parts.map(\.count) == [6, 6, 6])
      for _ in 0..<2 {
        let report = try await fixture.run(.replay, ["api": origin]) { environment in
          let seen = try await use(environment)
          #expect(seen == recorded.withLock { $0 })
        }
        #expect(report.ok)
      }
    }
  }

  @Test("that the server ends with its head, before the request ends, are recorded and replayed with their status")
  func refused() async throws {
    try await withUpstream { fixture, origin, stop in
      for mode in [Mode.record, .replay] {
        let report = try await fixture.run(mode, ["api": origin]) { environment in
          let caller = try Caller(environment)
          for _ in 0..<20 {
            let outgoing = BytePipe()
            try await outgoing.write(GRPCMessage(Array("one".utf8)).frame)
            let response = try await caller.send("Unauthenticated", .stream(outgoing, length: nil))
            let (messages, status) = try await Caller.end(of: response)
            #expect(messages == [])
            #expect(status == "16")
            outgoing.finish()
          }
        }
        #expect(report.ok)
        await stop()
      }
      let interactions = try fixture.cassette().interactions
      #expect(interactions.count == 20)
      #expect(interactions.allSatisfy { $0.response.end == .whole && $0.response.headers["grpc-status"] == "16" })
    }
  }

  @Test("that the app cancels are recorded, and stay open in replay")
  func cancelled() async throws {
    try await withUpstream { fixture, origin, stop in
      for mode in [Mode.record, .replay] {
        let report = try await fixture.run(mode, ["api": origin]) { environment in
          let caller = try Caller(environment)
          #expect(try await caller.converse("watch", leaving: true) == ["watch"])
          #expect(try await caller.call("Unary", "after").0 == ["after"])
        }
        #expect(report.ok)
        await stop()
      }
      #expect(try fixture.cassette().interactions.map { $0.response.end } == [.open, .whole])
    }
  }

  @Test("that differ get a status that names the difference, and fail the environment")
  func differs() async throws {
    try await withUpstream { fixture, origin, stop in
      try await fixture.record(["api": origin]) { environment in
        let caller = try Caller(environment)
        _ = try await caller.converse("a", "b")
        _ = try await caller.call("Unary", "one")
      }
      await stop()
      let report = try await fixture.run(.replay, ["api": origin]) { environment in
        let caller = try Caller(environment)
        #expect(try await caller.converse("a", "c") == ["a", "status 9"])
        #expect(try await caller.call("Unary", "two") == ([], "9"))
      }
      #expect(!report.ok)
      #expect(report.unmatched.first?.refusal == "message 2 byte 5: recorded 0x62 'b', got 0x63 'c'")
    }
  }

  @Test("that are not in the cassette are recorded in mode extend, although their messages depend on the response")
  func extends() async throws {
    try await withUpstream { fixture, origin, _ in
      try await fixture.record(["api": origin]) { environment in
        _ = try await Caller(environment).call("Unary", "one")
      }
      let report = try await fixture.run(.extend, ["api": origin]) { environment in
        let caller = try Caller(environment)
        #expect(try await caller.call("Unary", "one").0 == ["one"])
        #expect(try await caller.converse("a", "b") == ["a", "b", "status 0"])
      }
      #expect(report.ok)
      let again = try await fixture.run(.extend, ["api": origin]) { environment in
        let caller = try Caller(environment)
        #expect(try await caller.converse("a", "b") == ["a", "b", "status 0"])
        #expect(try await caller.converse("new", "b") == ["new", "b", "status 0"])
      }
      #expect(again.ok)
      #expect(try fixture.cassette().interactions.count == 3)
    }
  }

  @Test("keep the length of what is redacted, so that their messages stay whole")
  func redaction() async throws {
    try await withUpstream { fixture, origin, stop in
      try fixture.project(redaction: #"{"patterns": ["secret-[0-9]+"]}"#)
      try await fixture.record(["api": origin]) { environment in
        let answers = try await Caller(environment).call("Unary", "a secret-123 b").0
        #expect(answers == ["a secret-123 b"])
      }
      await stop()
      try await fixture.run(.replay, ["api": origin]) { environment in
        let answers = try await Caller(environment).call("Unary", "a secret-123 b").0
        #expect(answers == ["a ********** b"])
      }
    }
  }
}

@Suite("The order of a gRPC call's messages")
struct CallInterleavingTests {
  private static func frame(_ text: String) -> [UInt8] { GRPCMessage(Array(text.utf8)).frame }

  @Test("counts the messages of the response before each one of the request")
  func counts() {
    let order = CallInterleaving()
    order.asked(Self.frame("a") + Self.frame("b").dropLast())
    order.answered(Self.frame("1"))
    order.asked(Array(Self.frame("b").suffix(1)))
    order.answered(Self.frame("2") + Self.frame("3"))
    order.asked(nil)
    #expect(order.counts == [0, 1, 3])
  }

  @Test("is empty if the whole request came first, but not if it did not end")
  func plain() {
    let order = CallInterleaving()
    order.asked(Self.frame("a"))
    #expect(order.counts == [0])
    order.asked(nil)
    order.answered(Self.frame("1"))
    #expect(order.counts == [])
  }

  @Test("is empty for bytes that are no messages")
  func broken() {
    let order = CallInterleaving()
    order.asked(Self.frame("a"))
    order.answered([7, 0, 0, 0, 0, 0])
    order.asked(nil)
    #expect(order.counts == [])
  }

  @Test("becomes the frames of both sides, with the ends of both")
  func frames() throws {
    var interaction = Interaction(
      upstream: nil, startedAt: "", milliseconds: 0,
      request: RecordedRequest(method: "POST", url: "http://a/s/m", headers: [:], body: .empty),
      response: RecordedResponse(
        status: 200, reason: "", headers: [:], body: .empty,
        parts: [.init(milliseconds: 5, count: 6), .init(milliseconds: 70, count: 6)]))
    interaction.interleaving = [0, 1, 3]
    let call = try RecordedCall(
      request: Self.frame("a") + Self.frame("b"), response: Self.frame("1") + Self.frame("2"), interaction: interaction)
    #expect(
      call.frames.map { "\($0.isFromApp ? ">" : "<") \($0.message.payload.last ?? 0) \($0.time)" } == [
        "> 97 0.0", "< 49 0.005", "> 98 0.005", "< 50 0.07", "< 0 0.07", "> 0 0.07",
      ])
  }
}
