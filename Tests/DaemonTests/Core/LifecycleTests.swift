import Foundation
import PortLeases
import TestSupport
import Testing

@testable import Daemon

@Suite("Environment lifecycle")
struct LifecycleTests {
  private static let soon = Lifetime(endsAt: Date(timeIntervalSince1970: 100))

  private static func lifecycle(limit: Int = 3) -> Lifecycle<String> {
    Lifecycle(limit: limit, reports: EndedReports(limit: 2, bytes: 1000))
  }

  private static func status(_ body: () throws -> Void) -> Int? {
    do { try body() } catch { return (error as? DaemonError)?.status ?? -1 }
    return nil
  }

  private static func begin(
    _ id: String, _ lifecycle: inout Lifecycle<String>, recording: String? = nil, isRestored: Bool = false
  ) throws {
    try lifecycle.begin(
      id, "hosted \(id)", name: "test \(id)", lifetime: soon, recording: recording.map { ResolvedPath($0) },
      isRestored: isRestored)
  }

  @Test("goes from provisioning to ready, ending and ended")
  func fromBeginToEnd() throws {
    var lifecycle = Self.lifecycle()
    #expect(Self.status { _ = try lifecycle.hosted("a") } == 404)
    try Self.begin("a", &lifecycle)
    #expect(Self.status { _ = try lifecycle.hosted("a") } == 404)
    #expect(lifecycle.all.isEmpty)
    #expect(lifecycle.counts.provisioning == 1)
    lifecycle.ready("a", isRecording: false)
    #expect(try lifecycle.hosted("a").hosted == "hosted a")
    #expect(try !lifecycle.hosted("a").isEnding)
    guard case .begin("hosted a") = try lifecycle.end("a", because: .request) else {
      Issue.record("the first caller does not begin the end")
      return
    }
    #expect(try lifecycle.hosted("a").isEnding)
    lifecycle.ended("a", report: [1])
    #expect(Self.status { _ = try lifecycle.hosted("a") } == 410)
    #expect(lifecycle.reports.report("a") == [1])
    #expect(lifecycle.endedByCause == [.request: 1])
  }

  @Test("lets one caller end an environment, and others join")
  func endOnce() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle)
    lifecycle.ready("a", isRecording: false)
    _ = try lifecycle.end("a", because: .time)
    guard case .join = try lifecycle.end("a", because: .request) else {
      Issue.record("the second caller begins the end, too")
      return
    }
    lifecycle.ended("a", report: [])
    #expect(lifecycle.endedByCause == [.time: 1])
    #expect(Self.status { _ = try lifecycle.end("a", because: .request) } == 410)
  }

  @Test("removes an environment that could not be provisioned")
  func failure() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle, recording: "/c")
    lifecycle.fail("a")
    #expect(lifecycle.entries.isEmpty)
    #expect(Self.status { _ = try lifecycle.hosted("a") } == 404)
    try Self.begin("b", &lifecycle, recording: "/c")
  }

  @Test("refuses environments beyond the limit, except restored ones")
  func limit() throws {
    var lifecycle = Self.lifecycle(limit: 1)
    try Self.begin("a", &lifecycle)
    #expect(Self.status { try Self.begin("b", &lifecycle) } == 429)
    try Self.begin("c", &lifecycle, isRestored: true)
  }

  @Test("refuses to record a cassette twice, and names the other environment")
  func twoRecordings() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle, recording: "/nowhere/c")
    do {
      try Self.begin("b", &lifecycle, recording: "/nowhere/./c")
      Issue.record("two environments record one cassette")
    } catch let error as DaemonError {
      #expect(error.status == 409)
      #expect(error.detail.contains("environment a ('test a')"))
    }
    lifecycle.ready("a", isRecording: true)
    _ = try lifecycle.end("a", because: .request)
    // Refused until the cassette is sealed.
    #expect(Self.status { try Self.begin("b", &lifecycle, recording: "/nowhere/c") } == 409)
    lifecycle.ended("a", report: [])
    try Self.begin("b", &lifecycle, recording: "/nowhere/c")
  }

  @Test("lets others record the cassette if the environment replays")
  func onceThatReplays() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle, recording: "/nowhere/c")
    lifecycle.ready("a", isRecording: false)
    try Self.begin("b", &lifecycle, recording: "/nowhere/c")
  }

  @Test("reports a ready environment as due once its time is up")
  func due() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle)
    let then = Date(timeIntervalSince1970: 100)
    #expect(lifecycle.due(at: then) { _ in false }.isEmpty)
    lifecycle.ready("a", isRecording: false)
    #expect(lifecycle.due(at: then.addingTimeInterval(-1)) { _ in false }.isEmpty)
    #expect(lifecycle.due(at: then) { _ in false }.map(\.cause) == [.time])
    _ = try lifecycle.end("a", because: .time)
    #expect(lifecycle.due(at: then) { _ in false }.isEmpty)
  }

  @Test("refuses new environments while the daemon is stopping")
  func stopping() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle)
    try Self.begin("b", &lifecycle)
    lifecycle.ready("b", isRecording: false)
    let (all, ready) = lifecycle.stop()
    #expect(Set(all) == ["hosted a", "hosted b"])
    #expect(ready == ["b"])
    #expect(Self.status { try Self.begin("c", &lifecycle) } == 503)
  }

  @Test("lists environments in the order of creation")
  func order() throws {
    var lifecycle = Self.lifecycle()
    for id in ["z", "a", "m"] { try Self.begin(id, &lifecycle) }
    for id in ["a", "m", "z"] { lifecycle.ready(id, isRecording: false) }
    #expect(lifecycle.all.map(\.hosted) == ["hosted z", "hosted a", "hosted m"])
  }
}

