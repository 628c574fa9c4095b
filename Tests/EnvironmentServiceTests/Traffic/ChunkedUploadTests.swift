import ControlAPI
@testable import Transforms
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A chunked upload")
struct ChunkedUploadTests {
  @Test("has endpoint URLs replaced with the upstream's, like any other", arguments: [10, 3_000_000])
  func translated(padding: Int) async throws {
    let upstream = try TestUpstream { request in
      text(String(try await request.body.collect(upTo: 1 << 24).count))
    }
    try await withService { fixture in
      let ask = { (environment: Environment) in
        let url = try #require(environment.endpoint("api"))
        let body = padding > 1000 ? String(repeating: "x", count: padding) : "{\"cb\": \"\(url)/cb\"}"
        let chunked = String(body.utf8.count, radix: 16) + "\r\n\(body)\r\n0\r\n\r\n"
        let head =
          "POST /hook HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n"
        let answer = try await send(environment.upstreams[0].port, head + "Connection: close\r\n\r\n" + chunked)
        #expect(answer.status == 200)
      }
      try await fixture.record(["api": upstream.origin], ask)
      if padding < 1000 {
        guard case .bytes(let bytes) = try fixture.cassette().interactions[0].request.body else { return }
        #expect(String(decoding: bytes, as: UTF8.self) == "{\"cb\": \"\(upstream.origin)/cb\"}")
      }
      let report = try await fixture.run(.replay, use: ask)
      #expect(report.requests.replayed == 1)
    }
    await upstream.stop()
  }

  private func send(_ port: UInt16, _ request: String) async throws -> RawClient.Answer {
    try await ask(port, request)
  }
}
