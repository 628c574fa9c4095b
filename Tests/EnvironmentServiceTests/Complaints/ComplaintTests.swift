import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

/// Common complaints of users of other recorders. The article `Fidelity.md` lists which tests cover which complaint.
@Suite("What other recorders get wrong:")
struct ComplaintTests {
  @Test("responses are replayed as sent: 0.00, repeated fields, bytes in a charset, the right length")
  func asSent() async throws {
    let text = #"{"price": 0.00, "exact": 1e2, "big": 12345678901234567890}"#
    let bytes = [UInt8](0...255)
    let coded = try #require(ContentCodings(header: "gzip")).encode(Array(text.utf8))
    let upstream = try TestUpstream { request in
      var response = Response(status: 200, headers: [:], body: .bytes([]))
      switch request.target {
      case "/numbers":
        response.headers = ["Content-Type": "application/json"]
        response.body = .bytes(Array(text.utf8))
      case "/cookies":
        response.headers = ["Set-Cookie": "a=1; Path=/", "set-cookie": "b=2; Path=/", "X-Again": "1", "X-again": "2"]
      case "/image":
        response.headers = ["Content-Type": "image/png; charset=utf-8"]
        response.body = .bytes(bytes)
      default:
        response.headers = ["Content-Type": "application/json", "Content-Encoding": "gzip"]
        response.body = .bytes(coded)
      }
      return response
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for target in ["/numbers", "/cookies", "/image"] { _ = try await environment.get(target) }
        _ = try await environment.get("/coded", ["Accept-Encoding": "gzip"])
      }
      try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/numbers").text == text)
        let cookies = try await environment.get("/cookies").headers
        #expect(cookies.all("Set-Cookie").count == 2)
        #expect(cookies.fields.filter { $0.name == "X-Again" || $0.name == "X-again" }.map(\.value) == ["1", "2"])
        #expect(try await environment.get("/image").body == bytes)
        let again = try await environment.get("/coded", ["Accept-Encoding": "gzip"])
        #expect(again.headers["Content-Length"] == "\(again.body.count)")
        #expect(try CodedUpstream.decode(again.body, "gzip") == text)
      }
    }
  }

  @Test("repeated query items all stay, in order")
  func query() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for target in ["/q?a=1&a=2", "/q?a=2&a=1", "/q?a=1"] { _ = try await environment.get(target) }
      }
      let recorded = try fixture.cassette().interactions.map { $0.request.url.split(separator: "?").last }
      #expect(recorded == ["a=1&a=2", "a=2&a=1", "a=1"])
      try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/q?a=1").text == "/q?a=1: 2")
        #expect(try await environment.get("/q?a=2&a=1").text == "/q?a=2&a=1: 1")
        #expect(try await environment.get("/q?a=1&a=2").text == "/q?a=1&a=2: 0")
      }
    }
  }

  @Test("no request reaches the backend after the last recorded response, or if something is missing")
  func neverLive() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let before = upstream.requestCount
      try await fixture.run(.replay, ["api": upstream.origin]) { environment async throws in
        for _ in 0..<3 { #expect(try await environment.get("/a").text == "/a: 0") }
        #expect(try await environment.get("/b").status == 501)
      }
      #expect(upstream.requestCount == before)
    }
  }

  @Test("concurrent tests share no state: each gets a request's responses from the first one")
  func apart() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for _ in 0..<3 { _ = try await environment.get("/a") }
      }
      let one = try fixture.provision(.replay)
      let other = try fixture.provision(.replay)
      for expected in ["/a: 0", "/a: 1", "/a: 2"] {
        #expect(try await one.get("/a").text == expected)
        #expect(try await other.get("/a").text == expected)
      }
      _ = await one.end()
      _ = await other.end()
    }
  }
}
