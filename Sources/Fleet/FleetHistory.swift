package import Basics
package import ControlAPI
import Databases
import Dispatch
package import Foundation

/// Events waiting to be written to the fleet's history, oldest first.
struct FleetEvents {
  /// What happened, at a time of this host's clock.
  enum Event {
    indirect case began(FleetRun, Date)
    case entries(of: String, day: Int, [JournalPage.Entry])
    indirect case ended(FleetRun, Date)

    /// Each journal entry counts as one, and so do the beginning and the end of a run.
    var count: Int { if case .entries(_, _, let entries) = self { entries.count } else { 1 } }

    /// Removes the oldest entries.
    ///
    /// - Returns: the removed entries; nil, with nothing removed, if there are no others.
    fileprivate mutating func removeFirst(_ number: Int) -> Event? {
      guard case .entries(let run, let day, let entries) = self, number < entries.count else { return nil }
      self = .entries(of: run, day: day, Array(entries.dropFirst(number)))
      return .entries(of: run, day: day, Array(entries.prefix(number)))
    }
  }

  private var events: [Event] = []
  private(set) var count = 0

  var isEmpty: Bool { events.isEmpty }

  mutating func append(_ event: Event) {
    events.append(event)
    count += event.count
  }

  /// Removes and returns the oldest events, `limit` at most.
  mutating func take(_ limit: Int) -> [Event] {
    var (left, whole, taken) = (limit, 0, [Event]())
    while left > 0, whole < events.count {
      if let part = events[whole].removeFirst(left) {
        taken.append(part)
        left = 0
      } else {
        taken.append(events[whole])
        left -= events[whole].count
        whole += 1
      }
    }
    events.removeFirst(whole)
    count -= limit - left
    if events.isEmpty { events = [] }
    return taken
  }

  /// Puts back events that were taken but not written.
  mutating func putBack(_ taken: [Event]) {
    events.insert(contentsOf: taken, at: 0)
    count += taken.reduce(0) { $0 + $1.count }
  }

  /// If more than `limit` events are waiting, removes the oldest ones and a further quarter of `limit`, so that this rarely
  /// happens. Removes beginnings and ends of runs only if there are too few entries.
  ///
  /// - Returns: the removed events.
  mutating func trim(to limit: Int) -> [Event] {
    guard count > limit else { return [] }
    var (excess, removed, kept) = (count - limit + limit / 4, [Event](), [Event]())
    for var event in events {
      guard excess > 0, case .entries = event else {
        kept.append(event)
        continue
      }
      if let part = event.removeFirst(excess) {
        removed.append(part)
        kept.append(event)
      } else {
        removed.append(event)
      }
      excess -= removed.last?.count ?? 0
    }
    count -= removed.reduce(0) { $0 + $1.count }
    events = kept
    return count > limit ? removed + take(count - limit + limit / 4) : removed
  }
}

