import Basics
import ControlAPI
import Databases
import Foundation
import TestSupport
import Testing

@testable import Fleet

@Suite("Fleet history", .timeLimit(.minutes(3)))
struct FleetHistoryTests {
  typealias Engine = FleetConformanceTests.Engine

  private static func history(
    _ address: FleetAddress, _ name: String = "one", days: Int = 30, limit: Int = 1000,
    log: Guarded<[String]> = Guarded([])
  ) -> FleetHistory {
    FleetHistory(
      address, host: FleetHost(id: name, instance: "i", name: name, version: "1"), days: days, limit: limit
    ) { line in log.withLock { $0.append(line) } }
  }

  private static func run(_ id: String, _ name: String = "login", _ change: (inout FleetRun) -> Void = { _ in })
    -> FleetRun
  {
    var run = FleetRun(id: id, host: "", name: name, mode: "replay", cassette: "/ci/\(name).har", startedAt: "")
    change(&run)
    return run
  }

  private static func over(
    _ id: String, _ name: String = "login", ok: Bool = true, seconds: Double = 1, unused: [Int] = [],
    _ change: (inout FleetRun) -> Void = { _ in }
  ) -> FleetRun {
    run(id, name) { run in
      run.ok = ok
      run.seconds = seconds
      run.requests = 3
      run.recordedAt = "2018-10-08T09:00:00Z"
      run.interactions = 4
      run.unused = ok ? unused : nil
      change(&run)
    }
  }

  private static func entry(_ number: Int) -> JournalPage.Entry {
    .init(
      number: number, time: RFC3339.format(Date()), kind: number == 2 ? "failed" : "unmatched", method: "GET",
      url: "https://a.test/\(number)",
      status: 200, interaction: 0, detail: "a detail")
  }

  @Test("has the runs of all hosts, with their journals", arguments: Engine.allCases)
  func runs(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    _ = try store.connect("one")
    _ = try store.connect("two")
    let (one, two) = (Self.history(store.address, "one"), Self.history(store.address, "two"))
    one.began(Self.run("r1"))
    one.add([1, 2, 3].map(Self.entry), of: "r1")
    two.began(Self.run("r2", "search"))
    await two.flush()
    // SQLite's clock has milliseconds.
    let running = try await one.running().sorted { $0.id < $1.id }
    #expect(running.map(\.id) == ["r1", "r2"] && running.map(\.host) == ["one", "two"])
    two.ended(
      Self.over("r2", "search", ok: false, seconds: 2.5) { run in
        run.misses = [.init(method: "GET", url: "https://a.test/x", causes: ["query item `page` (counter)"])]
        run.failures = ["it failed"]
      })
    await two.flush()
    let failed = try #require(try await one.run("r2"))
    #expect(failed.ok == false && failed.seconds == 2.5 && failed.requests == 3 && failed.unused == nil)
    #expect(failed.misses.first?.causes == ["query item `page` (counter)"] && failed.failures == ["it failed"])
    #expect(try await one.ended(after: nil, limit: 10).map(\.id) == ["r2"])
    #expect(try await one.ended(after: failed.endedAt, limit: 10).isEmpty)
    #expect(try await two.running().map(\.id) == ["r1"])
    let journal = try await two.journal(of: "r1", after: 1, limit: 10).entries
    #expect(journal.map(\.number) == [2, 3] && journal.map(\.detail) == ["a detail", nil])
    #expect(try await two.run("r3") == nil)
    // The next daemon of the first host has restored nothing.
    await one.stop()
    let next = Self.history(store.address, "one")
    next.forgetOthers(than: [])
    #expect(try await next.running().isEmpty)
    #expect(try await next.run("r1")?.isLost == true)
    await next.stop()
    await two.stop()
  }

