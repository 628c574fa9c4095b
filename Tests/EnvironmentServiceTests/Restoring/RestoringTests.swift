import Basics
@testable import Transforms
import ControlAPI
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("An environment restored after its process was killed")
struct RestoringTests {
  private static let origin = Origin(scheme: "https", host: "a.test", port: 443)

  @Test("has the same id, token, ports, mode, seed and contract")
  func identity() async throws {
    try await withService { fixture in
      let before = Guarded<LaunchContract?>(nil)
      try await fixture.twoLives(.mock, ["api": Self.origin, "images": Self.origin]) {
        $0.toggles = ["a": .bool(true), "whole": .double(10), "gone": .int(1)]
        $0.values = ["place": .string("London")]
        $0.defaults = ["seen": .bool(true)]
        $0.credentials = [.init(service: "s", account: "a", secret: [0, 255, 7])]
        $0.ports = ["debug": 20_012]
      } before: { environment async throws in
        let contract = environment.contract
        before.withLock { $0 = contract }
      } after: { environment async throws in
        let contract = environment.contract
        #expect(contract == before.withLock { $0 })
        #expect(environment.mode == .mock)
        #expect(try await environment.control("/strings", #"{"key": "a"}"#).status == 200)
        let ports = [environment.mainPort] + environment.upstreams.map(\.port)
        for port in ports { #expect(try await ask(port, request("GET", "/")).status == 501) }
      }
    }
  }

  @Test("has the stubs that were added while it ran, and the states of their scenarios")
  func stubs() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"request": {"url": "/file"}, "response": {"body": "file"}}"#)
      let step =
        #"{"scenarioName": "s", "requiredScenarioState": "%", "request": {"url": "/s"}, "response": {"body": "%"}"#
      try fixture.write(#"{"patients": [{"id": 1}], "clinic": {"open": true}}"#, to: "collections.json")
      try await fixture.twoLives(.mock) {
        $0.stubs = "\(fixture.folder)/stubs"
        $0.collections = "\(fixture.folder)/collections.json"
      } before: { environment async throws in
        for (method, target, body) in [
          ("POST", "/patients", #"{"name": "Ann"}"#), ("DELETE", "/patients/1", nil),
          ("PUT", "/clinic", #"{"open": false}"#),
        ] {
          _ = try await ask(environment.mainPort, request(method, target, ["Content-Type": "application/json"], body))
        }
        let host: Headers = ["Host": "localhost:\(environment.mainPort)"]
        let visits =
          #"{"path": "/visits/{code}", "id": "code", "items": [{"code": "a"}], "envelope": "data","#
          + #" "schema": {"required": ["code"]}}"#
        let added = try await ask(environment.mainPort, request("PUT", "/__admin/collections/visits", host, visits))
        #expect(added.status == 200, "\(added.text)")
        let deep = String(repeating: "[", count: 63) + String(repeating: "]", count: 63)
        let rooms = #"{"path": "/rooms/{id}", "items": [{"id": 1, "a": \#(deep)}, {"id": 8}]}"#
        #expect(
          try await ask(environment.mainPort, request("PUT", "/__admin/collections/rooms", host, rooms)).status == 200)
        #expect(try await ask(environment.mainPort, request("DELETE", "/rooms/8")).status < 300)
        for (state, next) in [("Started", "two"), ("two", "three")] {
          let json = step.replacingOccurrences(of: "%", with: state) + ", \"newScenarioState\": \"\(next)\"}"
          #expect(try await ask(environment.mainPort, request("POST", "/__admin/mappings", host, json)).status == 201)
        }
        #expect(try await ask(environment.mainPort, request("GET", "/s")).text == "Started")
      } after: { environment async throws in
        #expect(try await ask(environment.mainPort, request("GET", "/s")).text == "two")
        #expect(try await ask(environment.mainPort, request("GET", "/file")).text == "file")
        #expect(environment.stubCount == 3)
        #expect(try await ask(environment.mainPort, request("GET", "/patients")).text == #"[{"id":2,"name":"Ann"}]"#)
        #expect(try await ask(environment.mainPort, request("GET", "/clinic")).text == #"{"open":false}"#)
        let visits = try await ask(environment.mainPort, request("GET", "/visits"))
        #expect(visits.text == #"{"data":[{"code":"a"}],"total":1}"#)
        // Ids of removed items are not given again, and a deep item is read.
        let made = try await ask(environment.mainPort, request("POST", "/rooms", [:], "{}"))
        #expect(made.text == #"{"id":9}"#)
        let deep = try await ask(environment.mainPort, request("GET", "/rooms/1"))
        #expect(
          deep.text == #"{"id":1,"a":\#(String(repeating: "[", count: 63))\#(String(repeating: "]", count: 63))}"#)
      }
    }
  }