@Suite("Environment lifetime")
struct LifetimeTests {
  private static let now = Date(timeIntervalSince1970: 1_000_000)

  @Test("is an hour without an owner and a time")
  func standard() throws {
    let lifetime = try Lifetime(owner: nil, seconds: nil, now: Self.now)
    #expect(lifetime.endsAt == Self.now.addingTimeInterval(3600))
    #expect(lifetime.owner == nil)
  }

  @Test("ends with the owner, or at the time if that comes first")
  func owner() throws {
    let pid = getpid()
    let lifetime = try Lifetime(owner: pid, seconds: nil, now: Self.now)
    #expect(lifetime.endsAt == nil)
    #expect(lifetime.cause(at: .distantFuture) { !$0.isAlive } == nil)
    #expect(lifetime.cause(at: Self.now) { _ in true } == .owner)
    let both = try Lifetime(owner: pid, seconds: 10, now: Self.now)
    #expect(both.cause(at: Self.now.addingTimeInterval(10)) { _ in false } == .time)
  }

  @Test("accepts process 1, the main program of a container")
  func first() throws {
    #expect(try Lifetime(owner: 1, seconds: nil, now: Self.now).owner?.pid == 1)
  }

  @Test("rejects missing owners and invalid times", arguments: [0, -1, .nan, .infinity, 1e300])
  func refused(seconds: Double) {
    #expect(throws: DaemonError.self) { try Lifetime(owner: nil, seconds: seconds, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: -5, seconds: nil, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: 0, seconds: nil, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: .max, seconds: nil, now: Self.now) }
  }
}

@Suite("Reports of ended environments")
struct EndedReportsTests {
  @Test("are kept up to the limit, newest first")
  func count() {
    var reports = EndedReports(limit: 2, bytes: 1000)
    for id in ["a", "b", "c"] { reports.add(id, [0]) }
    #expect(!reports.has("a"))
    #expect(reports.has("b") && reports.has("c"))
  }

  @Test("are kept up to the byte limit, but always the newest")
  func bytes() {
    var reports = EndedReports(limit: 10, bytes: 10)
    reports.add("a", Array(repeating: 0, count: 6))
    reports.add("b", Array(repeating: 0, count: 6))
    #expect(!reports.has("a") && reports.has("b"))
    reports.add("c", Array(repeating: 0, count: 60))
    #expect(!reports.has("b"))
    #expect(reports.report("c")?.count == 60)
  }
}
