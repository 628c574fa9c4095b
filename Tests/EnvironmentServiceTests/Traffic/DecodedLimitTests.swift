import ControlAPI
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A body that decodes to too much")
struct DecodedLimitTests {
  /// 200 MiB in a few hundred kilobytes or less.
  private static func bomb(_ coding: String) throws -> [UInt8] {
    let encoder = try #require(ContentCodings(header: coding)).encoder()
    let zeros = [UInt8](repeating: 0x20, count: 4 << 20)
    var bytes: [UInt8] = []
    for _ in 0..<50 { bytes += try encoder.push(zeros, flush: false) }
    return try bytes + encoder.finish()
  }

  @Test("is recorded and replayed as it was sent, and reported", arguments: ["gzip", "br"])
  func asSent(coding: String) async throws {
    let bomb = try Self.bomb(coding)
    let upstream = try TestUpstream { request in
      Response(
        status: 200, headers: ["Content-Type": "image/png", "Content-Encoding": coding],
        body: request.target == "/chunked" ? .stream(BytePipe(holding: bomb), length: nil) : .bytes(bomb))
    }
    try await withService(upstream) { fixture in
      let ask = { (environment: Environment) in
        for path in ["/whole", "/chunked"] {
          let answer = try await environment.get(path, ["Accept-Encoding": coding])
          #expect(answer.headers["Content-Encoding"] == coding)
          #expect(answer.body == bomb)
        }
      }
      let report = try await fixture.record(["api": upstream.origin], ask)
      #expect(report.ok && report.requests.recorded == 2)
      #expect(report.keptAsSent?.count == 2)
      #expect(report.keptAsSent?[0].contains("recorded as sent, without redacting secrets in it") == true)
      #expect(ReportText(report).lines().contains { $0.contains("GET \(upstream.origin)/whole: the response body") })
      #expect(try fixture.cassette().interactions.allSatisfy { $0.response.isBodyAsSent })
      #expect(fixture.bodies.filter { $0.hasPrefix(".") } == [])
      let replayed = try await fixture.run(.replay, use: ask)
      #expect(replayed.ok && replayed.keptAsSent == nil)
    }
  }

  @Test("is cut off for an app if it was being rewritten, and recorded as it was sent")
  func rewritten() async throws {
    let bomb = try Self.bomb("gzip")
    let upstream = try TestUpstream { _ in
      Response(
        status: 200, headers: ["Content-Type": "text/plain", "Content-Encoding": "gzip"],
        body: .stream(BytePipe(holding: bomb), length: nil))
    }
    try await withService(upstream) { fixture in
      let report = try await fixture.record(["api": upstream.origin]) { environment in
        _ = try? await environment.get("/a", ["Accept-Encoding": "gzip"])
      }
      #expect(report.requests.recorded == 1 && report.keptAsSent?.count == 1)
      try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/a", ["Accept-Encoding": "gzip"]).body == bomb)
      }
      let proxied = try await fixture.run(.proxy, ["api": upstream.origin]) { environment in
        _ = try? await environment.get("/a", ["Accept-Encoding": "gzip"])
      }
      #expect(proxied.requests.recorded == 0)
    }
  }

  @Test("by the user's limit is not decoded, even in a request that is matched", arguments: [20_000, 1_500_000])
  func limited(size: Int) async throws {
    let coded = try #require(ContentCodings(header: "gzip")).encode(noise(size * 2))
    let upstream = try TestUpstream { request in
      let body = try await request.body.collect(upTo: 1 << 24)
      return Response(status: 200, headers: ["Content-Type": "text/plain"], body: .bytes(Array("\(body.count)".utf8)))
    }
    @Sendable func send(_ environment: Environment) async throws -> RawClient.Answer {
      let head = request(
        "POST", "/up",
        ["Content-Type": "text/plain", "Content-Encoding": "gzip", "Content-Length": "\(coded.count)"])
      let port = environment.upstreams[0].port
      return try await onThread {
        let client = try RawClient(port: port)
        try client.send(Array(head.utf8) + coded)
        return try client.receiveAnswer()
      }
    }
    try await withService(upstream) { fixture in
      for limit in [size, nil] {
        let report = try await fixture.run(.record, ["api": upstream.origin], with: { $0.decodedLimit = limit }) {
          environment async throws in
          #expect(try await send(environment).text == "\(coded.count)")
        }
        #expect(report.keptAsSent?.count == (limit == nil ? nil : 1))
        let interaction = try #require(try fixture.cassette().interactions.first)
        #expect(interaction.request.body.length == (limit == nil ? size * 2 : coded.count))
        // With the same limit, and without one: then both are decoded.
        for limit in [size, nil] where interaction.request.body.length == coded.count || limit == nil {
          let replayed = try await fixture.run(.replay, with: { $0.decodedLimit = limit }) { environment async throws in
            #expect(try await send(environment).text == "\(coded.count)")
          }
          #expect(replayed.ok && replayed.requests.replayed == 1)
        }
      }
    }
  }
}
