import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import Foundation
import GRPCSchemas
import HTTPClient
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService
@testable import HTTP2Echo

@Suite("The fields of gRPC messages", .timeLimit(.minutes(5)))
struct MessageFieldTests {
  private static let proto = """
    syntax = "proto3";
    package echo;
    import "google/protobuf/timestamp.proto";
    enum Kind { NONE = 0; CAT = 1; DOG = 2; }
    message Pet {
      string name = 1;
      string token = 2;
      Kind kind = 3;
      int64 chip = 4;
      google.protobuf.Timestamp born = 5;
      Pet pup = 6;
      bytes photo = 7;
      string password = 8;
    }
    service Echo {
      rpc Unary(Pet) returns (Pet);
      rpc ClientStream(stream Pet) returns (Pet);
      rpc BidiStream(stream Pet) returns (stream Pet);
    }
    """

  /// A schema, and an upstream that sends each message back.
  private struct Fixture {
    let service: ServiceFixture
    let origin: Origin
    let schema: GRPCSchema

    func run(
      _ mode: Mode, withSchema: Bool = true, at start: String? = nil, shift: ShiftRules? = nil,
      use: (Client) async throws -> Void
    ) async throws -> Report {
      try await service.run(mode, ["api": origin]) {
        if withSchema { $0.proto = ["\(service.folder)/echo.proto"] }
        if let start { $0.clock.start = RFC3339.parse(start) }
        $0.shift = shift
      } use: { environment in
        try await use(Client(environment, schema))
      }
    }

    func notes(_ mode: Mode) async throws -> [String] {
      let environment = try service.provision(mode, ["api": origin])
      _ = await environment.end()
      return environment.notes
    }
  }

  private final class Client: Sendable {
    private let client: HTTPClient
    private let origin: Origin
    private let schema: GRPCSchema

    init(_ environment: Environment, _ schema: GRPCSchema) throws {
      client = try HTTPClient()
      origin = Origin(scheme: "http", host: "127.0.0.1", port: Int(environment.upstreams[0].port))
      self.schema = schema
    }

    deinit { client.shutdown() }

    private func frame(_ json: String) throws -> [UInt8] {
      GRPCMessage(try schema.bytes(fromJSON: json, of: "/echo.Echo/Unary", isRequest: true) ?? []).frame
    }

    private func text(_ message: GRPCMessage) throws -> String {
      guard !message.isCompressed else { return "compressed" }
      let json = try schema.json(message.payload, of: "/echo.Echo/Unary", isRequest: false)?.text ?? ""
      // Without libprotobuf's escapes of < and >.
      return String(decoding: try JSON.parse(Array(json.utf8)).encoded(), as: UTF8.self)
    }

    private func send(_ method: String, _ body: Body, _ headers: Headers = [:]) async throws -> Response {
      var request = Request(
        method: "POST", target: "/echo.Echo/\(method)",
        headers: Headers([.init("content-type", "application/grpc"), .init("te", "trailers")] + headers.fields),
        body: body)
      request.isHTTP2 = true
      return try await client.send(request, to: origin)
    }

    /// - Returns: the messages of the response as JSON, or its status if it is not 0.
    func call(_ messages: String..., bytes: [UInt8]? = nil, headers: Headers = [:]) async throws -> [String] {
      let body = try bytes ?? messages.flatMap(frame)
      let method = messages.count > 1 ? "ClientStream" : "Unary"
      let response = try await send(method, .stream(BytePipe(holding: body), length: nil), headers)
      var parser = GRPCMessageParser(limit: 1 << 20)
      var all: [String] = []
      try await response.body.forEachPiece { all += try parser.parse(Array($0)).map(text) }
      let status = response.trailers?.headers["grpc-status"] ?? response.headers["grpc-status"]
      return status == "0" ? all : ["status \(status ?? "none")"]
    }

    /// Sends each message when the previous one was answered.
    func converse(_ messages: String...) async throws -> [String] {
      let outgoing = BytePipe()
      try await outgoing.write(frame(messages[0]))
      let response = try await send("BidiStream", .stream(outgoing, length: nil))
      guard case .stream(let incoming, _) = response.body else {
        return ["status \(response.headers["grpc-status"] ?? "none")"]
      }
      var parser = GRPCMessageParser(limit: 1 << 20)
      var answers: [String] = []
      for (index, message) in messages.enumerated() {
        if index > 0 { try await outgoing.write(frame(message)) }
        var parsed: [GRPCMessage] = []
        while parsed.isEmpty, let bytes = try await incoming.read() { parsed = try parser.parse(bytes) }
        guard !parsed.isEmpty else { break }
        answers += try parsed.map(text)
      }
      outgoing.finish()
      while let bytes = try await incoming.read() { answers += try parser.parse(bytes).map(text) }
      let status = response.trailers?.headers["grpc-status"]
      return status == "0" ? answers : answers + ["status \(status ?? "none")"]
    }
  }

