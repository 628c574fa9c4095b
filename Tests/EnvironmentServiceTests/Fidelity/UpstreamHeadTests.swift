import ControlAPI
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Invalid response heads of upstreams", .timeLimit(.minutes(5)))
struct UpstreamHeadTests {
  private static let many = (0..<110).map { "X-\($0): \(String(repeating: "a", count: 1000))\r\n" }.joined()
  private static let endless = String(repeating: "X: \(String(repeating: "a", count: 1000))\r\n", count: 2000)

  @Test(
    "are a 502 that is not recorded",
    arguments: [
      ("more than 100 KB", "\(many)Content-Length: 2\r\n\r\nok"),
      ("two lengths", "Content-Length: 2\r\nContent-Length: 5\r\n\r\nokokok"),
      ("a length that is not a number", "Content-Length: 0x2\r\n\r\nok"),
      ("a length that is too large", "Content-Length: 99999999999999999999\r\n\r\nok"),
      ("a bare CR", "X: a\rY: b\r\nContent-Length: 2\r\n\r\nok"),
      ("NUL", "X: a\0b\r\nContent-Length: 2\r\n\r\nok"),
    ])
  func refused(what: String, rest: String) async throws {
    for mode in [Mode.record, .proxy] {
      try await withService(script: { connection in
        _ = try connection.readHead()
        try connection.write("HTTP/1.1 200 OK\r\n\(rest)")
      }) { fixture, upstream in
        let environment = try fixture.provision(mode, ["api": upstream.origin])
        #expect(try await environment.get("/a").status == 502, "\(what), \(mode)")
        let report = await environment.end().report
        #expect(report.requests.recorded == 0 && report.requests.forwarded == 0, "\(what), \(mode)")
      }
    }
  }

  @Test("end the response if the trailers never end")
  func trailers() async throws {
    try await withService(script: { connection in
      _ = try connection.readHead()
      try connection.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\(Self.endless)")
    }) { fixture, upstream in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      let answer = try? await environment.get("/a")
      #expect(answer == nil || answer?.status == 502)
      let report = await environment.end().report
      #expect(!report.ok && report.upstreamFailures?.map(\.url) == ["\(upstream.origin)/a"])
    }
  }
}
