import Basics
import Databases

/// The tables of a fleet's database, as a list of migrations.
///
/// A released migration never changes; append a new one. All times are microseconds since 1970 by the database's clock.
enum FleetSchema {
  /// What each migration does.
  static func steps(_ dialect: SQLDialect) -> [String] {
    [
      """
      CREATE TABLE diorama_fleet (one BIGINT PRIMARY KEY, beat_at BIGINT NOT NULL, calm_until BIGINT NOT NULL,
        highest_fence BIGINT NOT NULL, highest_version BIGINT NOT NULL, key_id TEXT
      );
      INSERT INTO diorama_fleet VALUES (1, 0, 0, 0, 0, NULL);
      CREATE TABLE diorama_hosts (
        id TEXT PRIMARY KEY, instance TEXT NOT NULL, name TEXT NOT NULL, version TEXT NOT NULL,
        started_at BIGINT NOT NULL, beat_at BIGINT NOT NULL, expires_at BIGINT NOT NULL, ended TEXT
      );
      CREATE TABLE diorama_pools (
        name TEXT PRIMARY KEY, version BIGINT NOT NULL, is_cleaned BIGINT NOT NULL, maximum_failures BIGINT NOT NULL,
        created_at BIGINT NOT NULL
      );
      CREATE TABLE diorama_resources (
        id \(dialect.counter), pool TEXT NOT NULL, name TEXT NOT NULL, attributes TEXT NOT NULL,
        secrets \(dialect.bytes), state TEXT NOT NULL, is_retired BIGINT NOT NULL DEFAULT 0, lease TEXT, label TEXT,
        host TEXT, fence BIGINT NOT NULL DEFAULT 0, failures BIGINT NOT NULL DEFAULT 0, reason TEXT,
        retry_at BIGINT NOT NULL DEFAULT 0, changed_at BIGINT NOT NULL, UNIQUE (pool, name)
      );
      CREATE INDEX diorama_resources_by_state ON diorama_resources (pool, state);
      CREATE INDEX diorama_resources_by_lease ON diorama_resources (lease);
      CREATE TABLE diorama_leases (
        ticket \(dialect.counter), id TEXT NOT NULL UNIQUE, host TEXT NOT NULL, environment TEXT, owner TEXT,
        state TEXT NOT NULL, request TEXT NOT NULL, asked_at BIGINT NOT NULL, granted_at BIGINT, ttl BIGINT,
        ends_at BIGINT
      );
      CREATE INDEX diorama_leases_by_state ON diorama_leases (state, ticket);
      CREATE INDEX diorama_leases_by_host ON diorama_leases (host);
      """,
      // Days are counted from 1970. In PostgreSQL each day has tables of its own, which FleetHistory makes and drops.
      """
      CREATE TABLE diorama_runs (
        id TEXT NOT NULL, day BIGINT NOT NULL, host TEXT NOT NULL, host_name TEXT NOT NULL, name TEXT NOT NULL,
        mode TEXT NOT NULL, cassette TEXT, recorded_at TEXT, started_at BIGINT NOT NULL, ended_at BIGINT, ok BIGINT,
        duration BIGINT, requests BIGINT, interactions BIGINT, unused TEXT, detail TEXT,
        has_drift BIGINT NOT NULL DEFAULT 0, is_lost BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (id, day)
      ) \(dialect == .postgreSQL ? "PARTITION BY RANGE (day)" : "");
      CREATE INDEX diorama_runs_by_end ON diorama_runs (ended_at);
      CREATE INDEX diorama_runs_by_name ON diorama_runs (name);
      CREATE TABLE diorama_entries (
        run TEXT NOT NULL, day BIGINT NOT NULL, number BIGINT NOT NULL, at BIGINT NOT NULL, kind TEXT NOT NULL,
        method TEXT NOT NULL, url TEXT NOT NULL, status BIGINT NOT NULL, detail TEXT, PRIMARY KEY (run, number, day)
      ) \(dialect == .postgreSQL ? "PARTITION BY RANGE (day)" : "");
      """,
    ]
  }

  /// Creates or updates the tables.
  ///
  /// - Parameter connection: the database.
  /// - Throws: ``CodedError`` of kind `broken` if a newer version has made the tables; nothing has changed then.
  static func migrate(_ connection: any SQLConnection) throws(CodedError) {
    let steps = steps(connection.dialect)
    try connection.transaction(begin: connection.dialect.beginExclusively(.migration)) { () throws(CodedError) in
      try connection.execute("CREATE TABLE IF NOT EXISTS diorama_schema (version BIGINT NOT NULL)")
      let version = try connection.query("SELECT version FROM diorama_schema").first?.integer(0)
      guard version ?? 0 <= steps.count else {
        throw CodedError(
          .broken,
          "the fleet's database has schema version \(version ?? 0), but this diorama supports versions up to "
            + "\(steps.count); use the diorama version of the other hosts, or another database with --store")
      }
      guard version != steps.count else { return }
      for step in steps.dropFirst(version ?? 0) { try connection.execute(step) }
      if version == nil { try connection.execute("INSERT INTO diorama_schema VALUES (0)") }
      try connection.execute("UPDATE diorama_schema SET version = \(steps.count)")
    }
  }
}

extension FleetSchema {
  /// Checks that the tables are of this version.
  ///
  /// - Throws: ``CodedError`` of kind `noUpstream` if they have not been made yet, `broken` if a newer version has changed
  ///   them.
  static func check(_ connection: any SQLConnection) throws(CodedError) {
    let version: Int?
    do { version = try connection.query("SELECT version FROM diorama_schema").first?.integer(0) } catch {
      guard error.kind != .noUpstream else { throw error }
      throw CodedError(.noUpstream, "the fleet's database has no tables yet")
    }
    let known = steps(connection.dialect).count
    guard version != known else { return }
    throw CodedError(
      version ?? 0 > known ? .broken : .noUpstream,
      "the fleet's database has schema version \(version ?? 0), not \(known); use the diorama version of the other hosts"
    )
  }
}

extension SQLDialect {
  /// What only one transaction does at a time.
  enum Work: Int {
    case migration = 1
    case leases = 2
  }

  /// Begins a transaction that no other one of the same work overlaps.
  ///
  /// The lock belongs to the transaction, not to the session, so poolers may share sessions. If this host disappears in
  /// the middle, the server ends the transaction. Bitmap scans are off because rows change all the time: a
  /// plain index scan also marks the entries of dead rows, which later scans skip.
  func beginExclusively(_ work: Work) -> String {
    switch self {
    case .sqlite: "BEGIN IMMEDIATE"
    case .postgreSQL:
      """
      BEGIN; SET LOCAL lock_timeout = '20s'; SET LOCAL idle_in_transaction_session_timeout = '10s';
      SET LOCAL enable_bitmapscan = off;
      SELECT pg_advisory_xact_lock(\(0x6469_6F72), \(work.rawValue))
      """
    }
  }
}
