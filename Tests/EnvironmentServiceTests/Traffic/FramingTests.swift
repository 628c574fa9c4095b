@testable import Transforms
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Framing and coding of responses")
struct FramingTests {
  @Test("keeps coded responses readable in the cassette, and encodes them only for an app that accepts it")
  func codings() async throws {
    let content = "{\"a\": \"" + String(repeating: "naïve ", count: 50) + "\"}"
    let upstream = try CodedUpstream.start { _ in content }
    try await withService(upstream) { fixture in
      let codings = ["gzip", "deflate", "br"]
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for coding in codings {
          for target in ["/\(coding)", "/\(coding)/chunked"] {
            let answer = try await environment.get(target, ["Accept-Encoding": coding])
            #expect(try CodedUpstream.decode(answer.body, coding) == content)
          }
        }
      }
      #expect(try fixture.cassette().interactions.allSatisfy { $0.response.body == .bytes(Array(content.utf8)) })
      let environment = try fixture.provision(.replay)
      for coding in codings {
        for target in ["/\(coding)", "/\(coding)/chunked"] {
          let isChunked = target.hasSuffix("chunked")
          let accepted = try await environment.get(target, ["Accept-Encoding": "x, \(coding)"])
          #expect(accepted.headers["Content-Encoding"] == coding)
          #expect(accepted.headers["Vary"] == "Accept-Encoding")
          #expect(accepted.headers["Transfer-Encoding"] == (isChunked ? "chunked" : nil))
          #expect(accepted.headers["Content-Length"] == (isChunked ? nil : "\(accepted.body.count)"))
          #expect(try CodedUpstream.decode(accepted.body, coding) == content)
          for headers in [[:], ["Accept-Encoding": "identity"], ["Accept-Encoding": "\(coding);q=0"]] as [Headers] {
            let plain = try await environment.get(target, headers)
            #expect(plain.headers["Content-Encoding"] == nil)
            #expect(plain.text == content)
            #expect(plain.headers["Transfer-Encoding"] == (isChunked ? "chunked" : nil))
          }
        }
      }
    }
  }

  @Test("replays chunked responses in chunks, and others with their length")
  func chunks() async throws {
    let upstream = try TestUpstream { request in
      let body = Array("hello".utf8)
      return Response(
        status: 200, headers: ["Content-Type": "text/plain"],
        body: request.target == "/chunked" ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withService(upstream) { fixture in
      for mode in [Mode.proxy, .record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let main = environment.mainPort
          let segment = "/\(upstream.origin.authority)"
          for (port, prefix) in [(environment.upstreams[0].port, ""), (main, segment)] {
            let chunked = try await ask(port, request("GET", "\(prefix)/chunked"))
            #expect(chunked.headers["Transfer-Encoding"] == "chunked")
            #expect(chunked.headers["Content-Length"] == nil)
            #expect(chunked.text == "hello")
            let whole = try await ask(port, request("GET", "\(prefix)/whole"))
            #expect(whole.headers["Transfer-Encoding"] == nil)
            #expect(whole.headers["Content-Length"] == "5")
          }
        }
      }
    }
  }

  @Test("keeps the length and coding that a response without a body declares")
  func bodiless() async throws {
    let upstream = try TestUpstream { request in
      switch request.target {
      case "/204": Response(status: 204, headers: ["X-A": "1"])
      case "/304": Response(status: 304, headers: ["ETag": "\"x\""])
      default: text(String(repeating: "x", count: 1234), headers: ["ETag": "\"y\""])
      }
    }
    try await withService(upstream) { fixture in
      for mode in [Mode.record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let segment = "/\(upstream.origin.authority)"
          for (port, prefix) in [(environment.upstreams[0].port, ""), (environment.mainPort, segment)] {
            let head = try await ask(port, request("HEAD", "\(prefix)/x"))
            #expect(head.status == 200)
            #expect(head.headers["Content-Length"] == "1234")
            #expect(head.headers["ETag"] == "\"y\"")
            let none = try await ask(port, request("DELETE", "\(prefix)/204"))
            #expect(none.status == 204)
            #expect(none.headers["X-A"] == "1")
            #expect(none.headers["Content-Length"] == nil)
            let same = try await ask(port, request("GET", "\(prefix)/304", ["If-None-Match": "\"x\""]))
            #expect(same.status == 304)
            #expect(same.headers["ETag"] == "\"x\"")
          }
        }
      }
    }
  }

  @Test("leaves part of a text unchanged, because its range counts the upstream's bytes")
  func partial() async throws {
    let upstream = try TestUpstream { request in
      text(
        "http://\(request.headers["Host"] ?? "")/x", status: 206, headers: ["Content-Range": "bytes 0-23/100"])
    }
    try await withService(upstream) { fixture in
      for mode in [Mode.record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let answer = try await environment.get("/", ["Range": "bytes=0-23"])
          #expect(answer.status == 206)
          #expect(answer.text == "\(upstream.origin)/x")
          #expect(answer.headers["Content-Range"] == "bytes 0-23/100")
        }
      }
    }
  }

  @Test("passes part of a compressed body unchanged, since it cannot be decoded")
  func partialCoded() async throws {
    let whole = try #require(ContentCodings(header: "gzip")).encode(noise(100_000))
    let part = Array(whole[1000..<9000])
    let long = Array(whole[0..<(whole.count - 10)])
    let upstream = try TestUpstream { request in
      Response(
        status: 206,
        headers: ["Content-Type": "application/json", "Content-Encoding": "gzip", "Content-Range": "bytes 1-2/3"],
        body: .bytes(request.target == "/part" ? part : long))
    }
    try await withService(upstream) { fixture in
      for mode in [Mode.proxy, .record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let headers: Headers = ["Range": "bytes=1-2", "Accept-Encoding": "gzip"]
          let answer = try await environment.get("/part", headers)
          #expect(answer.headers["Content-Encoding"] == "gzip")
          #expect(answer.headers["Content-Length"] == "\(part.count)")
          #expect(answer.body == part)
          #expect(try await environment.get("/long", headers).body == long)
        }
      }
    }
  }

  @Test("passes a body that does not match its coding through a proxy unchanged")
  func wronglyCoded() async throws {
    let upstream = try TestUpstream { request in
      let body = Array(repeating: UInt8(ascii: "x"), count: 300_000)
      return Response(
        status: 200, headers: ["Content-Type": "application/octet-stream", "Content-Encoding": "gzip"],
        body: request.target == "/chunked" ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin])
      #expect(try await environment.get("/whole").body.count == 300_000)
      #expect(try await environment.get("/chunked").body.count == 300_000)
    }
  }

  @Test("keeps the order and repetition of header fields")
  func order() async throws {
    let upstream = try TestUpstream { _ in
      Response(
        status: 200,
        headers: [
          "Set-Cookie": "z=1", "X-One": "1", "Set-Cookie": "a=2; Path=/", "set-cookie": "z=3", "X-One": "2",
        ])
    }
    try await withService(upstream) { fixture in
      for mode in [Mode.proxy, .record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let answer = try await environment.get("/")
          let fields = answer.headers.fields.filter { ["set-cookie", "x-one"].contains($0.name.lowercased()) }
          let values = mode == .replay ? ["<redacted>", "<redacted>", "<redacted>"] : ["1", "2", "3"]
          let cookies = ["z=\(values[0])", "a=\(values[1]); Path=/", "z=\(values[2])"]
          #expect(fields.map(\.value) == [cookies[0], "1", cookies[1], cookies[2], "2"])
          #expect(answer.headers.all("Set-Cookie") == cookies)
        }
      }
    }
  }

  @Test(
    "keeps a large body's framing in replay, coded or not", arguments: ["text/plain", "image/png"], [true, false])
  func large(type: String, isChunked: Bool) async throws {
    let plain = noise(700_000)
    let coded = try #require(ContentCodings(header: "gzip")).encode(plain)
    let upstream = try TestUpstream { request in
      let body = request.target == "/gzip" ? coded : plain
      var headers: Headers = ["Content-Type": type]
      if request.target == "/gzip" { headers.append("Content-Encoding", "gzip") }
      return Response(
        status: 200, headers: headers, body: isChunked ? .stream(BytePipe(holding: body), length: nil) : .bytes(body))
    }
    try await withService(upstream) { fixture in
      for mode in [Mode.record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let answer = try await environment.get("/plain")
          #expect(answer.body == plain)
          #expect(answer.headers["Transfer-Encoding"] == (isChunked ? "chunked" : nil))
          #expect(answer.headers["Content-Length"] == (isChunked ? nil : "700000"))
          let packed = try await environment.get("/gzip", ["Accept-Encoding": "gzip"])
          #expect(packed.headers["Content-Encoding"] == "gzip")
          #expect(packed.headers["Transfer-Encoding"] == (isChunked ? "chunked" : nil), "\(mode)")
          #expect(try #require(ContentCodings(header: "gzip")).decode(packed.body, limit: 1 << 20) == plain)
        }
      }
      #expect(fixture.bodies.count == 1)
    }
  }
}
