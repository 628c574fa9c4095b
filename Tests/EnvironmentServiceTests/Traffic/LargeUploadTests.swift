import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A large upload", .timeLimit(.minutes(5)))
struct LargeUploadTests {
  private static let size = 3_000_000

  /// What an upstream received: the body, and how its length was given.
  private struct Got: Sendable {
    var framing = ""
    var body: [UInt8] = []
  }

  private static func upstream(_ got: Guarded<[Got]>) throws -> TestUpstream {
    try TestUpstream { request in
      let body = try await request.body.collect(upTo: 1 << 24)
      let length = request.headers["Content-Length"]
      let framing = length.map { "length \($0)" } ?? request.headers["Transfer-Encoding"] ?? ""
      got.withLock { $0.append(Got(framing: framing, body: body)) }
      return text("\(body.count)")
    }
  }

  private static func post(
    _ environment: Environment, _ body: [UInt8], type: String = "text/plain", isChunked: Bool = false
  ) async throws -> RawClient.Answer {
    let port = environment.upstreams[0].port
    return try await onThread {
      let client = try RawClient(port: port)
      let framing = isChunked ? "Transfer-Encoding: chunked" : "Content-Length: \(body.count)"
      try client.send("POST /up HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n\(framing)\r\n\r\n")
      if !isChunked {
        try client.send(body)
      } else {
        for start in stride(from: 0, to: body.count, by: 50_000) {
          let piece = body[start..<min(start + 50_000, body.count)]
          try client.send(Array((String(piece.count, radix: 16) + "\r\n").utf8) + piece + [13, 10])
        }
        try client.send("0\r\n\r\n")
      }
      return try client.receiveAnswer()
    }
  }

  private static func body(_ inner: String) -> [UInt8] {
    let half = [UInt8](repeating: UInt8(ascii: "x"), count: size / 2)
    return half + Array(" \(inner) ".utf8) + half
  }

  @Test(
    "of text has rewritten URLs, with its length if that is known, else in chunks",
    arguments: [Mode.proxy, .record, .extend], [false, true])
  func translated(mode: Mode, isChunked: Bool) async throws {
    let got = Guarded<[Got]>([])
    let upstream = try Self.upstream(got)
    try await withService(upstream) { fixture in
      if mode == .extend { try fixture.writeCassette(url: "\(upstream.origin)/other") }
      let expected = Self.body("\(upstream.origin)/cb")
      let ask = { (environment: Environment) async throws in
        let sent = Self.body("\(try #require(environment.endpoint("api")))/cb")
        let answer = try await Self.post(environment, sent, isChunked: isChunked)
        #expect(answer.status == 200)
        #expect(answer.text == "\(expected.count)")
      }
      try await fixture.run(mode, ["api": upstream.origin], use: ask)
      let seen = got.withLock { $0 }
      #expect(seen.count == 1 && seen.first?.body == expected)
      // In replay, the whole body is read before it is sent on.
      #expect(seen.first?.framing == (isChunked && mode != .extend ? "chunked" : "length \(expected.count)"))
      guard mode != .proxy else { return }
      let recorded = try #require(try fixture.cassette().interactions.last?.request.body)
      #expect(try CassetteReader.bytes(of: recorded, in: fixture.location()) == expected)
      let report = try await fixture.run(.replay, use: ask)
      #expect(report.ok && report.requests.replayed == 1)
    }
  }

  @Test("of bytes passes unchanged, and is matched among others of the same length")
  func found() async throws {
    let got = Guarded<[Got]>([])
    let upstream = try Self.upstream(got)
    try await withService(upstream) { fixture in
      let type = "application/octet-stream"
      let one = Self.body("\u{1}")
      let other = Self.body("\u{2}")
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for body in [one, other] { _ = try await Self.post(environment, body, type: type) }
      }
      #expect(got.withLock { $0.map(\.framing) } == Array(repeating: "length \(one.count)", count: 2))
      #expect(got.withLock { $0.map(\.body) } == [one, other])
      let report = try await fixture.run(.replay) { environment async throws in
        for isChunked in [false, true] {
          #expect(try await Self.post(environment, other, type: type, isChunked: isChunked).status == 200)
        }
        let miss = try await Self.post(environment, Self.body("\u{3}"), type: type)
        #expect(miss.status == 501)
        #expect(miss.text.contains("body: recorded \(one.count) bytes, got different content of the same length"))
        let longer = try await Self.post(environment, one + [0], type: type)
        #expect(longer.text.contains("body length: recorded \(one.count) bytes, got \(one.count + 1) bytes"))
      }
      #expect(report.requests.replayed == 2 && report.unused.map(\.index) == [0])
      #expect(report.unmatched.count == 2)
    }
  }

  @Test("is matched after redaction, even if the rule was added later", arguments: [true, false])
  func redacted(isKnownThen: Bool) async throws {
    let upstream = try Self.upstream(Guarded([]))
    try await withService(upstream) { fixture in
      func credential(_ secret: String) -> (inout EnvironmentSpecification) -> Void {
        { $0.credentials = [.init(service: "s", account: "a", secret: Array(secret.utf8))] }
      }
      let type = "application/octet-stream"
      let secret = "hunter2-and-more"
      try await fixture.run(
        .record, ["api": upstream.origin], with: isKnownThen ? credential(secret) : { _ in }
      ) { environment async throws in
        _ = try await Self.post(environment, Self.body("by \(secret)"), type: type)
      }
      let name = try #require(fixture.bodies.first)
      let kept = try Data(contentsOf: URL(fileURLWithPath: "\(fixture.folder)/c.bodies/\(name)"))
      #expect((kept.firstRange(of: Data(secret.utf8)) == nil) == isKnownThen)
      for now in isKnownThen ? [secret, "quite-another-one"] : [secret] {
        let report = try await fixture.run(.replay, with: credential(now)) { environment async throws in
          #expect(try await Self.post(environment, Self.body("by \(now)"), type: type).status == 200)
          #expect(try await Self.post(environment, Self.body("of \(now)"), type: type).status == 501)
        }
        #expect(report.requests.replayed == 1)
      }
    }
  }

  @Test("of text matches even if its backend has moved since")
  func moved() async throws {
    let upstream = try Self.upstream(Guarded([]))
    try await withService(upstream) { fixture in
      let ask = { (environment: Environment) async throws in
        let sent = Self.body("\(try #require(environment.endpoint("api")))/cb")
        #expect(try await Self.post(environment, sent).status == 200)
      }
      try await fixture.record(["api": upstream.origin], ask)
      let elsewhere = try Origin(parsing: "https://dev.example.com")
      let report = try await fixture.run(.replay, ["api": elsewhere], use: ask)
      #expect(report.requests.replayed == 1)
    }
  }
}