  @Test("finds flaky and slow tests, unused cassettes and interactions, and drift", arguments: Engine.allCases)
  func statistics(engine: Engine) async throws {
    let store = try FleetConformanceTests.Store(engine)
    _ = try store.connect()
    let history = Self.history(store.address)
    let old = Date.now.addingTimeInterval(-10 * 86_400)
    history.began(Self.run("o", "old"), at: old)
    history.ended(Self.over("o", "old"), at: old)
    for (id, run) in [
      ("a", Self.over("a", "flaky", unused: [1, 2, 3])), ("b", Self.over("b", "flaky", ok: false)),
      ("c", Self.over("c", "flaky", unused: [2, 3])), ("d", Self.over("d", "broken", ok: false, seconds: 9)),
      ("e", Self.over("e", "fine", seconds: 4) { $0.contract = ["GET /x: no such path"] }),
    ] {
      history.began(Self.run(id, run.name))
      history.ended(run)
    }
    let stats = try await history.statistics(days: 7)
    #expect(stats.runs == 5 && stats.failed == 2 && stats.hosts == 1 && stats.entries == 15)
    #expect(stats.flaky.map(\.name) == ["flaky"] && stats.flaky.first?.runs == 3 && stats.flaky.first?.failed == 1)
    #expect(stats.flaky.first?.last.id == "b")
    #expect(stats.slowest.map(\.name) == ["broken", "fine", "flaky"] && stats.slowest.first?.longestSeconds == 9)
    #expect(stats.abandoned.map(\.cassette) == ["/ci/old.har"])
    #expect(stats.partlyUsed.map(\.cassette) == ["/ci/flaky.har"] && stats.partlyUsed.first?.unused == [2, 3])
    #expect(stats.drift.map(\.violations) == [["GET /x: no such path"]])
    let usage = try await history.usage(of: "flaky.har", recordedAt: "2018-10-08T09:00:00Z", days: 7)
    #expect(usage?.unused == [2, 3] && usage?.runs == 2 && usage?.interactions == 4)
    #expect(try await history.usage(of: "flaky.har", recordedAt: "2019-10-08T09:00:00Z", days: 7) == nil)
    #expect(try await history.usage(of: "old.har", recordedAt: "2018-10-08T09:00:00Z", days: 7) == nil)
    await history.stop()
    // Another host keeps less.
    let short = Self.history(store.address, "two", days: 5)
    short.began(Self.run("z", "later"))
    #expect(try await short.run("o") == nil)
    #expect(try await short.statistics(days: 30).abandoned.isEmpty)
    await short.stop()
  }

  @Test("writes what happened at once in several batches", .timeLimit(.minutes(1)))
  func batches() async throws {
    let store = try FleetConformanceTests.Store(.sqlite)
    _ = try store.connect("one")
    _ = try store.connect("two")
    let (one, two) = (Self.history(store.address, "one", limit: 10_000), Self.history(store.address, "two"))
    one.began(Self.run("r1"))
    one.add((1...3_200).map(Self.entry), of: "r1")
    one.ended(Self.over("r1"))
    // The end is in the last batch. Reads of the other host's history write nothing.
    while try await two.run("r1")?.ok != true { try await Task.sleep(for: .milliseconds(20)) }
    #expect(try await two.journal(of: "r1", after: 0, limit: 10_000).entries.map(\.number) == Array(1...3_200))
    #expect(one.dropped == 0)
    await one.stop()
    await two.stop()
  }

