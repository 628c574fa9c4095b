import Basics
@testable import Transforms
import Cassettes
import HTTPMessages
import LaunchContract
import TestSupport
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("Addresses in requests and responses")
struct AddressTests {
  /// Answers with its own absolute URLs in every place in which they must be rewritten.
  private static func linking(_ seen: Guarded<[String]>) throws -> TestUpstream {
    try TestUpstream { request in
      let host = request.headers["Host"] ?? ""
      let body = try await request.body.collect(upTo: 1 << 20)
      seen.withLock { $0.append("\(request.target) \(String(decoding: body, as: UTF8.self))") }
      return text(
        #"{"next": "http://\#(host)/page/2", "other": "http://elsewhere.test/", "q": "/x?u=http%3A%2F%2F\#(host)"}"#,
        type: "application/json", status: 201,
        headers: [
          "Location": "http://\(host)/made/1", "Link": "<http://\(host)/page/2>; rel=\"next\", </page/3>; rel=last",
          "Set-Cookie": "a=1; Domain=127.0.0.1; Path=/made", "Set-Cookie": "b=2; Path=/",
        ])
    }
  }

  @Test("are endpoints for the app and upstreams for the upstream, in recording and in replay")
  func bothWays() async throws {
    let seen = Guarded<[String]>([])
    let upstream = try Self.linking(seen)
    try await withService(upstream) { fixture in
      let authority = upstream.origin.authority
      for mode in [Mode.record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          let own = "http://127.0.0.1:\(environment.upstreams[0].port)"
          let cookies = mode == .replay ? ["a=<redacted>;", "b=<redacted>; Path=/"] : ["a=1;", "b=2; Path=/"]
          let segment = "http://127.0.0.1:\(environment.mainPort)/\(authority)"
          let answer = try await environment.post("/a?back=\(own)/home", #"{"callback": "\#(own)/done"}"#)
          #expect(answer.status == 201)
          #expect(try answer.json["next"]?.string == "\(own)/page/2")
          #expect(try answer.json["other"]?.string == "http://elsewhere.test/")
          #expect(answer.headers["Content-Length"] == "\(answer.body.count)")
          #expect(answer.headers["Location"] == "\(own)/made/1")
          #expect(answer.headers["Link"] == "<\(own)/page/2>; rel=\"next\", </page/3>; rel=last")
          #expect(answer.headers.all("Set-Cookie").count == 2)
          #expect(answer.headers.all("Set-Cookie")[0].hasPrefix(cookies[0]))
          #expect(answer.headers.all("Set-Cookie")[1] == cookies[1])

          let main = try await ask(environment.mainPort, request("GET", "/\(authority)/b"))
          #expect(try main.json["next"]?.string == "\(segment)/page/2")
          #expect(main.headers["Location"] == "\(segment)/made/1")
          #expect(main.headers["Link"] == "<\(segment)/page/2>; rel=\"next\", </\(authority)/page/3>; rel=last")
          #expect(main.headers.all("Set-Cookie")[1] == "\(cookies[1])\(authority)/")

          let absolute = try await ask(environment.mainPort, request("GET", "http://\(authority)/c"))
          #expect(try absolute.json["next"]?.string == "http://\(authority)/page/2")
          #expect(absolute.headers["Location"] == "http://\(authority)/made/1")
        }
      }
      #expect(
        seen.withLock { $0 } == [
          #"/a?back=http://\#(authority)/home {"callback": "http://\#(authority)/done"}"#, "/b ", "/c ",
        ])
      let har = try fixture.read("c.har")
      #expect(har.contains("http://\(authority)/page/2"))
      #expect(har.contains("http://\(authority)/home"))
    }
  }

  @Test("may refer to another upstream, whose endpoint the app then reaches")
  func acrossUpstreams() async throws {
    let files = try TestUpstream { text("file \($0.target)") }
    let link = "\(files.origin)/f"
    let api = try TestUpstream { _ in text(link, headers: ["Location": link]) }
    try await withService(api) { fixture in
      for mode in [Mode.record, .replay] {
        try await fixture.run(mode, ["api": api.origin, "files": files.origin]) { environment async throws in
          let answer = try await environment.get("/")
          #expect(answer.text == "http://127.0.0.1:\(environment.upstreams[1].port)/f")
          #expect(answer.headers["Location"] == answer.text)
          #expect(try await environment.get("/f", of: 1).text == "file /f")
        }
      }
    }
    await files.stop()
  }

  @Test("are rewritten in a compressed response, whose length is updated")
  func compressed() async throws {
    let upstream = try CodedUpstream.start { "{\"next\": \"http://\($0)/2\"}" }
    try await withService(upstream) { fixture in
      for mode in [Mode.proxy, .record, .replay] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment async throws in
          for coding in ["gzip", "deflate", "br"] {
            let answer = try await environment.get("/\(coding)", ["Accept-Encoding": coding])
            #expect(answer.headers["Content-Encoding"] == coding)
            #expect(answer.headers["Content-Length"] == "\(answer.body.count)")
            let plain = try CodedUpstream.decode(answer.body, coding)
            #expect(plain == "{\"next\": \"http://127.0.0.1:\(environment.upstreams[0].port)/2\"}")
          }
        }
      }
    }
  }
}
