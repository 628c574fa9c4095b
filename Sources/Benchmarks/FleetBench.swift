import Basics
import ControlAPI
import Databases
import EnvironmentConfiguration
import Fleet
import Foundation

/// Leases and the history of a fleet on PostgreSQL: checkouts of many daemons beside a queue in plain SQL, the cost of the
/// store for a request, and statistics over a million journal entries.
enum FleetBench {
  private static let accounts = 100
  /// Clients of each daemon.
  private static let clients = 8
  private static let rows = 1_000_000

  /// Measures and prints; false if a limit is exceeded.
  static func run(_ settings: Settings) async throws -> Bool {
    say(machine())
    let server = try Database()
    defer { server.stop() }
    try await measureCheckouts(server, settings)
    let costs = try measureRequests(server, settings)
    let seconds = try await measureStatistics(server)
    return costs && seconds <= 1
  }

  // MARK: Checkouts

  private static func measureCheckouts(_ server: Database, _ settings: Settings) async throws {
    let address = try FleetAddress(server.url, variables: [:])
    let database = try FleetDatabase(try address.connect(), host: host(0), key: nil)
    try database.createPool(PoolSettings(name: "accounts"))
    let names = (0..<accounts).map { PoolResource(name: "account-\($0)") }
    _ = try database.importResources(names, into: "accounts")
    say(
      "\nCheckouts and returns a second of \(accounts) accounts, \(clients) clients a daemon; in brackets, plain SQL:")
    say("FOR UPDATE SKIP LOCKED on a connection of each client, without order, owners, fences or notifications\n")
    var first = 0.0
    for count in [1, 8, 64] {
      let books = try (0..<count).map { try LeaseBook(address, host: host($0), key: nil) { _ in } }
      for book in books { book.start { _ in false } }
      let (rate, longest) = try await load(books, seconds: Double(settings.seconds))
      for book in books { await book.stop() }
      let plain = try await plain(address, connections: min(count * clients, 200), seconds: Double(settings.seconds))
      if count == 1 { first = rate }
      say(
        String(
          format: "%3d daemons: %7.0f a second (%.2f times one daemon's), longest wait %.3f s  [%7.0f; ratio %.2f]",
          count, rate, rate / first, longest, plain, rate / plain))
    }
  }

  private static func host(_ number: Int) -> FleetHost {
    FleetHost(id: "host-\(number)", instance: UUID().uuidString, name: "host-\(number)", version: "1")
  }

  private static func load(_ books: [LeaseBook], seconds: Double) async throws -> (rate: Double, longest: Double) {
    let started = ContinuousClock.now
    let end = started + .seconds(seconds)
    let (count, longest) = try await withThrowingTaskGroup(of: (Int, Double).self) { group in
      for index in 0..<books.count * clients {
        let book = books[index % books.count]
        group.addTask {
          var count = 0
          var longest = 0.0
          while .now < end {
            let asked = ContinuousClock.now
            let lease = try await book.checkOut(
              LeaseRequest(resources: ["a": ResourceQuery(pool: "accounts")], waitSeconds: 60))
            longest = max(longest, (ContinuousClock.now - asked) / .seconds(1))
            book.end(lease.id)
            count += 1
          }
          return (count, longest)
        }
      }
      return try await group.reduce((0, 0.0)) { ($0.0 + $1.0, max($0.1, $1.1)) }
    }
    return (Double(count) / ((ContinuousClock.now - started) / .seconds(1)), longest)
  }

  /// What many teams write by hand.
  private static func plain(_ address: FleetAddress, connections: Int, seconds: Double) async throws -> Double {
    let setUp = try address.connect()
    try setUp.execute(
      """
      DROP TABLE IF EXISTS plain; CREATE TABLE plain (id INT PRIMARY KEY, taken BOOLEAN NOT NULL);
      INSERT INTO plain SELECT i, false FROM generate_series(1, \(accounts)) AS i
      """)
    let started = ContinuousClock.now
    let end = started + .seconds(seconds)
    let total = Guarded(0)
    let running = Monitor(connections)
    for _ in 0..<connections {
      Thread.detachNewThread {
        defer { running.withLock { $0 -= 1 } }
        guard let connection = try? address.connect() else { return }
        while .now < end {
          let row = try? connection.query(
            """
            UPDATE plain SET taken = true WHERE id = (SELECT id FROM plain WHERE NOT taken LIMIT 1 FOR UPDATE SKIP LOCKED)
            RETURNING id
            """
          ).first
          guard let id = row?.integer(0) else { continue }
          _ = try? connection.query("UPDATE plain SET taken = false WHERE id = \(id)")
          total.withLock { $0 += 1 }
        }
      }
    }
    await running.waitIgnoringCancellation { $0 == 0 }
    return Double(total.withLock { $0 }) / ((ContinuousClock.now - started) / .seconds(1))
  }

  // MARK: Requests

