import Foundation
import PortLeases
import TestSupport
import Testing

@testable import Daemon

@Suite("An environment's way from provisioning to its end")
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

  @Test("is unknown to others until it is ready, then ready, then ending, then gone but for its report")
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
      Issue.record("the first who wants the end does not begin it")
      return
    }
    #expect(try lifecycle.hosted("a").isEnding)
    lifecycle.ended("a", report: [1])
    #expect(Self.status { _ = try lifecycle.hosted("a") } == 410)
    #expect(lifecycle.reports.report("a") == [1])
    #expect(lifecycle.endedByCause == [.request: 1])
  }

  @Test("is ended by one alone, however many want it")
  func endOnce() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle)
    lifecycle.ready("a", isRecording: false)
    _ = try lifecycle.end("a", because: .time)
    guard case .join = try lifecycle.end("a", because: .request) else {
      Issue.record("the second who wants the end begins it, too")
      return
    }
    lifecycle.ended("a", report: [])
    #expect(lifecycle.endedByCause == [.time: 1])
    #expect(Self.status { _ = try lifecycle.end("a", because: .request) } == 410)
  }

  @Test("leaves nothing when it could not be made")
  func failure() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle, recording: "/c")
    lifecycle.fail("a")
    #expect(lifecycle.entries.isEmpty)
    #expect(Self.status { _ = try lifecycle.hosted("a") } == 404)
    try Self.begin("b", &lifecycle, recording: "/c")
  }

  @Test("is refused beyond the limit, but not when it comes back after a restart")
  func limit() throws {
    var lifecycle = Self.lifecycle(limit: 1)
    try Self.begin("a", &lifecycle)
    #expect(Self.status { try Self.begin("b", &lifecycle) } == 429)
    try Self.begin("c", &lifecycle, isRestored: true)
  }

  @Test("is refused a cassette that another one records, which the refusal names")
  func twoRecordings() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle, recording: "/nowhere/c")
    do {
      try Self.begin("b", &lifecycle, recording: "/nowhere/./c")
      Issue.record("two record one cassette")
    } catch let error as DaemonError {
      #expect(error.status == 409)
      #expect(error.detail.contains("environment a ('test a')"))
    }
    lifecycle.ready("a", isRecording: true)
    _ = try lifecycle.end("a", because: .request)
    // Until it is sealed nobody else begins.
    #expect(Self.status { try Self.begin("b", &lifecycle, recording: "/nowhere/c") } == 409)
    lifecycle.ended("a", report: [])
    try Self.begin("b", &lifecycle, recording: "/nowhere/c")
  }

  @Test("lets others record when it replays after all")
  func onceThatReplays() throws {
    var lifecycle = Self.lifecycle()
    try Self.begin("a", &lifecycle, recording: "/nowhere/c")
    lifecycle.ready("a", isRecording: false)
    try Self.begin("b", &lifecycle, recording: "/nowhere/c")
  }

  @Test("is due when its time is over, once, and only when it is ready")
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

  @Test("does not begin while the daemon ends")
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

  @Test("is listed in the order in which it was asked for")
  func order() throws {
    var lifecycle = Self.lifecycle()
    for id in ["z", "a", "m"] { try Self.begin(id, &lifecycle) }
    for id in ["a", "m", "z"] { lifecycle.ready(id, isRecording: false) }
    #expect(lifecycle.all.map(\.hosted) == ["hosted z", "hosted a", "hosted m"])
  }
}

@Suite("Until when an environment lives")
struct LifetimeTests {
  private static let now = Date(timeIntervalSince1970: 1_000_000)

  @Test("is an hour where nobody gave an owner or a time")
  func standard() throws {
    let lifetime = try Lifetime(owner: nil, seconds: nil, now: Self.now)
    #expect(lifetime.endsAt == Self.now.addingTimeInterval(3600))
    #expect(lifetime.owner == nil)
  }

  @Test("is the owner's end alone where only an owner is given, and whichever comes first with both")
  func owner() throws {
    let pid = getpid()
    let lifetime = try Lifetime(owner: pid, seconds: nil, now: Self.now)
    #expect(lifetime.endsAt == nil)
    #expect(lifetime.cause(at: .distantFuture) { !$0.isAlive } == nil)
    #expect(lifetime.cause(at: Self.now) { _ in true } == .owner)
    let both = try Lifetime(owner: pid, seconds: 10, now: Self.now)
    #expect(both.cause(at: Self.now.addingTimeInterval(10)) { _ in false } == .time)
  }

  @Test("may be the end of process 1, which in a container is the program itself")
  func first() throws {
    #expect(try Lifetime(owner: 1, seconds: nil, now: Self.now).owner?.pid == 1)
  }

  @Test("is refused for an owner that is gone and for a time that is none", arguments: [0, -1, .nan, .infinity, 1e300])
  func refused(seconds: Double) {
    #expect(throws: DaemonError.self) { try Lifetime(owner: nil, seconds: seconds, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: -5, seconds: nil, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: 0, seconds: nil, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: .max, seconds: nil, now: Self.now) }
  }
}

@Suite("Reports of ended environments")
struct EndedReportsTests {
  @Test("are kept as many as are allowed, the last ones")
  func count() {
    var reports = EndedReports(limit: 2, bytes: 1000)
    for id in ["a", "b", "c"] { reports.add(id, [0]) }
    #expect(!reports.has("a"))
    #expect(reports.has("b") && reports.has("c"))
  }

  @Test("are kept as far as their bytes are allowed, but always the last one")
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