  @Test("takes events in parts, and drops the oldest entries before runs")
  func queue() {
    var events = FleetEvents()
    func text(_ events: [FleetEvents.Event]) -> String {
      events.map { event in
        switch event {
        case .began(let run, _): "+\(run.id)"
        case .ended(let run, _): "-\(run.id)"
        case .entries(let run, _, let entries): run + ":" + entries.map { "\($0.number)" }.joined(separator: ",")
        }
      }.joined(separator: " ")
    }
    events.append(.began(Self.run("a"), .now))
    events.append(.entries(of: "a", day: 1, (1...4).map(Self.entry)))
    events.append(.entries(of: "b", day: 1, (1...2).map(Self.entry)))
    events.append(.ended(Self.over("a"), .now))
    #expect(events.trim(to: 8).isEmpty && events.count == 8)
    let taken = events.take(3)
    #expect(text(taken) == "+a a:1,2" && events.count == 5)
    events.putBack(taken)
    #expect(text(events.take(8)) == "+a a:1,2 a:3,4 b:1,2 -a" && events.isEmpty && events.count == 0)
    #expect(events.take(1).isEmpty)
    for event in taken { events.append(event) }
    events.append(.entries(of: "a", day: 1, (3...6).map(Self.entry)))
    events.append(.ended(Self.over("a"), .now))
    // A quarter more than necessary.
    #expect(text(events.trim(to: 4)) == "a:1,2 a:3,4,5" && events.count == 3)
    events.append(.began(Self.run("b"), .now))
    #expect(text(events.trim(to: 2)) == "a:6 +a" && text(events.take(.max)) == "-a +b")
  }

  @Test("notes lost runs as soon as the database is back")
  func lost() async throws {
    let server = try PostgreSQLServer()
    let address = try FleetAddress(try server.makeDatabase(), variables: [:])
    _ = try FleetDatabase(
      try address.connect(), host: FleetHost(id: "one", instance: "i", name: "one", version: "1"), key: nil)
    let history = Self.history(address)
    let start = Date.now.addingTimeInterval(-5 * 86_400)
    for id in ["kept", "lost"] { history.began(Self.run(id), at: start) }
    await history.stop()
    try server.stop()
    let (next, other) = (Self.history(address), Self.history(address, "two"))
    next.forgetOthers(than: ["kept"])
    await next.flush()
    try server.start()
    // Without anything else to write.
    while try await other.run("lost")?.isLost != true { try await Task.sleep(for: .milliseconds(20)) }
    next.began(Self.run("new"))
    let time = RFC3339.format(.now.addingTimeInterval(-60))
    next.ended(Self.over("kept"))
    #expect(try await next.running().map(\.id) == ["new"])
    // Also those that began days ago.
    #expect(try await next.ended(after: time, limit: 10).map(\.id).sorted() == ["kept", "lost"])
    await next.stop()
    await other.stop()
    try server.stop()
  }

  @Test("waits for a database that is away, drops the oldest entries, and says so")
  func bounded() async throws {
    let server = try PostgreSQLServer()
    let address = try FleetAddress(try server.makeDatabase(), variables: [:])
    _ = try FleetDatabase(
      try address.connect(), host: FleetHost(id: "one", instance: "i", name: "one", version: "1"), key: nil)
    try server.stop()
    let log = Guarded<[String]>([])
    let begin = ContinuousClock.now
    let history = Self.history(address, limit: 100, log: log)
    history.began(Self.run("r1"))
    for number in 1...500 { history.add([Self.entry(number)], of: "r1") }
    history.ended(Self.over("r1"))
    await history.flush()
    await #expect(throws: CodedError.self) { try await history.running() }
    let dropped = history.dropped
    #expect(dropped >= 402)
    try server.start()
    #expect(try await history.run("r1")?.ok == true)
    let kept = try await history.journal(of: "r1", after: 0, limit: 1000).entries.map(\.number)
    #expect(kept.count == 500 - dropped && kept.last == 500)
    await history.stop()
    // At once, and the rest at the end; also every thirty seconds.
    let said = log.withLock { $0 }.compactMap { try? /dropped (\d+) events/.firstMatch(in: $0)?.output.1 }
    #expect(said.compactMap { Int($0) }.reduce(0, +) == dropped)
    #expect(said.count <= 2 + Int((ContinuousClock.now - begin) / .seconds(30)))
    #expect(log.withLock { $0 }.count { $0.hasPrefix("the history cannot be written: ") } == 1)
    try server.stop()
  }
}