  @Test("has the same toggles, values and steps, and answers an app that follows from its revision")
  func steps() async throws {
    try await withService { fixture in
      try await fixture.twoLives(.mock) {
        $0.toggles = ["a": .bool(true), "gone": .int(1)]
      } before: { environment async throws in
        try await environment.update(
          toggles: ["gone": nil, "new": .double(1)], values: ["v": .int(3)], timeout: .seconds(5))
        _ = try await environment.moveClock(.advance(.seconds(90)), afterSleepers: nil, timeout: .seconds(5))
        let usage = try await environment.control("/usage", #"{"toggles": {"a": true}}"#)
        #expect(usage.status == 204)
      } after: { environment async throws in
        let answer = try await environment.control("/state?after=1", "", method: "GET")
        let state = try JSON.decode(LiveState.self, from: Data(answer.body), source: "")
        #expect(state.revision == 2)
        #expect(state.steps.map(\.advance?.seconds) == [90])
        #expect(state.toggles == ["a": .bool(true), "new": .double(1)])
        #expect(state.values == ["v": .int(3)])
        #expect(try await environment.update(toggles: ["a": .bool(false)], timeout: .zero) == 3)
        let report = environment.report()
        #expect(report.toggles.read == ["a": .bool(true)])
        #expect(report.toggles.unread == ["gone", "new"])
      }
    }
  }

  @Test("replaces the watch of an app that waits with an old one", .timeLimit(.minutes(5)))
  func watches() async throws {
    try await withService { fixture in
      try await fixture.twoLives(.mock) { environment async throws in
        let app = PlainFollower(environment)
        try await app.appear()
        await #expect(throws: CodedError.self) {
          _ = try await environment.moveClock(.advance(.seconds(1)), afterSleepers: 1, timeout: .milliseconds(50))
        }
      } after: { environment async throws in
        let app = PlainFollower(environment)
        async let moved = environment.moveClock(.advance(.seconds(1)), afterSleepers: 1, timeout: .seconds(30))
        try await environment.until { $0.watch != nil }
        let watch = try #require(try await app.state("after=0&wait=30&watch=1").watch)
        #expect(watch.id > 1)
        try await app.acknowledge("\"watch\": \(watch.id), \"sleepers\": 1")
        try await app.acknowledge("\"revision\": 1, \"woken\": 1")
        #expect(try await moved.woken == 1)
      }
    }
  }

  @Test("continues to count random values")
  func strings() async throws {
    try await withService { fixture in
      let values = try await fixture.twoLives(.mock) {
        $0.seed = "recording-2018"
      } before: { environment async throws in
        #expect(environment.strings(requestBody: Array(#"{"key": "email"}"#.utf8)).status == 200)
      } after: { environment async throws in
        try await environment.control("/strings", #"{"key": "email", "length": 12}"#).text
      }
      #expect(values == #"{"ordinal":1,"value":"1hjqdinv568o"}"#)
    }
  }

  @Test("continues its counters, misses and failures, and numbers its journal after the stored one")
  func counters() async throws {
    try await withService { fixture in
      let report = try await fixture.twoLives(.mock, ["api": Self.origin]) { environment async throws in
        _ = try await environment.get("/a")
        environment.fail("something failed")
      } after: { environment async throws in
        _ = try await environment.get("/b")
        #expect(environment.journalPage(after: 0, limit: 10).entries.map(\.number) == [2])
        return environment.report()
      }
      #expect(report.requests.unmatched == 2)
      #expect(report.unmatched.map(\.url) == ["https://a.test/a", "https://a.test/b"])
      #expect(report.failures == ["something failed"])
      #expect(report.durationSeconds > 0)
    }
  }

  @Test("plays its cassette from its position, or from the beginning if the cassette is another one")
  func playback() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        for _ in 0..<3 { _ = try await environment.get("/a") }
        _ = try await environment.get("/b")
      }
      try await fixture.twoLives(.replay) { environment async throws in
        #expect(try await environment.get("/a").text == "/a: 0")
        #expect(try await environment.get("/a").text == "/a: 1")
      } after: { environment async throws in
        #expect(environment.notes == [])
        #expect(try await environment.get("/a").text == "/a: 2")
        #expect(environment.report().unused.map(\.index) == [3])
      }
      try await fixture.twoLives(.replay) { environment async throws in
        #expect(try await environment.get("/a").text == "/a: 0")
        try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      } after: { environment async throws in
        #expect(environment.notes.first?.contains("plays from the beginning") == true)
        #expect(try await environment.get("/a").text == "/a: 4")
      }
    }
  }

  @Test("is refused by name if its cassette is missing, or its snapshot has a later version")
  func gone() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let environment = try fixture.provision(.replay)
      let snapshot = environment.snapshot()
      _ = await environment.end()
      try FileManager.default.removeItem(atPath: "\(fixture.folder)/c.har")
      let error = #expect(throws: CodedError.self) {
        try fixture.service.provision(snapshot.specification, restoring: snapshot)
      }
      #expect(error?.kind == .noCassette)
      let text = String(decoding: try snapshot.encoded(), as: UTF8.self)
      let later = text.replacingOccurrences(of: #""format":1"#, with: #""format":2"#)
      #expect(later != text)
      #expect(throws: CodedError.self) { try EnvironmentSnapshot(decoding: Data(later.utf8)) }
      #expect(throws: CodedError.self) { try EnvironmentSnapshot(decoding: Data("{".utf8)) }
    }
  }
}