/// Writes what happens in the environments of a host into the fleet's database, and reads what happened on all hosts.
///
/// Writing never blocks: batches are sent in the background, at most 5,000 events a second. If events arrive faster, or the
/// database is slow or unreachable, up to ``limit`` of them wait; beyond that, the oldest are dropped and counted.
///
/// ```swift
/// let history = FleetHistory(address, host: host, days: 30) { reason in … }
/// history.began(run)
/// history.add(entries, of: run.id)
/// history.ended(run)
/// await history.stop()
/// ```
package final class FleetHistory: Sendable {
  /// How many events can wait. They take about ten megabytes.
  package static let limit = 50_000
  private static let interval = DispatchTimeInterval.milliseconds(300)
  /// How many events are written, so that a load test doesn't keep the database busy.
  private static let perSecond = 5_000.0
  /// Events of one write.
  private static let batch = 1_500

  private struct State {
    var waiting = FleetEvents()
    var isScheduled = false
    var dropped = 0
    /// Those that have not been reported yet.
    var newlyDropped = 0
    var nextReport = ContinuousClock.now
    /// The days on which running environments have started.
    var days: [String: Int] = [:]
    /// The ids of the restored environments, until the others have been noted as lost.
    var restored: [String]?
    var isStopped = false

    var isIdle: Bool { waiting.isEmpty && restored == nil }

    /// - Returns: whether writing has to be scheduled.
    mutating func schedule() -> Bool {
      defer { isScheduled = true }
      return !isScheduled
    }

    mutating func drop(_ events: [FleetEvents.Event]) {
      for event in events {
        dropped += event.count
        newlyDropped += event.count
        if case .ended(let run, _) = event { days[run.id] = nil }
      }
    }
  }

  private let address: FleetAddress
  private let host: FleetHost
  private let days: Int
  private let limit: Int
  private let log: @Sendable (String) -> Void
  private let state = Guarded(State())
  private let queue = DispatchQueue(label: "diorama.history")
  /// Only for `queue`.
  private let store = Guarded(Store())

  private struct Store {
    var connection: (any SQLConnection)?
    var partitions: Set<Int> = []
    var nextCleanUp = ContinuousClock.now
    /// How many events may be written at `refilled`.
    var allowance = Double(FleetHistory.batch)
    var refilled = ContinuousClock.now
    /// Whether the last write has failed.
    var isFailing = false
  }

  /// - Parameters:
  ///   - address: the database, whose tables exist.
  ///   - host: this host.
  ///   - days: after how many days runs are deleted.
  ///   - limit: how many events may wait.
  ///   - log: gets one line for each problem.
  package init(
    _ address: FleetAddress, host: FleetHost, days: Int, limit: Int = FleetHistory.limit,
    log: @escaping @Sendable (String) -> Void
  ) {
    self.address = address
    self.host = host
    self.days = days
    self.limit = limit
    self.log = log
  }

  /// How many events were dropped.
  package var dropped: Int { state.withLock { $0.dropped } }

  // MARK: Writing

  /// Notes that a run has begun.
  package func began(_ run: FleetRun, at now: Date = .now) {
    state.withLock { $0.days[run.id] = Self.day(now) }
    add(.began(run, now))
  }

  /// Notes what has happened in a run.
  package func add(_ entries: [JournalPage.Entry], of run: String) {
    guard !entries.isEmpty, let day = state.withLock({ $0.days[run] }) else { return }
    add(.entries(of: run, day: day, entries))
  }

  /// Notes that a run has ended.
  package func ended(_ run: FleetRun, at now: Date = .now) { add(.ended(run, now)) }

  private func add(_ event: FleetEvents.Event) {
    let (isFirst, dropped) = state.withLock { state -> (Bool, [FleetEvents.Event]) in
      guard !state.isStopped else { return (false, []) }
      state.waiting.append(event)
      let dropped = state.waiting.trim(to: limit)
      state.drop(dropped)
      return (state.schedule(), dropped)
    }
    // Freed here, and not under the lock.
    _ = consume dropped
    if isFirst { writeLater(after: Self.interval) }
  }

  /// Writes a batch, and more for as long as events are waiting.
  private func writeLater(after delay: DispatchTimeInterval) {
    queue.asyncAfter(deadline: .now() + delay) {
      guard !self.state.withLock({ $0.isStopped }) else { return }
      let outcome = self.write()
      self.reportDropped()
      let isMore = self.state.withLock { state in
        state.isScheduled = (!state.isIdle || state.newlyDropped > 0) && !state.isStopped
        return state.isScheduled
      }
      if isMore { self.writeLater(after: outcome == .written ? Self.interval : .seconds(2)) }
    }
  }

  /// Writes the waiting events and stops. Starts no further write after five seconds.
  package func stop() async {
    state.withLock { $0.isStopped = true }
    let deadline = ContinuousClock.now + .seconds(5)
    await withUnsafeContinuation { continuation in
      queue.async {
        self.writeAll(until: deadline)
        self.reportDropped()
        let left = self.state.withLock { state in
          let left = state.waiting.take(.max).reduce(0) { $0 + $1.count }
          state.dropped += left
          return left
        }
        if left > 0 { self.log("the history of this host lacks its last \(left) events") }
        self.store.withLock { $0.connection = nil }
        continuation.resume()
      }
    }
  }

  /// Returns once all waiting events have been written, or could not be.
  package func flush() async {
    await withUnsafeContinuation { continuation in
      queue.async {
        self.writeAll(until: .now + .seconds(60))
        continuation.resume()
      }
    }
  }

  /// On `queue`.
  private func writeAll(until deadline: ContinuousClock.Instant) {
    while !state.withLock({ $0.isIdle }), .now < deadline, write(isLimited: false) != .unreachable {}
  }

  /// Logs how many events were dropped, at most twice a minute and at the end.
  private func reportDropped() {
    let dropped = state.withLock { state in
      guard state.newlyDropped > 0, state.nextReport <= .now || state.isStopped else { return 0 }
      defer { state.newlyDropped = 0 }
      state.nextReport = .now + .seconds(30)
      return state.newlyDropped
    }
    guard dropped > 0 else { return }
    log(
      "dropped \(dropped) events of the history: they came faster than 5,000 a second for too long, or the fleet's database did not accept them"
    )
  }

  private enum Outcome { case written, dropped, unreachable }

  /// Writes up to one batch of the oldest events. On `queue`.
  ///
  /// - Parameter isLimited: whether the limit per second applies.
  /// - Returns: what happened to the events.
  @discardableResult
  private func write(isLimited: Bool = true) -> Outcome {
    let events = store.withLock { store in
      let now = ContinuousClock.now
      let refill = Self.perSecond * ((now - store.refilled) / .seconds(1))
      (store.allowance, store.refilled) = (min(store.allowance + refill, Double(Self.batch)), now)
      let events = state.withLock { $0.waiting.take(isLimited ? Int(store.allowance) : Self.batch) }
      store.allowance = max(store.allowance - Double(events.reduce(0) { $0 + $1.count }), 0)
      return events
    }
    guard !events.isEmpty || state.withLock({ $0.restored != nil }) else { return .written }
    do {
      try store.withLock { store throws(CodedError) in
        do throws(CodedError) { try send(events, try open(&store), &store) } catch {
          guard error.kind != .noUpstream else { throw error }
          // Another host may have dropped the tables of a day.
          store.partitions = []
          try send(events, try open(&store), &store)
        }
        store.isFailing = false
      }
      for case .ended(let run, _) in events { state.withLock { $0.days[run.id] = nil } }
      return .written
    } catch {
      let isAway = error.kind == .noUpstream
      let isNew = store.withLock { store in
        defer { store.isFailing = true }
        if isAway { store.connection = nil }
        store.partitions = []
        return !store.isFailing
      }
      if isNew { log("the history cannot be written: \(error.message)") }
      let dropped = state.withLock { state in
        if isAway { state.waiting.putBack(events) } else { state.restored = nil }
        let dropped = isAway ? state.waiting.trim(to: limit) : events
        state.drop(dropped)
        return dropped
      }
      // Freed here, and not under the lock.
      _ = consume dropped
      return isAway ? .unreachable : .dropped
    }
  }

  private func open(_ store: inout Store) throws(CodedError) -> any SQLConnection {
    let connection: any SQLConnection
    if let open = store.connection {
      connection = open
    } else {
      connection = try address.connect()
      // The tables are made by the leases' connection.
      try FleetSchema.check(connection)
    }
    if let restored = state.withLock({ $0.restored }) {
      try forgetOthers(than: restored, connection)
      state.withLock { $0.restored = nil }
    }
    store.connection = connection
    return connection
  }

  private func send(_ events: [FleetEvents.Event], _ connection: any SQLConnection, _ store: inout Store)
    throws(CodedError)
  {
    guard !events.isEmpty else { return }
    // The clock of the database counts; those of hosts differ.
    let now = try connection.query("SELECT \(connection.dialect.now)").first?.integer(0) ?? 0
    let offset = now - Self.microseconds(Date())
    let started = state.withLock { $0.days }
    var entries: [(run: String, day: Int, entry: JournalPage.Entry)] = []
    var runs: [(run: FleetRun, day: Int, isOver: Bool, at: Int)] = []
    for event in events {
      switch event {
      case .began(let run, let date):
        runs.append((run, started[run.id] ?? Self.day(date), false, Self.microseconds(date) + offset))
      case .ended(let run, let date):
        runs.append((run, started[run.id] ?? Self.day(date), true, Self.microseconds(date) + offset))
      case .entries(let run, let day, let added):
        let day = started[run] ?? day
        entries += added.map { (run, day, $0) }
      }
    }
    for day in Set(runs.map(\.day) + entries.map(\.day)).sorted() { try makePartitions(day, connection, &store) }
    if store.nextCleanUp <= .now {
      store.nextCleanUp = .now + .seconds(3600)
      do throws(CodedError) { try removeOld(before: Self.day(microseconds: now) - days, connection, &store) } catch {
        guard error.kind != .noUpstream else { throw error }
        log("old parts of the history cannot be deleted: \(error.message)")
      }
    }
    try connection.transaction { () throws(CodedError) in
      for (run, day, isOver, time) in runs { try write(run, day: day, isOver: isOver, at: time, connection) }
      for part in entries.chunks(of: 500) {
        let rows = part.indices.map { index in "(" + (1...9).map { "$\(index * 9 + $0)" }.joined(separator: ",") + ")" }
        let values = part.flatMap { run, day, entry -> [SQLValue] in
          [
            .text(run), .integer(day), .integer(entry.number),
            .integer((RFC3339.parse(entry.time).map(Self.microseconds) ?? 0) + offset), .text(entry.kind),
            .text(entry.method), .text(String(entry.url.prefix(2000))), .integer(entry.status),
            // Misses are described by the values that differ.
            SQLValue(
              ["failed", "left", "faulted"].contains(entry.kind) ? entry.detail.map { String($0.prefix(500)) } : nil),
          ]
        }
        try connection.query(
          """
          INSERT INTO diorama_entries (run, day, number, at, kind, method, url, status, detail)
          VALUES \(rows.joined(separator: ",")) ON CONFLICT DO NOTHING
          """, values)
      }
    }
  }

  private func write(
    _ run: FleetRun, day: Int, isOver: Bool, at time: Int, _ connection: any SQLConnection
  ) throws(CodedError) {
    let unused = run.unused.flatMap { try? JSONEncoder().encode($0) }.map { String(decoding: $0, as: UTF8.self) }
    let detail = Detail(misses: run.misses, failures: run.failures, contract: run.contract, resources: run.resources)
    let text = (try? JSONEncoder().encode(detail)).map { String(decoding: $0, as: UTF8.self) }
    let seconds = run.seconds.map { Int($0 * 1e6) }
    try connection.query(
      """
      INSERT INTO diorama_runs (id, day, host, host_name, name, mode, cassette, recorded_at, started_at, ended_at, ok,
        duration, requests, interactions, unused, detail, has_drift)
      VALUES ($1, \(day), $2, $3, $4, $5, $6, $7, \(time - (isOver ? seconds ?? 0 : 0)), \(isOver ? "\(time)" : "NULL"),
        $8, $9, $10, $11, $12, $13, $14)
      ON CONFLICT (id, day) DO UPDATE SET mode = excluded.mode, recorded_at = excluded.recorded_at,
        ended_at = excluded.ended_at, ok = excluded.ok, duration = excluded.duration, requests = excluded.requests,
        interactions = excluded.interactions, unused = excluded.unused, detail = excluded.detail,
        has_drift = excluded.has_drift
      WHERE excluded.ended_at IS NOT NULL
      """, .text(run.id), .text(host.id), .text(host.name), .text(run.name), .text(run.mode), SQLValue(run.cassette),
      SQLValue(run.recordedAt), SQLValue(run.ok.map { $0 ? 1 : 0 }), SQLValue(seconds), SQLValue(run.requests),
      SQLValue(run.interactions), SQLValue(unused), SQLValue(text), .integer(run.contract.isEmpty ? 0 : 1))
  }

  /// What is stored of a run as JSON.
  private struct Detail: Codable {
    var misses: [FleetRun.Miss]
    var failures: [String]
    var contract: [String]
    var resources: [String]?
  }

  /// Makes the tables of a day.
  private func makePartitions(
    _ day: Int, _ connection: any SQLConnection, _ store: inout Store
  ) throws(CodedError) {
    guard connection.dialect == .postgreSQL, !store.partitions.contains(day) else { return }
    try connection.transaction(begin: connection.dialect.beginExclusively(.migration)) { () throws(CodedError) in
      for table in ["runs", "entries"] {
        try connection.execute(
          "CREATE TABLE IF NOT EXISTS diorama_\(table)_\(day) PARTITION OF diorama_\(table) FOR VALUES FROM (\(day)) TO (\(day + 1))"
        )
      }
    }
    store.partitions.insert(day)
  }

  private func removeOld(
    before day: Int, _ connection: any SQLConnection, _ store: inout Store
  ) throws(CodedError) {
    guard connection.dialect == .postgreSQL else {
      for table in ["runs", "entries"] { try connection.query("DELETE FROM diorama_\(table) WHERE day < \(day)") }
      return
    }
    try connection.transaction(begin: connection.dialect.beginExclusively(.migration)) { () throws(CodedError) in
      let tables = try connection.query(
        """
        SELECT child.relname FROM pg_inherits JOIN pg_class AS child ON child.oid = inhrelid
        WHERE inhparent IN ('diorama_runs'::regclass, 'diorama_entries'::regclass)
        """)
      for table in tables.compactMap({ $0.text(0) }) {
        guard let its = table.split(separator: "_").last.flatMap({ Int($0) }), its < day else { continue }
        try connection.execute("DROP TABLE \(table)")
      }
    }
    store.partitions = store.partitions.filter { $0 >= day }
  }

  /// Notes that environments of this host's last daemon that were not restored are lost. Call it at the start.
  ///
  /// - Parameters:
  ///   - kept: the ids of those that were restored.
  ///   - now: the time.
  package func forgetOthers(than kept: [String], at now: Date = .now) {
    let day = Self.day(now)
    let isFirst = state.withLock { state in
      for id in kept where state.days[id] == nil { state.days[id] = day }
      state.restored = kept
      return state.schedule()
    }
    if isFirst { writeLater(after: .seconds(0)) }
  }

  private func forgetOthers(than kept: [String], _ connection: any SQLConnection) throws(CodedError) {
    for row in try connection.query(
      "SELECT id, day FROM diorama_runs WHERE host = $1 AND ended_at IS NULL AND day >= \(Self.day(.now) - days)",
      .text(host.id))
    {
      guard let id = row.text(0), let day = row.integer(1) else { continue }
      let isRunning = state.withLock { state in
        if kept.contains(id) { state.days[id] = day }
        return state.days[id] != nil
      }
      guard !isRunning else { continue }
      try connection.query(
        "UPDATE diorama_runs SET ended_at = \(connection.dialect.now), ok = 0, is_lost = 1 WHERE id = $1 AND day = \(day)",
        .text(id))
    }
  }

  // MARK: Reading

  /// Calls the database on the thread of the history.
  ///
  /// - Parameter body: reads.
  /// - Returns: the result of `body`.
  /// - Throws: ``CodedError`` if the database is unreachable.
  private func read<Value: Sendable>(
    _ body: @escaping @Sendable (any SQLConnection) throws(CodedError) -> Value
  ) async throws(CodedError) -> Value {
    let result: Result<Value, CodedError> = await withUnsafeContinuation { continuation in
      queue.async { [self] in
        write()
        do throws(CodedError) {
          let value = try store.withLock { store throws(CodedError) in
            let isFresh = store.connection == nil
            do throws(CodedError) { return try body(try open(&store)) } catch {
              guard error.kind == .noUpstream else { throw error }
              store.connection = nil
              // The database may have been restarted since.
              guard !isFresh else { throw error }
            }
            return try body(try open(&store))
          }
          continuation.resume(returning: .success(value))
        } catch {
          continuation.resume(returning: .failure(error))
        }
      }
    }
    return try result.get()
  }

  private static let columns = """
    runs.id, runs.host_name, runs.name, runs.mode, runs.cassette, runs.recorded_at, runs.started_at, runs.ended_at,
    runs.ok, runs.duration, runs.requests, runs.interactions, runs.unused, runs.detail, runs.is_lost
    """

  private static func run(_ row: SQLRow) -> FleetRun {
    let detail = row.text(13).flatMap { try? JSONDecoder().decode(Detail.self, from: Data($0.utf8)) }
    return FleetRun(
      id: row.text(0) ?? "", host: row.text(1) ?? "", name: row.text(2) ?? "", mode: row.text(3) ?? "",
      cassette: row.text(4), recordedAt: row.text(5), startedAt: FleetDatabase.time(row.integer(6) ?? 0),
      endedAt: row.integer(7).map(FleetDatabase.time), ok: row.integer(8).map { $0 == 1 },
      seconds: row.integer(9).map { Double($0) / 1e6 }, requests: row.integer(10), interactions: row.integer(11),
      unused: indices(row.text(12)), misses: detail?.misses ?? [], failures: detail?.failures ?? [],
      contract: detail?.contract ?? [], resources: detail?.resources, isLost: row.integer(14) == 1 ? true : nil)
  }

  private static func indices(_ text: String?) -> [Int]? {
    text.flatMap { try? JSONDecoder().decode([Int].self, from: Data($0.utf8)) }
  }

  /// What runs now, by its start.
  package func running() async throws(CodedError) -> [FleetRun] {
    try await read { [days] connection throws(CodedError) in
      try connection.query(
        """
        SELECT \(Self.columns), hosts.ended FROM diorama_runs AS runs LEFT JOIN diorama_hosts AS hosts ON hosts.id = runs.host
        WHERE runs.ended_at IS NULL AND runs.day >= \(Self.day(Date()) - days) ORDER BY runs.started_at
        """
      ).map { row in
        var run = Self.run(row)
        if row.text(15) != nil { run.isLost = true }
        return run
      }
    }
  }

  /// What has ended, by its end.
  ///
  /// - Parameters:
  ///   - time: RFC 3339: only runs that ended later; nil for the last ones.
  ///   - limit: how many runs at most.
  /// - Returns: the runs.
  /// - Throws: ``CodedError`` if the database is unreachable.
  package func ended(after time: String?, limit: Int) async throws(CodedError) -> [FleetRun] {
    let after = time.flatMap(RFC3339.parse).map(Self.microseconds)
    // Runs have the day of their start, which may be long ago.
    let firstDay = Self.day(Date()) - days
    return try await read { connection throws(CodedError) in
      let rows = try connection.query(
        """
        SELECT \(Self.columns) FROM diorama_runs AS runs WHERE ended_at > \(after ?? 0) AND day >= \(firstDay)
        ORDER BY ended_at \(after == nil ? "DESC" : "") LIMIT \(limit)
        """)
      return (after == nil ? rows.reversed() : rows).map(Self.run)
    }
  }

  /// The run with this id; nil if it does not exist.
  package func run(_ id: String) async throws(CodedError) -> FleetRun? {
    try await read { connection throws(CodedError) in
      try connection.query("SELECT \(Self.columns) FROM diorama_runs AS runs WHERE id = $1", .text(id)).first
        .map(Self.run)
    }
  }

  /// The journal of a run.
  package func journal(of run: String, after number: Int, limit: Int) async throws(CodedError) -> FleetJournal {
    try await read { connection throws(CodedError) in
      FleetJournal(
        entries: try connection.query(
          """
          SELECT number, at, kind, method, url, status, detail FROM diorama_entries
          WHERE run = $1 AND number > \(number) ORDER BY number LIMIT \(limit)
          """, .text(run)
        ).map { row in
          .init(
            number: row.integer(0) ?? 0, time: FleetDatabase.time(row.integer(1) ?? 0), kind: row.text(2) ?? "",
            method: row.text(3) ?? "", url: row.text(4) ?? "", status: row.integer(5) ?? 0, interaction: nil,
            detail: row.text(6))
        })
    }
  }

  /// Statistics of the runs of the last days.
  ///
  /// - Parameter days: how many days.
  /// - Returns: the statistics, with at most 20 elements in each list.
  /// - Throws: ``CodedError`` if the database is unreachable.
  package func statistics(days: Int) async throws(CodedError) -> FleetStatistics {
    try await read { connection throws(CodedError) in
      let first = Self.day(Date()) - days + 1
      let recent = "FROM diorama_runs AS runs WHERE day >= \(first) AND ended_at IS NOT NULL"
      var result = FleetStatistics(days: days)
      let totals = try connection.query(
        "SELECT count(*), sum(CASE WHEN ok = 0 THEN 1 ELSE 0 END), count(DISTINCT host), sum(requests) \(recent)"
      ).first
      result.runs = totals?.integer(0) ?? 0
      result.failed = totals?.integer(1) ?? 0
      result.hosts = totals?.integer(2) ?? 0
      result.entries = totals?.integer(3) ?? 0
      for row in try connection.query(
        """
        SELECT name, recorded_at, count(*), sum(CASE WHEN ok = 0 THEN 1 ELSE 0 END),
          max(CASE WHEN ok = 0 THEN ended_at ELSE 0 END) \(recent)
          AND mode = 'replay' AND recorded_at IS NOT NULL AND is_lost = 0
        GROUP BY name, recorded_at HAVING min(ok) = 0 AND max(ok) = 1 ORDER BY 4 DESC, 1 LIMIT 20
        """)
      {
        let last = try connection.query(
          "SELECT \(Self.columns) \(recent) AND name = $1 AND ok = 0 AND ended_at = \(row.integer(4) ?? 0) LIMIT 1",
          SQLValue(row.text(0))
        ).first
        guard let last else { continue }
        result.flaky.append(
          .init(
            name: row.text(0) ?? "", recordedAt: row.text(1) ?? "", runs: row.integer(2) ?? 0,
            failed: row.integer(3) ?? 0, last: Self.run(last)))
      }
      result.slowest = try connection.query(
        """
        SELECT name, count(*), sum(duration), max(duration) \(recent) AND is_lost = 0 AND duration IS NOT NULL
        GROUP BY name ORDER BY 4 DESC LIMIT 10
        """
      ).map { row in
        let runs = row.integer(1) ?? 1
        return .init(
          name: row.text(0) ?? "", runs: runs, meanSeconds: Double(row.integer(2) ?? 0) / 1e6 / Double(max(runs, 1)),
          longestSeconds: Double(row.integer(3) ?? 0) / 1e6)
      }
      let uses = try Self.uses(connection)
      result.abandoned = Array(uses.filter { $0.lastDay < first }.map(\.cassette).prefix(20))
      result.partlyUsed = Array(
        try Self.uses(connection, since: first).map(\.cassette).filter { !$0.unused.isEmpty }.prefix(20))
      for row in try connection.query(
        "SELECT name, count(*), max(ended_at) \(recent) AND has_drift = 1 GROUP BY name ORDER BY 2 DESC, 1 LIMIT 20")
      {
        let last = try connection.query(
          "SELECT \(Self.columns) \(recent) AND name = $1 AND ended_at = \(row.integer(2) ?? 0) LIMIT 1",
          SQLValue(row.text(0))
        ).first
        result.drift.append(
          .init(
            name: row.text(0) ?? "", runs: row.integer(1) ?? 0,
            violations: Array((last.map(Self.run)?.contract ?? []).prefix(10))))
      }
      return result
    }
  }

  /// Which interactions of a recording the successful replays of the last days have used.
  ///
  /// - Parameters:
  ///   - file: the name of the cassette's file, such as `login.har`.
  ///   - recordedAt: when it was recorded.
  ///   - days: how many days.
  /// - Returns: nil if no such replay is known.
  /// - Throws: ``CodedError`` if the database is unreachable.
  package func usage(
    of file: String, recordedAt: String, days: Int
  ) async throws(CodedError) -> FleetStatistics.Cassette? {
    try await read { connection throws(CodedError) in
      try Self.uses(connection, since: Self.day(Date()) - days + 1, recordedAt: recordedAt)
        .first { ($0.cassette.cassette as NSString).lastPathComponent == file }?.cassette
    }
  }

  private static func uses(
    _ connection: any SQLConnection, since day: Int = 0, recordedAt: String? = nil
  ) throws(CodedError) -> [(cassette: FleetStatistics.Cassette, lastDay: Int)] {
    // Most runs of a recording leave the same interactions unused.
    let rows = try connection.query(
      """
      SELECT cassette, recorded_at, unused, interactions, count(*), max(ended_at), max(day) FROM diorama_runs
      WHERE day >= \(day) AND mode = 'replay' AND ok = 1 AND cassette IS NOT NULL AND recorded_at IS NOT NULL
        AND interactions IS NOT NULL \(recordedAt == nil ? "" : "AND recorded_at = $1")
      GROUP BY cassette, recorded_at, unused, interactions ORDER BY 6
      """, recordedAt.map { [.text($0)] } ?? [])
    var order: [String] = []
    var known: [String: (cassette: FleetStatistics.Cassette, lastDay: Int)] = [:]
    for row in rows {
      guard let path = row.text(0), let recordedAt = row.text(1), let interactions = row.integer(3) else { continue }
      let unused = Set(indices(row.text(2)) ?? [])
      // Hosts have the cassette in different folders.
      let identity = "\((path as NSString).lastPathComponent)\u{0}\(recordedAt)\u{0}\(interactions)"
      let time = FleetDatabase.time(row.integer(5) ?? 0)
      if var (cassette, lastDay) = known[identity] {
        cassette.cassette = path
        cassette.runs += row.integer(4) ?? 0
        cassette.lastUsedAt = time
        cassette.unused.removeAll { !unused.contains($0) }
        lastDay = max(lastDay, row.integer(6) ?? 0)
        known[identity] = (cassette, lastDay)
      } else {
        order.append(identity)
        known[identity] = (
          .init(
            cassette: path, recordedAt: recordedAt, lastUsedAt: time, runs: row.integer(4) ?? 0,
            interactions: interactions, unused: unused.sorted()), row.integer(6) ?? 0
        )
      }
    }
    return order.compactMap { known[$0] }
  }

  // MARK: Times

  private static func microseconds(_ date: Date) -> Int { Int((date.timeIntervalSince1970 * 1e6).rounded()) }
  private static func day(_ date: Date) -> Int { day(microseconds: microseconds(date)) }
  private static func day(microseconds: Int) -> Int { microseconds / 86_400_000_000 }
}
