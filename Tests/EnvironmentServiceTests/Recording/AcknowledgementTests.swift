import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("Acknowledged data is in the partial file")
struct AcknowledgementTests {
  /// An interaction that must be in the partial file, completely, once the app has the last byte.
  struct Sample: Sendable, CustomTestStringConvertible {
    let testDescription: String
    let type: String
    let size: Int
    var isChunked = false
  }

  static let samples = [
    Sample(testDescription: "small text", type: "text/plain", size: 20),
    Sample(testDescription: "small binary", type: "image/png", size: 20),
    Sample(testDescription: "empty", type: "text/plain", size: 0),
    Sample(testDescription: "chunked text", type: "text/plain", size: 2000, isChunked: true),
    Sample(testDescription: "chunked binary", type: "image/png", size: 2000, isChunked: true),
    Sample(testDescription: "large binary", type: "image/png", size: 600_000),
    Sample(testDescription: "large text", type: "text/plain", size: 600_000),
    Sample(testDescription: "streamed text", type: "text/plain", size: 2_000_000),
    Sample(testDescription: "large, chunked", type: "image/png", size: 600_000, isChunked: true),
  ]

  @Test("including the body's file, when the app has the last byte", arguments: samples)
  func acknowledged(sample: Sample) async throws {
    let body = noise(sample.size)
    let upstream = try TestUpstream { _ in
      Response(
        status: 200, headers: ["Content-Type": sample.type],
        body: sample.isChunked ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      // Read on the client's own thread, right after the last byte.
      let port = environment.upstreams[0].port
      let (answer, lines) = try await onThread {
        let answer = try RawClient(port: port).exchange(request("GET", "/a"))
        return (answer, try fixture.acknowledged())
      }
      #expect(answer.body == body)
      #expect(lines.count == 1)
      let partial = try #require(try PartialFile(of: fixture.location()))
      let interaction = try partial.interaction(at: try #require(partial.places.first), of: fixture.location())
      #expect(interaction.request.url == "\(upstream.origin)/a")
      #expect(try CassetteReader.bytes(of: interaction.response.body, in: fixture.location()) == body)
      if case .file = interaction.response.body {
        #expect(sample.size > 256 * 1024)
      } else {
        #expect(sample.size <= 256 * 1024)
      }
    }
  }

  @Test("including the file of a large request body, when the app has the answer")
  func requestBody() async throws {
    let body = noise(400_000)
    let upstream = try TestUpstream { request in
      text("\(try await request.body.collect(upTo: 1 << 20).count)")
    }
    try await withService(upstream) { fixture in
      for type in ["image/png", "application/json"] {
        let environment = try fixture.provision(.record, ["api": upstream.origin])
        let answer = try await environment.post("/", String(decoding: body, as: UTF8.self), type: type)
        #expect(answer.text == "400000")
        let partial = try #require(try PartialFile(of: fixture.location()))
        let interaction = try partial.interaction(at: try #require(partial.places.first), of: fixture.location())
        #expect(try CassetteReader.bytes(of: interaction.request.body, in: fixture.location()) == body)
        _ = await environment.end()
      }
    }
  }

  @Test("including a string, before it is returned")
  func string() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.record, ["api": Origin(parsing: "https://a.test")])
      let answer = try await environment.control("/strings", #"{"key": "email", "length": 12}"#)
      let value = try #require(try answer.json["value"]?.string)
      #expect(try fixture.read("c.har.partial").contains(value))
    }
  }

  @Test("or the environment fails and the app gets an error")
  func full() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      let old = try fixture.read("c.har")
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      // Bodies above 256 KiB cannot be stored: a file is in place of their folder.
      try fixture.write("", to: "c.bodies")
      let body = String(decoding: noise(400_000), as: UTF8.self)
      let answer = try await environment.post("/", body, type: "image/png")
      #expect(answer.status == 500)
      #expect(answer.headers["Content-Type"] == "application/problem+json")
      let (report, _) = await environment.end()
      #expect(report.requests.failed == 1)
      #expect(report.failures.count == 1)
      #expect(!report.ok)
      #expect(try fixture.read("c.har") == old)
    }
  }
}
