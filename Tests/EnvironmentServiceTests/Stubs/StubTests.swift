import Basics
import Cassettes
import ControlAPI
@testable import Diorama
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import Stubs
import TestSupport
@testable import Transforms
import Testing

@testable import EnvironmentService

extension ServiceFixture {
  /// Writes a mapping file for `stubs`.
  func writeMappings(_ json: String, _ name: String = "mappings.json") throws {
    try FileManager.default.createDirectory(atPath: "\(folder)/stubs/mappings", withIntermediateDirectories: true)
    try write(json, to: "stubs/mappings/\(name)")
  }

  /// An environment that answers with the stubs of the folder.
  func mocked(
    _ mode: Mode = .mock, _ upstreams: KeyValuePairs<String, Origin> = [:],
    _ configure: (inout EnvironmentSpecification) -> Void = { _ in }
  ) throws -> Environment {
    try provision(mode, upstreams) {
      $0.stubs = "\(folder)/stubs"
      configure(&$0)
    }
  }
}

@Suite("Stubs in an environment")
struct StubTests {
  @Test("answer on the main port in mode mock, with their status, headers and body")
  func main() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"name": "p", "request": {"url": "/prescriptions"}, "response": {"status": 203, "jsonBody": [{"id": 7}],"#
          + #" "headers": {"X-A": ["1", "2"]}}}"#)
      let environment = try fixture.mocked()
      for _ in 0..<2 {
        let answer = try await ask(environment.mainPort, request("GET", "/prescriptions"))
        #expect(answer.status == 203)
        #expect(answer.text == #"[{"id":7}]"#)
        #expect(answer.headers.all("X-A") == ["1", "2"])
        #expect(answer.headers["Matched-Stub-Name"] == "p")
      }
      let miss = try await ask(environment.mainPort, request("POST", "/prescription"))
      #expect(miss.status == 404)
      #expect(miss.text.contains("the nearest is stub p: the URL is not /prescriptions"))
      let report = await environment.end().report
      #expect(report.requests.mocked == 2)
      #expect(report.requests.unmatched == 1)
      #expect(report.unmatched.first?.nearestStubs?.first?.stub == "stub p")
      #expect(!report.ok)
    }
  }

  @Test("answer what they match before the cassette, and leave the rest to it")
  func beforeCassette() async throws {
    let upstream = try TestUpstream { text("live \($0.target)", type: "text/plain") }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for target in ["/a", "/b"] { _ = try await environment.get(target) }
      }
      try fixture.writeMappings(
        #"{"mappings": [{"request": {"url": "/a"}, "response": {"body": "stub", "headers": {"#
          + #""Location": "\#(upstream.origin)/next"}}}, {"request": {"url": "/never"}},"#
          + #"{"request": {"url": "/b", "host": {"equalTo": "elsewhere"}}}]}"#)
      let environment = try fixture.mocked(.replay)
      let answer = try await environment.get("/a")
      #expect(answer.text == "stub")
      // URLs of the upstream become the endpoint's.
      #expect(answer.headers["Location"] == "http://127.0.0.1:\(environment.upstreams[0].port)/next")
      #expect(try await environment.get("/b").text == "live /b")
      let report = await environment.end().report
      #expect(report.requests.mocked == 1)
      #expect(report.requests.replayed == 1)
      #expect(report.unusedStubs == ["stub ANY /never", "stub ANY /b"])
      #expect(report.ok)
    }
  }

  @Test("are missed at the start by a command, but not by a test, which may add them later")
  func absent() async throws {
    try await withService { fixture in
      for caller in EnvironmentSpecification.Caller.allCases {
        let count = caller == .command ? 1 : 0
        let environment = try fixture.provision(.mock, ["api": Origin(parsing: "https://a.test")]) {
          $0.caller = caller
        }
        #expect(environment.notes.count == count, "\(caller): \(environment.notes)")
        _ = await environment.end()
      }
    }
  }

  @Test("answer 500 if their template calls a helper that doesn't exist, with a note at the start")
  func unknownHelper() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"mappings": [{"request": {"url": "/a"}, "response": {"body": "{{fnow offset='1 days'}}"}},"#
          + #"{"request": {"url": "/b"}, "response": {"body": "{{now format='yyyy'}}"}}]}"#)
      let environment = try fixture.mocked {
        $0.stubsAreTemplates = true
        $0.clock.start = RFC3339.parse("2018-10-08T09:00:00Z")
      }
      let file = "\(fixture.folder)/stubs/mappings/mappings.json"
      let problem = "mappings[0].response.body: line 1, column 3: there is no helper 'fnow'; did you mean 'now'?"
      #expect(
        environment.notes == ["\(file): this stub responds with 500 because its template is not valid: \(problem)"])
      let refused = try await ask(environment.mainPort, request("GET", "/a"))
      #expect(refused.status == 500)
      #expect(refused.text.contains(problem))
      #expect(try await ask(environment.mainPort, request("GET", "/b")).text == "2018")
      #expect(await environment.end().report.ok == false)
    }
  }

  @Test("with the same id in a folder are all served, with a note at the start")
  func sameID() async throws {
    try await withService { fixture in
      let id = "11111111-2222-3333-4444-555555555555"
      try fixture.writeMappings(#"{"id": "\#(id)", "request": {"url": "/a"}, "response": {"body": "a"}}"#, "a.json")
      try fixture.writeMappings(#"{"id": "\#(id)", "request": {"url": "/b"}, "response": {"body": "b"}}"#, "b.json")
      let environment = try fixture.mocked()
      let folder = "\(fixture.folder)/stubs/mappings"
      #expect(
        environment.notes == [
          "\(folder)/b.json: the id \(id) is also in \(folder)/a.json, so this stub gets a new id; change one of them"
        ])
      #expect(try await ask(environment.mainPort, request("GET", "/a")).text == "a")
      #expect(try await ask(environment.mainPort, request("GET", "/b")).text == "b")
      _ = await environment.end()
    }
  }

  @Test("are recorded neither in mode record nor in extend")
  func recording() async throws {
    let upstream = try TestUpstream { text("live \($0.target)", type: "text/plain") }
    try await withService(upstream) { fixture in
      try fixture.writeMappings(#"{"request": {"url": "/a"}, "response": {"body": "stub"}}"#)
      let environment = try fixture.mocked(.record, ["api": upstream.origin])
      #expect(try await environment.get("/a").text == "stub")
      #expect(try await environment.get("/b").text == "live /b")
      _ = await environment.end()
      #expect(try fixture.cassette().interactions.map(\.request.url) == ["\(upstream.origin)/b"])
    }
  }

  @Test("give the same answers in every run with the same seed: ids, random values, times and delays")
  func deterministic() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"request": {"urlPath": "/t"}, "response": {"transformers": ["response-template"], "body": "#
          + #""{{now}} {{randomValue type='UUID'}} {{randomValue length=8}} {{request.query.x}}","#
          + #" "delayDistribution": {"type": "uniform", "lower": 0, "upper": 2}}}"#)
      func trace(_ seed: String) async throws -> [String] {
        let environment = try fixture.mocked {
          $0.seed = seed
          $0.clock.kind = "frozen"
          $0.clock.start = RFC3339.parse("2018-10-08T09:00:00Z")
        }
        var answers: [String] = []
        for number in 0..<5 {
          let answer = try await ask(environment.mainPort, request("GET", "/t?x=\(number)"))
          answers.append(answer.text + (answer.headers["Matched-Stub-Id"] ?? ""))
        }
        _ = await environment.end()
        return answers
      }
      let first = try await trace("s")
      #expect(first[0].hasPrefix("2018-10-08T09:00:00Z "))
      #expect(Set(first).count == 5)
      #expect(Set(first.map { $0.split(separator: " ")[2] }).count == 5, "\(first)")
      #expect(try await trace("s") == first)
      #expect(try await trace("other") != first)
    }
  }

  @Test("can leave their response to a client of the admin API, also after a restart")
  func callbacks() async throws {
    try await withService { fixture in
      let environment = try fixture.mocked { $0.stubs = nil }
      let added = await environment.admin(
        "POST", "/mappings", Array(#"{"request": {"url": "/a"}, "response": {"callback": true}}"#.utf8))
      #expect(added.status == 201)
      let id = try #require(try JSON.parse(added.body)["id"]?.string)
      let snapshot = try EnvironmentSnapshot(decoding: environment.snapshot().encoded())
      async let waiting = ask(environment.mainPort, request("GET", "/a"))
      let taken = try JSON.parse(await environment.admin("GET", "/callbacks?stub=\(id)&timeout=60", []).body)
      #expect(taken["requests"]?.array?.first?["request"]?["url"] == .string("/a"))
      let number = try #require(taken["requests"]?.array?.first?["number"]?.int)
      for (body, status) in [(#"{"callback": true}"#, 422), (#"{"status": 203, "body": "x"}"#, 200), ("{}", 404)] {
        let answer = await environment.admin("POST", "/callbacks/\(number)", Array(body.utf8))
        #expect(answer.status == status, "\(String(decoding: answer.body, as: UTF8.self))")
      }
      #expect(try await waiting.status == 203)
      // A request that waits at the end is not a failure of the environment.
      async let last = ask(environment.mainPort, request("GET", "/a"))
      _ = await environment.admin("GET", "/callbacks?stub=\(id)&timeout=60", [])
      let report = await environment.end().report
      #expect(report.ok, "\(report.failures)")
      _ = try? await last
      let restored = try fixture.service.provision(snapshot.specification, restoring: snapshot)
      #expect(restored.stubCount == 1)
      _ = await restored.end()
    }
  }

  @Test("wait on the environment's timeline")
  func delay() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"request": {"url": "/slow"}, "response": {"fixedDelayMilliseconds": 3600000, "body": "x"}}"#)
      let environment = try fixture.mocked { $0.clock.kind = "manual" }
      async let answer = ask(environment.mainPort, request("GET", "/slow"))
      try await DioramaClock(environment.state.withLock { $0.live.state.timeline }).waitForSleepers(1)
      _ = try await environment.moveClock(.advance(.seconds(3600)), afterSleepers: nil, timeout: .seconds(60))
      #expect(try await answer.text == "x")
    }
  }

  @Test("break connections: without a byte, with a reset, with garbage")
  func faults() async throws {
    try await withService { fixture in
      let faults = ["EMPTY_RESPONSE", "CONNECTION_RESET_BY_PEER", "RANDOM_DATA_THEN_CLOSE", "MALFORMED_RESPONSE_CHUNK"]
      let mappings = faults.map { #"{"request": {"url": "/\#($0)"}, "response": {"fault": "\#($0)"}}"# }
      try fixture.writeMappings(#"{"mappings": [\#(mappings.joined(separator: ","))]}"#)
      let environment = try fixture.mocked()
      func bytes(_ fault: String) async throws -> String {
        try await onThread {
          let client = try RawClient(port: environment.mainPort)
          try client.send(request("GET", "/\(fault)"))
          return String(decoding: try client.receiveAll(), as: UTF8.self)
        }
      }
      #expect(try await bytes("EMPTY_RESPONSE") == "")
      let reset = await #expect(throws: RawClient.Failure.self) { try await bytes("CONNECTION_RESET_BY_PEER") }
      #expect(reset?.description.contains("reset") == true, "\(reset?.description ?? "")")
      #expect(try await bytes("RANDOM_DATA_THEN_CLOSE") == "lskdu018973t09sylgasjkfg1][]'./.sdlv")
      let chunk = try await bytes("MALFORMED_RESPONSE_CHUNK")
      #expect(chunk.hasPrefix("HTTP/1.1 200 OK\r\n") && chunk.hasSuffix("lskdu018973t09sylgasjkfg1][]'./.sdlv"))
      #expect(await environment.end().report.requests.mocked == 4)
    }
  }

  @Test("send their own reason phrase, files with their type, and parts of a body one after the other")
  func wire() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"mappings": [{"request": {"url": "/reason"}, "response": {"status": 404, "statusMessage": "Gone fishing"}},"#
          + #"{"request": {"url": "/file"}, "response": {"bodyFileName": "a/b.txt"}},"#
          + #"{"request": {"url": "/out"}, "response": {"bodyFileName": "../mappings/mappings.json"}},"#
          + #"{"request": {"url": "/dribble"}, "response": {"body": "abcdefghij", "#
          + #""chunkedDribbleDelay": {"numberOfChunks": 4, "totalDuration": 4}}}]}"#)
      try FileManager.default.createDirectory(
        atPath: "\(fixture.folder)/stubs/__files/a", withIntermediateDirectories: true)
      try fixture.write("content", to: "stubs/__files/a/b.txt")
      let environment = try fixture.mocked()
      func get(_ target: String) async throws -> RawClient.Answer {
        try await ask(environment.mainPort, request("GET", target))
      }
      #expect(try await get("/reason").lines[0] == "HTTP/1.1 404 Gone fishing")
      #expect(try await get("/file").text == "content")
      #expect(try await get("/out").status == 500)
      try fixture.write("secret", to: "secret.txt")
      try FileManager.default.createSymbolicLink(
        atPath: "\(fixture.folder)/stubs/__files/link.txt", withDestinationPath: "../../secret.txt")
      #expect(try await get("/link.txt").status == 500)
      #expect(try await get("/dribble").text == "abcdefghij")
      let file = try await get("/a/b.txt")
      #expect(file.text == "content")
      #expect(file.headers["Content-Type"] == "text/plain")
      #expect(try await get("/a/../../mappings/mappings.json").status == 404)
    }
  }

  @Test("pass requests on to another backend, and call back after a delay, but never in mode replay")
  func others() async throws {
    let called = Event()
    let upstream = try TestUpstream { request in
      if request.target == "/hook" { called.happen() }
      return text("\(request.method) \(request.target) \(request.headers["X-Added"] ?? "")", type: "text/plain")
    }
    try await withService(upstream) { fixture in
      try fixture.writeMappings(
        #"{"mappings": [{"request": {"urlPattern": "/v1/.*"}, "response": {"proxyBaseUrl": "\#(upstream.origin)/base","#
          + #" "proxyUrlPrefixToRemove": "/v1", "additionalProxyRequestHeaders": {"X-Added": "1"}, "headers": {"X-Own": "2"}}},"#
          + #"{"request": {"url": "/order"}, "postServeActions": {"webhook": {"url": "\#(upstream.origin)/hook"}}}]}"#)
      let environment = try fixture.mocked()
      let answer = try await ask(environment.mainPort, request("GET", "/v1/x?y"))
      #expect(answer.text == "GET /base/x?y 1")
      #expect(answer.headers["X-Own"] == "2")
      #expect(try await ask(environment.mainPort, request("GET", "/order")).status == 200)
      try await called.wait()
      _ = await environment.end()
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let replay = try fixture.mocked(.replay)
      #expect(try await replay.get("/v1/x").text.contains("never reaches the network"))
      #expect(try await replay.get("/order").status == 200)
      let report = await replay.end().report
      #expect(report.requests.failed == 0)
      #expect(report.requests.mocked == 2)
      #expect(report.failures.count == 1 && report.failures[0].contains("never reaches the network"))
      #expect(
        replay.journalPage(after: 0, limit: 100).entries.allSatisfy {
          $0.status != 502 || $0.detail?.contains("mode replay") == true
        })
    }
  }

  @Test("answer no request whose body is too large to compare, with one clear error")
  func large() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"request": {"method": "POST", "urlPath": "/a"}}"#)
      let environment = try fixture.mocked()
      let body = String(repeating: "x", count: (16 << 20) + 1)
      let answer = try await ask(environment.mainPort, request("POST", "/a", [:], body))
      #expect(answer.status == 413)
      #expect(answer.text.contains("exceeds 16777216 bytes"))
      #expect(try await ask(environment.mainPort, request("POST", "/a", [:], "x")).status == 200)
    }
  }

  @Test("answer before collections, whose items the app creates, changes and deletes, with the same ids in every run")
  func collections() async throws {
    try await withService { fixture in
      try fixture.write(
        #"{"patients": [{"id": "a", "name": "Ann"}], "clinic": {"open": true}}"#, to: "collections.json")
      try fixture.writeMappings(#"{"request": {"url": "/patients/b"}, "response": {"body": "stub"}}"#)
      func trace() async throws -> [String] {
        let environment = try fixture.mocked { $0.collections = "\(fixture.folder)/collections.json" }
        var answers: [String] = []
        for (method, target, body) in [
          ("GET", "/patients?name=Ann", nil), ("POST", "/patients", #"{"name": "Bob"}"#), ("GET", "/patients/b", nil),
          ("PATCH", "/patients/a", #"{"name": "Anna"}"#), ("GET", "/patients", nil), ("DELETE", "/patients/a", nil),
          ("GET", "/patients/a", nil), ("PUT", "/clinic", #"{"open": false}"#), ("GET", "/clinic", nil),
        ] {
          let answer = try await ask(
            environment.mainPort, request(method, target, ["Content-Type": "application/json"], body))
          answers.append("\(answer.status) \(answer.text)")
        }
        #expect(await environment.end().report.requests.mocked == 9)
        return answers
      }
      let first = try await trace()
      #expect(first[0] == #"200 [{"id":"a","name":"Ann"}]"#)
      #expect(first[1].hasPrefix("201 "))
      #expect(first[2] == "200 stub")
      #expect(first[3] == #"200 {"id":"a","name":"Anna"}"#)
      #expect(first[4].contains("Anna") && first[4].contains("Bob"))
      #expect(first[5] == "204 ")
      #expect(first[6].hasPrefix("404 "))
      #expect(first[8] == #"200 {"open":false}"#)
      #expect(try await trace() == first)
      try fixture.write(#"{"patients": [{"name": "Ann"}]}"#, to: "collections.json")
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.mock) { $0.collections = "\(fixture.folder)/collections.json" }
      }
      #expect(
        error?.message.hasPrefix("\(fixture.folder)/collections.json: patients[0]") == true, "\(error?.message ?? "")")
    }
  }

  @Test("that are broken keep an environment from starting, with the file and the member")
  func broken() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"request": {"urlPath": "/a"}}"#, "a.json")
      try fixture.writeMappings(#"{"request": {"urlPth": "/b"}}"#, "b.json")
      let error = #expect(throws: CodedError.self) { try fixture.mocked() }
      #expect(
        error?.message
          == "\(fixture.folder)/stubs/mappings/b.json: request.urlPth: unknown member; did you mean 'urlPath'?")
      #expect(error?.kind == .broken)
      let missing = #expect(throws: CodedError.self) { try fixture.provision(.mock) { $0.stubs = "/nowhere" } }
      #expect(missing?.message == "/nowhere: no such folder; create it with a folder 'mappings' in it")
    }
  }
}

