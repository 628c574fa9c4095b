import ControlAPI
import Basics
@testable import Transforms
import Cassettes
import EnvironmentConfiguration
import HTTPMessages
import LaunchContract
import TestSupport
import LaunchContract
import Testing

@testable import EnvironmentService

@Suite("A request that is not in the cassette")
struct MissTests {
  @Test("is answered with the nearest interactions, the differences and the command that records it")
  func problem() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        _ = try await environment.post("/book?slot=3&day=1", #"{"user": {"name": "ann"}, "n": 1}"#)
        _ = try await environment.get("/other")
      }
      let environment = try fixture.provision(.replay) { $0.command = "./app --fast" }
      let answer = try await environment.post("/book?slot=3&day=1", #"{"user": {"name": "bob"}, "n": 1}"#)
      #expect(answer.status == 501)
      #expect(answer.headers["Diorama-Miss"] == "1")
      #expect(answer.headers["Content-Type"] == "application/problem+json")
      let json = try answer.json
      #expect(json["status"]?.int == 501)
      #expect(json["request"]?["method"]?.string == "POST")
      #expect(json["request"]?["url"]?.string == "\(upstream.origin)/book?slot=3&day=1")
      let nearest = try #require(json["nearest"]?.array?.first)
      #expect(nearest["index"]?.int == 0)
      #expect(nearest["url"]?.string == "\(upstream.origin)/book?slot=3&day=1")
      let differences = nearest["differences"]?.array?.compactMap { $0.string } ?? []
      #expect(differences.count == 1)
      #expect(differences.first?.contains("name") == true)
      #expect(differences.first?.contains("bob") == true)
      #expect(
        json["record"]?.string
          == "diorama run --mode extend --cassette \(fixture.folder)/c --upstream api=\(upstream.origin) -- ./app --fast"
      )

      let query = try await environment.post("/book?slot=4&day=1", #"{"n": 1, "user": {"name": "ann"}}"#)
      let difference = try query.json["nearest"]?.array?.first?["differences"]?.array?.compactMap { $0.string }
      #expect(difference?.count == 1)
      #expect(difference?.first?.contains("slot") == true)

      let (report, _) = await environment.end()
      #expect(!report.ok)
      #expect(report.unmatched.map(\.method) == ["POST", "POST"])
      #expect(report.unmatched.first?.url == "\(upstream.origin)/book?slot=3&day=1")
      #expect(report.unmatched.first?.nearest.first?.differences == differences)
      #expect(report.unused.map(\.index) == [0, 1])
      #expect(report.unused.map(\.method) == ["POST", "GET"])
      #expect(report.unused.last?.url == "\(upstream.origin)/other")
    }
  }

  @Test("names the rule that makes it match, and advises extend only where that helps")
  func fix() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        _ = try await environment.post("/book", #"{"nonce": "a1b2c3d4", "n": 1}"#)
      }
      let environment = try fixture.provision(.replay)
      let answer = try await environment.post("/book", #"{"nonce": "d4c3b2a1", "n": 1}"#).json
      #expect(answer["record"] == nil)
      #expect(answer["fix"]?["causes"]?.array?.map { $0["kind"]?.string } == ["nonce"])
      #expect(answer["fix"]?["rule"]?["ignore"]?["json"]?.array == [.string("$.nonce")])
      #expect(answer["fix"]?["isRecordable"]?.bool == false)
      let mixed = try await environment.post("/book", #"{"nonce": "d4c3b2a1", "n": 2}"#).json
      #expect(mixed["record"] == nil && mixed["fix"]?["rule"] == nil)
      #expect(mixed["fix"]?["advice"]?.string?.contains("body $.n differs, too: if that is intended, record") == true)
      let (report, _) = await environment.end()
      #expect(report.advice == nil)
      #expect(report.unmatched.map { $0.fix?.rule?.path } == ["/book", nil])
      let lines = ReportText(report).lines()
      #expect(
        lines.contains(
          #"    {"matching": {"rules": [{"method": "POST", "path": "/book", "ignore": {"json": ["$.nonce"]}}]}}"#),
        "\(lines)")

      let other = try await fixture.run(.replay) { _ = try await $0.post("/book", #"{"nonce": "a1b2c3d4", "n": 2}"#) }
      #expect(other.advice?.contains("--mode extend") == true)
      #expect(other.unmatched.first?.fix?.causes.map(\.kind) == ["other"])
      #expect(!ReportText(other).lines().contains { $0.contains("to fix it") })
      let mock = try fixture.provision(.mock, ["api": upstream.origin])
      #expect(try await mock.get("/a").json["fix"] == nil)
    }
  }

  @Test("on the main port is matched and reported with the upstream's URL")
  func mainPort() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let environment = try fixture.provision(.replay)
      let own = "http://127.0.0.1:\(environment.upstreams[0].port)"
      let answer = try await ask(environment.mainPort, request("GET", "/\(upstream.origin.authority)/b?u=\(own)/x"))
      #expect(answer.status == 501)
      #expect(try answer.json["request"]?["url"]?.string == "\(upstream.origin)/b?u=\(upstream.origin)/x")
    }
  }

  @Test("is recorded by a command that names the origins which the recording sent to another server")
  func mapped() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      func isolated(_ map: [String: String]) -> EnvironmentConfiguration.Isolation {
        var isolation = EnvironmentConfiguration.Isolation()
        isolation.kind = "proxy"
        isolation.map = map
        return isolation
      }
      try await fixture.run(
        .record, ["api": upstream.origin], with: { $0.isolation = isolated(["http://a.test": "http://127.0.0.1:1"]) }
      ) { environment async throws in
        _ = try await environment.get("/a")
      }
      let cases: [([String: String], String)] = [
        ([:], "--map http://a.test=URL "), (["http://a.test": "http://127.0.0.1:2"], ""),
      ]
      for (map, option) in cases {
        let environment = try fixture.provision(.replay) {
          $0.isolation = isolated(map)
          $0.options = ["--isolate=proxy"]
          $0.command = "./app"
        }
        #expect(
          environment.recordAdvice
            == "diorama run --mode extend --cassette \(fixture.folder)/c --isolate=proxy \(option)-- ./app")
        _ = await environment.end()
      }
    }
  }

  @Test("does not fail a cassette whose interactions are all used in a setup that succeeds")
  func held() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let report = try await fixture.run(.replay) { _ = try await $0.get("/a") }
      #expect(report.ok)
      #expect(report.unmatched.isEmpty)
      #expect(report.unused.isEmpty)
    }
  }

  @Test("fails an environment even if a later extend would record it, and extend then does")
  func extended() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      try await fixture.run(.extend, ["api": upstream.origin]) { _ = try await $0.get("/b") }
      let report = try await fixture.run(.replay) { environment in
        _ = try await environment.get("/a")
        _ = try await environment.get("/b")
      }
      #expect(report.ok)
    }
  }
}