  /// - Returns: whether the store costs next to nothing.
  private static func measureRequests(_ server: Database, _ settings: Settings) throws -> Bool {
    let scratch = try Scratch(in: URL(fileURLWithPath: "/tmp"))
    defer { scratch.remove() }
    let cassette = try writeCassette(of: 10, in: scratch)
    let script = try Load.writeScript(cyclingThrough: 10, in: scratch)
    let configuration = scratch.file("config.json")
    try Data(#"{"historyDays": 0}"#.utf8).write(to: configuration)
    let kinds = [
      ("without a history", ["--config", configuration.path]), ("SQLite", []), ("PostgreSQL", ["--store", server.url]),
    ]
    var servers: [Server] = []
    var daemons: [DaemonProcess] = []
    defer { for daemon in daemons { daemon.stop() } }
    for (index, (_, options)) in kinds.enumerated() {
      let low = 33_000 + index * 1000
      let daemon = try DaemonProcess(
        settings.diorama, state: scratch.file("state-\(index)"), ports: "\(low)-\(low + 999)", options: options)
      daemons.append(daemon)
      let connection = try PlainConnection(port: daemon.control)
      let environment = try JSONDecoder().decode(
        ProvisionedEnvironment.self, from: Data(try DaemonBench.post(connection, daemon, cassette)))
      servers.append(
        Server(
          origin: environment.endpoints["api"] ?? "", workers: [daemon.id], process: Process(), input: nil))
    }
    let load = Load(script: script, connections: 32, seconds: settings.seconds)
    for server in servers { load.warm(server) }
    var samples = kinds.map { _ in [Sample]() }
    for _ in 0..<max(settings.rounds, 3) {
      for (index, server) in servers.enumerated() { samples[index].append(try load.run(against: server)) }
    }
    say("\nRequests through an environment of a daemon, 32 connections, medians of \(samples[0].count) rounds\n")
    let medians = samples.map(Sample.median)
    for (kind, sample) in zip(kinds, medians) {
      say(
        String(
          format: "%@%8.0f a second, median %5.0f µs, 99 %% %6.0f µs; %.2f times the first",
          kind.0.padding(toLength: 20, withPad: " ", startingAt: 0), sample.rate, sample.median, sample.slowest,
          sample.rate / medians[0].rate))
    }
    let least = min(medians[1].rate, medians[2].rate) / medians[0].rate
    say(
      String(format: "with a history: %.2f times the rate, at least 0.9: %@", least, least >= 0.9 ? "kept" : "BROKEN"))
    return least >= 0.9
  }

  // MARK: Statistics

  /// - Returns: how many seconds the statistics took.
  private static func measureStatistics(_ server: Database) async throws -> Double {
    let address = try FleetAddress(server.url, variables: [:])
    let connection = try address.connect()
    let today = Int(Date().timeIntervalSince1970) / 86_400
    for day in today - 6...today {
      for table in ["runs", "entries"] {
        try connection.execute(
          "CREATE TABLE IF NOT EXISTS diorama_\(table)_\(day) PARTITION OF diorama_\(table) FOR VALUES FROM (\(day)) TO (\(day + 1))"
        )
      }
    }
    // Twenty thousand runs of four hundred tests, with fifty entries each.
    let runs = rows / 50
    try connection.execute(
      """
      INSERT INTO diorama_runs (id, day, host, host_name, name, mode, cassette, recorded_at, started_at, ended_at, ok,
        duration, requests, interactions, unused, detail)
      SELECT 'bench-' || i, \(today) - i % 7, 'host-' || i % 40, 'host-' || i % 40, 'Suite/test ' || i % 400, 'replay',
        '/ci/' || i % 400 || '.har', '2018-10-08T09:00:00Z', i, i + 1000000, CASE WHEN i % 997 = 0 THEN 0 ELSE 1 END,
        1000000 + i % 5000000, 50, 60, '[' || i % 60 || ']', '{"misses":[],"failures":[],"contract":[]}'
      FROM generate_series(1, \(runs)) AS i;
      INSERT INTO diorama_entries (run, day, number, at, kind, method, url, status)
      SELECT 'bench-' || i / 50 + 1, \(today) - (i / 50 + 1) % 7, i % 50 + 1, i, 'replayed', 'GET',
        'https://api.example.com/items/' || i, 200
      FROM generate_series(0, \(rows) - 1) AS i;
      ANALYZE
      """)
    let history = FleetHistory(address, host: host(0), days: 30) { _ in }
    _ = try await history.statistics(days: 7)
    let started = ContinuousClock.now
    let stats = try await history.statistics(days: 7)
    let seconds = (ContinuousClock.now - started) / .seconds(1)
    await history.stop()
    say(
      String(
        format: "\nfleet stats over %d runs with %d journal entries: %.3f s, at most 1: %@ (%d flaky tests found)",
        stats.runs, rows, seconds, seconds <= 1 ? "kept" : "BROKEN", stats.flaky.count))
    return seconds
  }
}

/// A PostgreSQL server of this run's own.
private final class Database {
  let url: String
  private let process = Process()
  private let input = Pipe()

  init() throws {
    let output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", "Tests/Acceptance/postgresql.py"]
    process.standardInput = input
    process.standardOutput = output
    try process.run()
    guard let line = output.fileHandleForReading.line(withPrefix: "store ") else {
      throw CodedError(.inputOutput, "PostgreSQL did not start; install it with Config/bootstrap test")
    }
    url = String(line.dropFirst("store ".count))
  }

  func stop() {
    try? input.fileHandleForWriting.close()
    process.waitUntilExit()
  }
}