@Suite("The admin API of WireMock")
struct StubAdminTests {
  private func call(
    _ environment: Environment, _ method: String, _ path: String, _ body: String? = nil, _ headers: Headers = [:]
  ) async throws -> RawClient.Answer {
    var all: Headers = ["Host": "localhost:\(environment.mainPort)"]
    for field in headers.fields { all.set(field.name, field.value) }
    return try await ask(environment.mainPort, request(method, "/__admin\(path)", all, body))
  }

  @Test("adds, lists, replaces and removes stubs while the environment runs")
  func mappings() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock)
      let created = try await call(
        environment, "POST", "/mappings", #"{"request": {"url": "/a"}, "response": {"body": "1"}}"#)
      #expect(created.status == 201)
      let id = try #require(JSON.parse(created.body)["id"]?.string)
      #expect(try await ask(environment.mainPort, request("GET", "/a")).text == "1")
      #expect(
        try await call(environment, "PUT", "/mappings/\(id)", #"{"request": {"url": "/a"}, "response": {"body": "2"}}"#)
          .status
          == 200)
      #expect(try await ask(environment.mainPort, request("GET", "/a")).text == "2")
      let list = try JSON.parse(try await call(environment, "GET", "/mappings").body)
      #expect(list["meta"]?["total"] == .int(1))
      #expect(try await call(environment, "GET", "/mappings/\(id)").status == 200)
      #expect(try await call(environment, "DELETE", "/mappings/\(id)").status == 200)
      #expect(try await call(environment, "GET", "/mappings/\(id)").status == 404)
      #expect(try await ask(environment.mainPort, request("GET", "/a")).status == 404)
      let refused = try await call(environment, "POST", "/mappings", #"{"request": {"urlPth": "/a"}}"#)
      #expect(refused.status == 422)
      #expect(try JSON.parse(refused.body)["errors"]?.array?.first?["source"]?["pointer"] == "/request/urlPth")
      let template = #"{"response": {"body": "{{fnow x=1}}", "transformers": ["response-template"]}}"#
      for (path, body) in [("/mappings", template), ("/mappings/import", #"{"mappings": [\#(template)]}"#)] {
        #expect(try await call(environment, "POST", path, body).text.contains("there is no helper 'fnow'"), "\(path)")
      }
    }
  }

  @Test("counts and finds requests, and lists those that nothing matched")
  func requests() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"request": {"url": "/a"}}"#)
      let environment = try fixture.mocked()
      for target in ["/a", "/a", "/b"] {
        _ = try await ask(environment.mainPort, request("POST", target, [:], "{\"x\":1}"))
      }
      let pattern = #"{"url": "/a", "bodyPatterns": [{"equalToJson": {"x": 1}}]}"#
      #expect(try JSON.parse(try await call(environment, "POST", "/requests/count", pattern).body)["count"] == .int(2))
      let found = try JSON.parse(try await call(environment, "POST", "/requests/find", #"{"url": "/b"}"#).body)
      #expect(found["requests"]?.array?.first?["body"] == "{\"x\":1}")
      let unmatched = try JSON.parse(try await call(environment, "GET", "/requests/unmatched").body)
      #expect(unmatched["requests"]?.array?.map { $0["url"] } == ["/b"])
      let near = try JSON.parse(try await call(environment, "GET", "/requests/unmatched/near-misses").body)
      #expect(near["nearMisses"]?.array?.count == 1)
      #expect(try await call(environment, "DELETE", "/requests").status == 200)
      #expect(try JSON.parse(try await call(environment, "POST", "/requests/count", pattern).body)["count"] == .int(0))
    }
  }

  @Test("saves stubs and files, and resets to those of the folder")
  func saved() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"name": "A b", "request": {"url": "/a"}, "response": {"bodyFileName": "x.txt"}}"#)
      let environment = try fixture.mocked()
      #expect(try await call(environment, "PUT", "/files/x.txt", "\"aGVsbG8=\"").status == 200)
      #expect(try await ask(environment.mainPort, request("GET", "/a")).text == "hello")
      _ = try await call(environment, "POST", "/mappings", #"{"name": "B", "request": {"url": "/b"}}"#)
      #expect(try await call(environment, "POST", "/mappings/save").status == 200)
      #expect(try await call(environment, "POST", "/mappings/reset").status == 200)
      #expect(try await ask(environment.mainPort, request("GET", "/b")).status == 200)
      #expect(environment.stubCount == 2)
      // What was saved goes with its stub; a file that was written by hand stays.
      #expect(try await call(environment, "DELETE", "/mappings").status == 200)
      #expect(try await ask(environment.mainPort, request("GET", "/b")).status == 404)
      #expect(try await call(environment, "POST", "/mappings/reset").status == 200)
      #expect(try await ask(environment.mainPort, request("GET", "/b")).status == 404)
      #expect(try await ask(environment.mainPort, request("GET", "/a")).text == "hello")
      #expect(try await call(environment, "PUT", "/files/..%2Fmappings%2Fx.json", "x").status == 422)
      #expect(try await call(environment, "DELETE", "/files/x.txt").status == 200)
      #expect(try await call(environment, "GET", "/files/x.txt").status == 404)
    }
  }

  @Test("refuses web pages, other hosts and a shutdown, and delays all answers if asked to")
  func access() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"request": {"url": "/a"}, "response": {"body": "1"}}"#)
      let environment = try fixture.mocked()
      #expect(try await call(environment, "GET", "/mappings", nil, ["Origin": "https://evil.example"]).status == 403)
      #expect(try await call(environment, "GET", "/mappings", nil, ["Host": "evil.example"]).status == 403)
      let own = "http://localhost:\(environment.mainPort)"
      #expect(try await call(environment, "GET", "/mappings", nil, ["Origin": own]).status == 403)
      #expect(try await call(environment, "GET", "/mappings", nil, ["Sec-Fetch-Site": "same-origin"]).status == 403)
      #expect(try await call(environment, "POST", "/shutdown").status == 403)
      #expect(try await call(environment, "POST", "/mappings", "{").status == 422)
      #expect(try await call(environment, "POST", "/nonsense").status == 404)
      #expect(try await ask(environment.mainPort, request("GET", "/a")).text == "1")
      #expect(try await call(environment, "POST", "/settings", #"{"fixedDelay": 30}"#).status == 200)
      let start = ContinuousClock.now
      #expect(try await ask(environment.mainPort, request("GET", "/a")).text == "1")
      #expect(ContinuousClock.now - start >= .milliseconds(30))
      #expect(try await call(environment, "POST", "/reset").status == 200)
    }
  }
}