  private func withUpstream(_ body: (Fixture, _ stop: () async -> Void) async throws -> Void) async throws {
    let server = try HTTPServer()
    let port = try server.listen(handler: EchoHandler()).port
    try await withService { service in
      try service.write(Self.proto, to: "echo.proto")
      let schema = try GRPCSchema(files: ["\(service.folder)/echo.proto"], importPaths: [])
      try await body(
        Fixture(service: service, origin: Origin(scheme: "http", host: "127.0.0.1", port: Int(port)), schema: schema)
      ) { await server.stop(grace: .zero) }
    }
    await server.stop(grace: .zero)
  }

  // MARK: Matching

  @Test("that a rule ignores may differ, in unary calls, client streams and calls in both directions")
  func ignored() async throws {
    try await withUpstream { fixture, stop in
      try fixture.service.project(matching: #"{"rules": [{"ignore": {"json": ["$.token", "$.pup.chip"]}}]}"#)
      _ = try await fixture.run(.record) { client async throws in
        _ = try await client.call(#"{"name":"Rex","token":"a","pup":{"chip":1}}"#)
        _ = try await client.call(#"{"name":"1","token":"a"}"#, #"{"name":"2","token":"b"}"#)
        _ = try await client.converse(#"{"name":"x","token":"a"}"#, #"{"name":"y","token":"b"}"#)
      }
      await stop()
      let report = try await fixture.run(.replay) { client async throws in
        #expect(
          try await client.call(#"{"name":"Rex","token":"other","pup":{"chip":7}}"#)
            == [#"{"name":"Rex","token":"a","pup":{"chip":"1"}}"#])
        #expect(
          try await client.call(#"{"name":"1"}"#, #"{"name":"2","token":"c"}"#) == [#"{"name":"2","token":"b"}"#])
        #expect(
          try await client.converse(#"{"name":"x","token":"c"}"#, #"{"name":"y"}"#)
            == [#"{"name":"x","token":"a"}"#, #"{"name":"y","token":"b"}"#])
      }
      #expect(report.ok)
      let other = try await fixture.run(.replay) { client async throws in
        #expect(try await client.call(#"{"name":"Max","token":"a"}"#) == ["status 9"])
        #expect(
          try await client.converse(#"{"name":"x"}"#, #"{"name":"z"}"#) == [#"{"name":"x","token":"a"}"#, "status 9"])
      }
      #expect(!other.ok)
    }
  }

  @Test("count without a rule, and a miss names the field")
  func counts() async throws {
    try await withUpstream { fixture, stop in
      _ = try await fixture.run(.record) { client async throws in
        _ = try await client.call(#"{"name":"Rex","token":"a"}"#)
        _ = try await client.converse(#"{"name":"x"}"#, #"{"name":"y"}"#)
      }
      await stop()
      let report = try await fixture.run(.replay) { client async throws in
        #expect(try await client.call(#"{"name":"Rex","token":"b"}"#) == ["status 9"])
        #expect(try await client.converse(#"{"name":"x"}"#, #"{"name":"z"}"#) == [#"{"name":"x"}"#, "status 9"])
        #expect(try await client.converse(#"{"name":"w"}"#) == ["status 9"])
      }
      #expect(
        report.unmatched.first?.nearest.first?.differences == [#"body $.token: recorded "a", got "b""#])
      #expect(report.unmatched.dropFirst().first?.refusal == #"message 2 $.name: recorded "y", got "z""#)
      #expect(report.unmatched.last?.nearest.first?.differences == [#"body $.name: recorded "x", got "w""#])
      #expect(report.unmatched.last?.method == "POST")
    }
  }

  @Test("cannot be ignored without a schema, which a note says")
  func withoutSchema() async throws {
    try await withUpstream { fixture, stop in
      try fixture.service.project(matching: #"{"rules": [{"ignore": {"json": ["$.token"]}}]}"#)
      _ = try await fixture.run(.record, withSchema: false) { client async throws in
        _ = try await client.call(#"{"name":"Rex","token":"a"}"#)
        _ = try await client.call(#"{"name":"Max","token":"a"}"#)
      }
      await stop()
      let notes = try await fixture.notes(.replay)
      #expect(
        notes == [
          "rule 1 of diorama.json: ignores JSON $.token; it does not apply to gRPC calls such as /echo.Echo/Unary, whose messages are compared "
            + "as bytes, since their schema is not known; name the service's .proto file with --proto"
        ])
      let report = try await fixture.run(.replay, withSchema: false) { client async throws in
        #expect(try await client.call(#"{"name":"Rex","token":"a"}"#) == [#"{"name":"Rex","token":"a"}"#])
        #expect(try await client.call(#"{"name":"Rex","token":"b"}"#) == ["status 9"])
      }
      #expect(!report.ok)
    }
  }

  @Test("are known in replay without .proto files, from the cassette")
  func stored() async throws {
    try await withUpstream { fixture, stop in
      try fixture.service.project(matching: #"{"rules": [{"method": "POST", "ignore": {"json": ["$.token"]}}]}"#)
      _ = try await fixture.run(.record) { client async throws in
        _ = try await client.call(#"{"name":"Rex","token":"a","password":"b"}"#)
        _ = try await client.converse(#"{"name":"x","token":"a"}"#, #"{"name":"y","token":"b"}"#)
      }
      await stop()
      let schemas = try fixture.service.cassette().header.grpcSchemas
      #expect(schemas.keys.sorted() == ["echo.Echo"])
      let report = try await fixture.run(.replay, withSchema: false) { client async throws in
        #expect(
          try await client.call(#"{"name":"Rex","token":"b","password":"c"}"#)
            == [#"{"name":"Rex","token":"a","password":"<redacted>"}"#])
        #expect(
          try await client.converse(#"{"name":"x"}"#, #"{"name":"y"}"#)
            == [#"{"name":"x","token":"a"}"#, #"{"name":"y","token":"b"}"#])
      }
      #expect(report.ok)
      let notes = try await fixture.notes(.replay)
      #expect(notes == [])
    }
  }

  @Test("that are dates move with the clock, in responses and back in requests")
  func dates() async throws {
    try await withUpstream { fixture, stop in
      let recorded = #"{"name":"at 2018-10-08T09:00:00Z","chip":"1538989200","born":"2018-10-08T09:00:00.120Z"}"#
      let moved = #"{"name":"at 2026-11-22T19:30:00Z","chip":"1795375800","born":"2026-11-22T19:30:00.120Z"}"#
      let message = try #require(
        try fixture.schema.bytes(fromJSON: recorded, of: "/echo.Echo/Unary", isRequest: true))
      let codings = try #require(ContentCodings(header: "gzip"))
      let body = GRPCMessage(try codings.encode(message), isCompressed: true).frame
      _ = try await fixture.run(.record, at: "2018-10-08T09:00:00Z") { client async throws in
        _ = try await client.call(recorded)
        _ = try await client.call("", bytes: body, headers: ["grpc-encoding": "gzip"])
        _ = try await client.converse(recorded, recorded)
      }
      await stop()
      let rules = try ShiftRules(decoding: Data(#"{"epochSeconds": ["$.chip"]}"#.utf8))
      let report = try await fixture.run(.replay, at: "2026-11-22T19:30:00Z", shift: rules) { client async throws in
        #expect(try await client.call(moved) == [moved])
        #expect(try await client.converse(moved, moved) == [moved, moved])
      }
      #expect(report.ok || report.failures.isEmpty && report.unmatched.isEmpty)
    }
  }

  // MARK: Redaction

  @Test("that rules name, or that are secret by their name, are redacted in the bytes and the JSON")
  func redaction() async throws {
    try await withUpstream { fixture, stop in
      try fixture.service.project(
        redaction: #"{"json": ["$.token", "$.kind", "$.chip", "$.photo", "$.born", "$.pup.name"]}"#)
      let secret =
        #"{"name":"Rex","token":"s3cret","kind":"DOG","chip":"77","born":"2018-10-08T09:00:00Z","pup":{"name":"s3cret"},"#
        + #""photo":"czNjcmV0","password":"s3cret"}"#
      let clean =
        #"{"name":"Rex","token":"<redacted>","pup":{"name":"<redacted>"},"password":"<redacted>"}"#
      let recorded = try await fixture.run(.record) { client async throws in
        #expect(try await client.call(secret) == [secret])
        #expect(try await client.converse(secret, #"{"name":"y"}"#) == [secret, #"{"name":"y"}"#])
      }
      #expect(recorded.keptAsSent == nil)
      #expect(recorded.redacted?.contains("request body: $.token") == true)
      await stop()
      let text = try fixture.service.read("c.har")
      #expect(!text.contains("s3cret") && !text.contains("czNjcmV0") && !text.contains("DOG"))
      let interactions = try fixture.service.cassette().interactions
      for interaction in interactions {
        #expect(interaction.request.messages.first?.encoded() == Array(clean.utf8))
        guard case .bytes(let bytes) = interaction.response.body else { continue }
        #expect(!String(decoding: bytes, as: UTF8.self).contains("s3cret"))
      }
      #expect(interactions.last?.response.parts.count == 2)
      let report = try await fixture.run(.replay) { client async throws in
        #expect(try await client.call(secret) == [clean])
        #expect(try await client.converse(secret, #"{"name":"y"}"#) == [clean, #"{"name":"y"}"#])
      }
      #expect(report.ok)
    }
  }

  @Test("are redacted in compressed messages, too, as are patterns")
  func compressed() async throws {
    try await withUpstream { fixture, stop in
      try fixture.service.project(redaction: #"{"json": ["$.token"], "patterns": ["hidden-[0-9]+"]}"#)
      let message = try #require(
        try fixture.schema.bytes(
          fromJSON: #"{"name":"hidden-1","token":"s3cret"}"#, of: "/echo.Echo/Unary", isRequest: true))
      let codings = try #require(ContentCodings(header: "gzip"))
      let body = GRPCMessage(try codings.encode(message), isCompressed: true).frame
      _ = try await fixture.run(.record) { client async throws in
        _ = try await client.call("", bytes: body, headers: ["grpc-encoding": "gzip"])
      }
      await stop()
      let request = try #require(try fixture.service.cassette().interactions.first?.request)
      let messages = request.messages.map { String(decoding: $0.encoded(), as: UTF8.self) }
      #expect(messages == [#"{"name":"********","token":"<redacted>"}"#])
      #expect(request.body.length < 40)
      let report = try await fixture.run(.replay) { client async throws in
        _ = try await client.call("", bytes: body, headers: ["grpc-encoding": "gzip"])
      }
      #expect(report.ok)
    }
  }

  @Test("that the schema does not have are removed with a redaction, which the report says")
  func unknownFields() async throws {
    try await withUpstream { fixture, _ in
      try fixture.service.project(redaction: #"{"json": ["$.token"]}"#)
      // Field 2, and the unknown field 15.
      let body = GRPCMessage([0x12, 1, 0x41, 0x7A, 6] + Array("s3cret".utf8)).frame
      let report = try await fixture.run(.record) { client in _ = try await client.call("", bytes: body) }
      #expect(report.ok)
      #expect(
        report.keptAsSent?.first?.hasSuffix(
          "/echo.Echo/Unary, request: a redacted message lost the fields 15, which its schema does not have; update the "
            + ".proto file, and re-record") == true)
      let text = try fixture.service.read("c.har")
      #expect(!text.contains(Base64.encode(Array("s3cret".utf8)).prefix(7)))
    }
  }

  @Test("cannot be redacted without a schema, which the report says once")
  func redactionWithoutSchema() async throws {
    try await withUpstream { fixture, _ in
      try fixture.service.project(redaction: #"{"json": ["$.token"]}"#)
      let report = try await fixture.run(.record, withSchema: false) { client async throws in
        for _ in 0..<2 { _ = try await client.call(#"{"token":"a"}"#) }
      }
      #expect(report.keptAsSent?.count == 2)
      #expect(
        report.keptAsSent?.first?.hasSuffix(
          "/echo.Echo/Unary, request: JSON fields of its messages were not redacted, since their schema is not known; name "
            + "the service's .proto file with --proto") == true)
    }
  }
}

@Suite("gRPC messages as JSON")
struct MessageLengthTests {
  @Test("are left out where they are much longer than their body")
  func length() throws {
    let headers: Headers = ["Content-Type": "application/grpc+json", "grpc-encoding": "gzip"]
    let codec = try #require(MessageCodec(headers, path: "/a/B", isRequest: true, schemas: nil))
    let gzip = try #require(ContentCodings(header: "gzip"))
    func body(_ text: String) throws -> [UInt8] {
      GRPCMessage(try gzip.encode(Array(text.utf8)), isCompressed: true).frame
    }
    let half = try body("[" + String(repeating: "0,", count: 300_000) + "0]")
    #expect(codec.values(of: try body("[1]") + half + half + half).map { $0 == .null } == [false, false, true, true])
    #expect(codec.values(of: try body("[" + String(repeating: "0,", count: 600_000) + "0]")) == [.null])
  }
}
