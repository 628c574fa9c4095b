import Basics
import Cassettes
import ControlAPI
import Diorama
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import Stubs
import TestSupport
import Testing
import Transforms

@testable import EnvironmentService

@Suite("Faults in an environment")
struct FaultTests {
  private func faults(_ texts: String...) throws -> [FaultSettings] {
    try EnvironmentConfiguration.faults(texts.map(JSON.string))
  }

  /// The bytes that a request gets until the connection ends.
  private func bytes(_ environment: Environment, _ target: String) async throws -> String {
    let port = environment.upstreams[0].port
    return try await onThread {
      let client = try RawClient(port: port)
      try client.send(request("GET", target))
      return String(decoding: try client.receiveAll(), as: UTF8.self)
    }
  }

  @Test("drop the first request; the next one gets the recorded response")
  func dropped() async throws {
    let upstream = try TestUpstream { text("live \($0.target)", type: "text/plain") }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let environment = try fixture.provision(.replay) { $0.faults = try? faults("reset,path=/a,nth=1") }
      let error = await #expect(throws: RawClient.Failure.self) { try await environment.get("/a") }
      #expect(error?.description.contains("reset") == true, "\(error?.description ?? "")")
      #expect(try await environment.get("/a").text == "live /a")
      let report = await environment.end().report
      #expect(report.requests.faulted == 1)
      #expect(report.requests.replayed == 1)
      #expect(report.requests.total == 2)
      #expect(report.faults?.map(\.fault) == ["reset for /a"])
      #expect(report.faults?.map(\.requests) == [1])
      #expect(report.ok)
    }
  }

  @Test("replace the status, break connections, and cut off and slow down bodies of stubs and upstreams")
  func kinds() async throws {
    let upstream = try TestUpstream { _ in text(String(repeating: "x", count: 100), type: "text/plain") }
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin]) {
        $0.faults = try? faults(
          "status=429,retryAfterSeconds=5,path=/limited", "empty,path=/empty", "garbage,path=/garbage",
          "malformedChunk,path=/chunk", "cut,path=/cut", "cut,afterBytes=7,path=/early",
          "bytesPerSecond=2000,path=/slow",
          #"{"status": 503, "path": "/text", "body": "down", "headers": {"X-A": "1"}}"#)
      }
      let limited = try await environment.get("/limited")
      #expect(limited.status == 429)
      #expect(limited.headers["Retry-After"] == "5")
      #expect(limited.text.contains("fault status 429 for /limited"))
      let down = try await environment.get("/text")
      #expect(down.status == 503 && down.text == "down" && down.headers["X-A"] == "1")
      #expect(try await bytes(environment, "/empty") == "")
      #expect(try await bytes(environment, "/garbage").hasPrefix("lskdu"))
      #expect(try await bytes(environment, "/chunk").contains("chunked\r\n\r\nlskdu"))
      for (target, count) in [("/cut", 50), ("/early", 7)] {
        let cut = try await bytes(environment, target)
        #expect(cut.contains("Content-Length: 100\r\n"), "\(cut)")
        #expect(cut.hasSuffix("\r\n\r\n" + String(repeating: "x", count: count)), "\(cut)")
      }
      #expect(try await environment.get("/slow").text.count == 100)
      #expect(try await environment.get("/other").text.count == 100)
      let report = await environment.end().report
      #expect(report.requests.faulted == 5)
      #expect(report.requests.forwarded == 4)
    }
  }

  @Test("do not affect a recording: replaced responses are not recorded, and cut ones are recorded in full")
  func recorded() async throws {
    let upstream = try TestUpstream { _ in text(String(repeating: "x", count: 300_000), type: "text/plain") }
    try await withService(upstream) { fixture in
      let report = try await fixture.run(
        .record, ["api": upstream.origin], with: { $0.faults = try? faults("cut,path=/a,nth=1", "status=500,path=/b") }
      ) { environment in
        let cut = try await bytes(environment, "/a")
        #expect(cut.utf8.count < 299_000)
        let other = try await environment.get("/b")
        #expect(other.status == 500)
        let whole = try await environment.get("/c")
        #expect(whole.body.count == 300_000)
      }
      #expect(report.ok, "\(report)")
      let interactions = try fixture.cassette().interactions
      #expect(interactions.map { String($0.request.url.suffix(2)) } == ["/a", "/c"])
      #expect(interactions.allSatisfy { $0.response.body.length == 300_000 })
    }
  }

  @Test("time out until the client gives up, and end with the environment")
  func timeout() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Origin(parsing: "http://api.example")]) {
        $0.faults = try? faults("timeout")
      }
      let port = environment.upstreams[0].port
      let client = try await onThread { try RawClient(port: port) }
      try client.send(request("GET", "/a"))
      let other = try await onThread { try RawClient(port: port) }
      try other.send(request("GET", "/b"))
      try await environment.faults.untilUsed(2)
      client.close()
      let report = await environment.end().report
      #expect(try await onThread { try other.receiveAll() } == [])
      #expect(report.faults?.first?.requests == 2)
    }
  }

  @Test("let one upstream refuse connections until they are removed")
  func refused() async throws {
    let upstream = try TestUpstream { _ in text("live", type: "text/plain") }
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.proxy, ["api": upstream.origin, "other": upstream.origin]) {
        $0.faults = try? faults("refused,upstream=api")
      }
      let port = environment.upstreams[0].port
      func connect() async -> String? {
        await #expect(throws: RawClient.Failure.self) { try await onThread { try RawClient(port: port) } }?.description
      }
      #expect(await connect()?.contains("refused") == true)
      #expect(try await ask(environment.upstreams[1].port, request("GET", "/a")).text == "live")
      try await environment.update(faults: [], timeout: .seconds(5))
      let kept = try await onThread { try RawClient(port: port) }
      #expect(try await onThread { try kept.exchange(request("GET", "/a")) }.text == "live")
      try await environment.update(faults: try faults("refused"), timeout: .seconds(5))
      #expect(await connect()?.contains("refused") == true)
      await #expect(throws: RawClient.Failure.self) { try await onThread { try kept.exchange(request("GET", "/a")) } }
      try await environment.update(faults: [], timeout: .seconds(5))
      #expect(try await ask(port, request("GET", "/a")).text == "live")
      _ = await environment.end()
    }
  }

  @Test("delay on the environment's timeline")
  func delayed() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Origin(parsing: "http://api.example")]) {
        $0.faults = try? faults("delayMilliseconds=3600000", "status=204")
        $0.clock.kind = "manual"
      }
      async let answer = environment.get("/slow")
      try await DioramaClock(environment.state.withLock { $0.live.state.timeline }).waitForSleepers(1)
      _ = try await environment.moveClock(.advance(.seconds(3600)), afterSleepers: nil, timeout: .seconds(60))
      #expect(try await answer.status == 204)
    }
  }

  @Test("affect the same requests in every run with the same seed, in whatever order they arrive")
  func seeded() async throws {
    try await withService { fixture in
      func statuses(_ seed: String, _ targets: [String]) async throws -> [String: [Int]] {
        let environment = try fixture.provision(.mock, ["api": Origin(parsing: "http://api.example")]) {
          $0.seed = seed
          $0.faults = try? faults("status=503,probability=0.3,name=flaky", "status=200")
        }
        var found: [String: [Int]] = [:]
        for target in targets { found[target, default: []].append(try await environment.get(target).status) }
        _ = await environment.end()
        return found
      }
      let targets = (0..<60).map { "/\($0 % 4)" }
      let first = try await statuses("one", targets)
      #expect(try await statuses("one", targets.sorted()) == first)
      #expect(try await statuses("two", targets) != first)
      let hits = first.values.joined().count { $0 == 503 }
      #expect(8...30 ~= hits, "\(hits)")
    }
  }

  @Test("change while the environment runs, and survive a restart with their counts")
  func changed() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Origin(parsing: "http://api.example")])
      #expect(try await environment.get("/a").status == 501)
      try await environment.update(faults: try faults("status=200,nth=1", "status=503,name=down"), timeout: .seconds(5))
      #expect(try await environment.get("/a").status == 200)
      await #expect(throws: CodedError.self) {
        try await environment.update(faults: try faults("reset,afterBytes=1"), timeout: .seconds(5))
      }
      let snapshot = try EnvironmentSnapshot(decoding: environment.snapshot().encoded())
      _ = await environment.end()
      let restored = try fixture.service.provision(snapshot.specification, restoring: snapshot)
      #expect(try await restored.get("/a").status == 503)
      let second = try EnvironmentSnapshot(decoding: restored.snapshot().encoded())
      _ = await restored.end()
      let again = try fixture.service.provision(second.specification, restoring: second)
      #expect(try await again.get("/a").status == 503)
      try await again.update(faults: [], timeout: .seconds(5))
      #expect(try await again.get("/a").status == 501)
      // Replaced faults stay in the report.
      #expect(await again.end().report.faults?.map(\.requests) == [1, 2])
    }
  }

  @Test("are not changed by an update that fails")
  func unchanged() async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.mock, ["api": Origin(parsing: "http://api.example")])
      for (texts, mode) in [(["status=500"], Mode.replay), (["status=500", "reset,upstream=apii"], nil)] {
        await #expect(throws: CodedError.self) {
          try await environment.update(
            mode: mode, faults: try EnvironmentConfiguration.faults(texts.map(JSON.string)), timeout: .seconds(5))
        }
        #expect(try await environment.get("/a").status == 501)
      }
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.mock, ["api": Origin(parsing: "http://api.example")]) {
          $0.faults = try? faults("reset,upstream=apii")
        }
      }
      #expect(error?.message.contains("'apii' is not an upstream; did you mean 'api'?") == true)
      _ = await environment.end()
    }
  }

  @Test("affect stubs with a reason phrase of their own, and end event streams that they cut")
  func special() async throws {
    try await withService { fixture in
      try fixture.writeMappings(
        #"{"mappings": [{"request": {"url": "/a"}, "response": {"statusMessage": "Fine", "body": "0123456789"}},"#
          + #" {"request": {"method": "GET", "url": "/events"}, "response": {"events": [{"data": "x"}]}}]}"#)
      let environment = try fixture.mocked {
        $0.faults = try? faults("cut,path=/a,afterBytes=3", "cut,path=/events,afterBytes=5")
      }
      func bytes(_ target: String) async throws -> String {
        try await onThread {
          let client = try RawClient(port: environment.mainPort)
          try client.send(request("GET", target))
          return String(decoding: try client.receiveAll(), as: UTF8.self)
        }
      }
      #expect(try await bytes("/a").hasSuffix("\r\n\r\n012"))
      #expect(try await bytes("/events").contains("id: 1"))
      // Returns only when the stream has no client left.
      let closed = await environment.admin("GET", "/events?path=/events&untilClosed=true&timeout=60", [])
      #expect(closed.status == 200)
      _ = await environment.end()
    }
  }

  @Test("leave a trace of a request whose app gives up")
  func abandoned() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"request": {"url": "/a"}}"#)
      let environment = try fixture.mocked { $0.faults = try? faults("timeout") }
      let client = try await onThread { try RawClient(port: environment.mainPort) }
      try client.send(request("GET", "/a"))
      try await environment.faults.untilUsed(1)
      client.close()
      while environment.report().requests.left == nil { await Task.yield() }
      let found = await environment.admin("POST", "/requests/count", Array(#"{"url": "/a"}"#.utf8))
      #expect(String(decoding: found.body, as: UTF8.self).contains("1"))
      #expect(await environment.end().report.requests.total == 1)
    }
  }

  @Test("apply to the main port of a mock, too")
  func main() async throws {
    try await withService { fixture in
      try fixture.writeMappings(#"{"request": {"url": "/a"}, "response": {"body": "stub"}}"#)
      let environment = try fixture.mocked { $0.faults = try? faults("status=503,every=2") }
      var statuses: [Int] = []
      for _ in 0..<4 { statuses.append(try await ask(environment.mainPort, request("GET", "/a")).status) }
      #expect(statuses == [200, 503, 200, 503])
      let found = await environment.admin("POST", "/requests/count", Array(#"{"url": "/a"}"#.utf8))
      #expect(String(decoding: found.body, as: UTF8.self).contains("4"))
    }
  }
}

extension FaultInjector {
  /// Returns once faults have affected this many requests.
  fileprivate func untilUsed(_ count: Int) async throws {
    while state.withLock({ $0.faults.uses.reduce(0, +) }) < count { await Task.yield() }
  }
}
