import ControlAPI
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Ranges and conditional requests", .timeLimit(.minutes(5)))
struct VariantTests {
  /// Ten digits with an ETag, by range and on condition.
  private static func digits() throws -> TestUpstream {
    try TestUpstream { request in
      let all = Array("0123456789".utf8)
      let tag: Headers = ["ETag": "\"v1\"", "Last-Modified": "Mon, 08 Oct 2018 09:00:00 GMT"]
      if request.headers["If-None-Match"] == "\"v1\"" { return Response(status: 304, headers: tag) }
      guard let range = request.headers["Range"], request.target == "/digits" else {
        return text("0123456789", headers: tag)
      }
      let bounds = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
      guard bounds.count == 2, bounds[1] < 10 else {
        return Response(status: 416, headers: ["Content-Range": "bytes */10"])
      }
      var headers = tag
      headers.append("Content-Range", "bytes \(bounds[0])-\(bounds[1])/10")
      headers.append("Content-Type", "text/plain")
      return Response(status: 206, headers: headers, body: .bytes(Array(all[bounds[0]...bounds[1]])))
    }
  }

  private static func get(_ environment: Environment, _ headers: Headers = [:], _ target: String = "/digits")
    async throws
    -> String
  {
    let answer = try await environment.get(target, headers)
    return "\(answer.status) \(answer.status == 501 ? "" : answer.text)"
  }

  @Test("answer each range with its own part, in any order, and another range is a miss that names it")
  func parts() async throws {
    let upstream = try Self.digits()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for range in ["bytes=0-3", "bytes=4-9", "bytes=9-99"] { _ = try await Self.get(environment, ["Range": range]) }
      }
      let report = try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.get(environment, ["Range": "bytes=4-9"]) == "206 456789")
        #expect(try await Self.get(environment, ["Range": "bytes=0-3"]) == "206 0123")
        #expect(try await Self.get(environment, ["range": "bytes=9-99"]).hasPrefix("416"))
        #expect(try await Self.get(environment, ["Range": "bytes=0-3"]) == "206 0123")
        let miss = try await environment.get("/digits", ["Range": "bytes=1-2"])
        #expect(miss.status == 501)
        #expect(
          miss.text.contains("header `Range`: recorded `bytes=") && miss.text.contains("got `bytes=1-2`"),
          "\(miss.text)")
        #expect(try await Self.get(environment) == "501 ")
      }
      #expect(report.unmatched.count == 2)
    }
  }

  @Test("answer a range that was not recorded with the whole body, as a server may")
  func whole() async throws {
    let upstream = try Self.digits()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await Self.get(environment, ["Range": "bytes=0-3"])
        _ = try await Self.get(environment)
      }
      try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.get(environment) == "200 0123456789")
        #expect(try await Self.get(environment, ["Range": "bytes=1-2"]) == "200 0123456789")
        #expect(try await Self.get(environment, ["Range": "bytes=0-3"]) == "206 0123")
      }
    }
  }

  @Test("answer 304 only to a client with the recorded validator, not for an empty cache or another version")
  func conditions() async throws {
    let upstream = try Self.digits()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await Self.get(environment)
        _ = try await Self.get(environment, ["If-None-Match": "\"v1\""])
      }
      let report = try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.get(environment, ["If-None-Match": "\"v1\""]) == "304 ")
        for _ in 0..<2 { #expect(try await Self.get(environment) == "200 0123456789") }
        #expect(try await Self.get(environment, ["If-None-Match": "\"v0\""]) == "200 0123456789")
      }
      #expect(report.ok, "\(report)")
    }
  }

  @Test("are ignored if no recorded response depended on them")
  func noVariants() async throws {
    let upstream = try Self.digits()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await Self.get(environment, ["Range": "bytes=0-3"], "/ignoring")
        _ = try await Self.get(environment, ["If-None-Match": "\"v0\""])
      }
      try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.get(environment, [:], "/ignoring") == "200 0123456789")
        #expect(try await Self.get(environment, ["Range": "bytes=7-8"], "/ignoring") == "200 0123456789")
        #expect(try await Self.get(environment) == "200 0123456789")
      }
    }
  }

  @Test("answer in full if the recorded cache was warm and the client sends no condition")
  func filledBefore() async throws {
    let upstream = try Self.digits()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await Self.get(environment, ["If-None-Match": "\"v0\""])
        _ = try await Self.get(environment, ["If-None-Match": "\"v1\""])
      }
      try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.get(environment) == "200 0123456789")
        #expect(try await Self.get(environment, ["If-None-Match": "\"v1\""]) == "304 ")
      }
    }
  }

  @Test("are matched as usual if a rule ignores the header")
  func rule() async throws {
    let upstream = try Self.digits()
    try await withService(upstream) { fixture in
      try fixture.project(matching: #"{"rules": [{"ignore": {"headers": ["Range"]}}]}"#)
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await Self.get(environment, ["Range": "bytes=0-3"])
      }
      try await fixture.run(.replay) { environment async throws in
        #expect(try await Self.get(environment, ["Range": "bytes=1-2"]) == "206 0123")
      }
    }
  }
}
