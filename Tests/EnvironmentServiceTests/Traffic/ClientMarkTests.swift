import Basics
import Cassettes
import ControlAPI
import EnvironmentConfiguration
import HTTPMessages
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService

@Suite("Mark of a client in the test", .timeLimit(.minutes(5)))
struct ClientMarkTests {
  @Test("needs the environment's token, and is neither forwarded nor recorded")
  func token() async throws {
    let upstream = try TestUpstream { request in text("\(request.headers["Diorama-Client"] ?? "unmarked")") }
    try await withService(upstream) { fixture in
      // The fast ways of replay, of forwarding and of stubs see no mark, either.
      for mode in [Mode.record, .replay, .proxy] {
        try await fixture.run(mode, ["api": upstream.origin]) { environment in
          let origin = " origin=\(upstream.origin)"
          for mark in ["\(environment.token)\(origin)", environment.token] {
            #expect(try await environment.get("/a", ["Diorama-Client": mark]).text == "unmarked")
          }
          for mark in ["wrong\(origin)", "", origin] {
            let refused = try await environment.get("/a", ["Diorama-Client": mark])
            #expect(refused.status == 403)
            let problem = try refused.json
            #expect(problem["title"]?.string == "Diorama-Client needs the token")
          }
          let unknown = try await environment.get("/a", ["Diorama-Client": "\(environment.token) orgin=x"])
          #expect(unknown.status == 400)
        }
      }
      let requests = try fixture.cassette().interactions.map(\.request)
      #expect(requests.map { $0.headers["Diorama-Client"] } == [nil, nil])
    }
  }

  @Test("for set-up is in the journal and the cassette, and the test and the app get their own responses")
  func setup() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.run(.record, ["api": upstream.origin]) { environment async throws in
        let setup: Headers = ["Diorama-Client": "\(environment.token) setup"]
        #expect(try await environment.get("/both", setup).text == "/both: 0")
        #expect(try await environment.get("/both").text == "/both: 1")
        #expect(try await environment.get("/setup", setup).text == "/setup: 2")
        #expect(try await environment.get("/app").text == "/app: 3")
        #expect(environment.journalPage(after: 0, limit: 9).entries.map(\.setup) == [true, nil, true, nil])
      }
      #expect(try fixture.cassette().interactions.map(\.isSetup) == [true, false, true, false])
      for order in [PlaybackOrder.request, .free] {
        let upstreams: KeyValuePairs = ["api": upstream.origin]
        try await fixture.run(.replay, upstreams, with: { $0.order = order }) { environment async throws in
          let setup: Headers = ["Diorama-Client": "\(environment.token) setup"]
          // In another order than recorded.
          #expect(try await environment.get("/both").text == "/both: 1")
          #expect(try await environment.get("/both", setup).text == "/both: 0")
          // The mark does not count where it decides nothing.
          #expect(try await environment.get("/setup").text == "/setup: 2")
          #expect(try await environment.get("/app", setup).text == "/app: 3")
          #expect(environment.journalPage(after: 0, limit: 9).entries.map(\.setup) == [nil, true, nil, true])
        }
      }
    }
  }

  @Test("with an origin gets the upstream's own URLs, on any port")
  func origin() async throws {
    let upstream = try TestUpstream { request in text("http://\(request.headers["Host"] ?? "")/x", type: "text/html") }
    _ = try await withService(upstream) { fixture in
      try await fixture.run(.proxy, ["api": upstream.origin]) { (environment: Environment) async throws in
        let url = "\(upstream.origin)/x"
        let headers: Headers = ["Diorama-Client": "\(environment.token) origin=\(upstream.origin)"]
        #expect(try await environment.get("/a", headers).text == url)
        #expect(try await ask(environment.mainPort, request("GET", "/a", headers)).text == url)
        #expect(try await environment.get("/a").text == "http://127.0.0.1:\(environment.upstreams[0].port)/x")
      }
    }
  }
}
