@testable import Transforms
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Trailers of a response", .timeLimit(.minutes(5)))
struct TrailerTests {
  /// The whole response, byte for byte, on a connection that closes after it.
  private static func raw(_ environment: Environment, _ target: String) async throws -> String {
    try await onThread {
      let client = try RawClient(port: environment.upstreams[0].port)
      try client.send("GET \(target) HTTP/1.1\r\nHost: localhost\r\nTE: trailers\r\nConnection: TE, close\r\n\r\n")
      var all: [UInt8] = []
      while true {
        let part = try client.receive()
        guard !part.isEmpty else { return String(decoding: all, as: UTF8.self) }
        all += part
      }
    }
  }

  @Test(
    "pass live, are recorded, and are replayed, after text, bytes or a stream",
    arguments: [
      "text/plain", "application/octet-stream", "text/event-stream",
    ])
  func trailers(type: String) async throws {
    try await withService(
      script: { connection in
        guard let head = try connection.readHead() else { return }
        let end = "0\r\nX-Checksum: 7\r\nx-Next: \(head.contains("TE: trailers") ? "asked" : "not asked")\r\n"
        try connection.write(
          "HTTP/1.1 200 OK\r\nContent-Type: \(type)\r\nTransfer-Encoding: chunked\r\nTrailer: X-Checksum, x-Next\r\n\r\n"
            + "3\r\nabc\r\n" + end + "\r\n")
      }
    ) { fixture, upstream in
      var answers: [String] = []
      try await fixture.record(["api": upstream.origin]) { answers.append(try await Self.raw($0, "/t")) }
      for _ in 0..<2 {
        try await fixture.run(.replay) { answers.append(try await Self.raw($0, "/t")) }
      }
      for answer in answers {
        #expect(answer.contains("Trailer: X-Checksum, x-Next\r\n"), "\(answer)")
        #expect(answer.hasSuffix("\r\n0\r\nX-Checksum: 7\r\nx-Next: asked\r\n\r\n"), "\(answer)")
      }
      let recorded = try fixture.cassette().interactions[0].response
      #expect(recorded.trailers.fields == [.init("X-Checksum", "7"), .init("x-Next", "asked")])
    }
  }

  @Test("are not announced if there cannot be any")
  func announced() async throws {
    let upstream = try TestUpstream { _ in text("x", headers: ["Trailer": "X-T"]) }
    _ = try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        #expect(try await environment.get("/").headers["Trailer"] == nil)
      }
    }
  }
}
