/// The tables, as a list of steps from nothing to what this version uses.
///
/// A database's `user_version` is the number of steps that have been made. A step is never changed once it has been
/// released: another one follows.
struct StoreSchema: Sendable {
  var steps: [String]

  static let current = StoreSchema(steps: [
    """
    CREATE TABLE environments (id TEXT PRIMARY KEY NOT NULL, document BLOB NOT NULL);
    CREATE TABLE leases (port INTEGER PRIMARY KEY, document BLOB NOT NULL);
    CREATE TABLE journal (
      environment TEXT NOT NULL, number INTEGER NOT NULL, document BLOB NOT NULL, PRIMARY KEY (environment, number)
    ) WITHOUT ROWID;
    """,
    "CREATE TABLE traffic (environment TEXT PRIMARY KEY NOT NULL, document BLOB NOT NULL) WITHOUT ROWID;",
    "CREATE TABLE commits (count INTEGER NOT NULL); INSERT INTO commits VALUES (0);",
  ])

  /// The first version that counts its commits.
  static let counting = 3

  var version: Int { steps.count }

  /// Refuses what a later version has written, or somebody else.
  func check(_ version: Int, of path: String) throws(StoreError) {
    guard version <= self.version else {
      throw StoreError(
        "the daemon's state '\(path)' has schema version \(version), and this diorama knows versions up to "
          + "\(self.version); use the newer diorama that wrote it, or choose another folder with --state",
        kind: .newer(version: version))
    }
    guard version >= 0 else { throw notOurs(path) }
  }

  /// Looks at a database before anything is written to it.
  ///
  /// - Parameter connection: the database.
  /// - Returns: its version.
  /// - Throws: ``StoreError`` when it is not one for this version.
  func check(_ connection: SQLiteConnection) throws(StoreError) -> Int {
    let version = Int(try connection.text("PRAGMA user_version") ?? "") ?? 0
    try check(version, of: connection.path)
    if version == 0, try connection.text("SELECT name FROM sqlite_schema LIMIT 1") != nil {
      throw notOurs(connection.path)
    }
    return version
  }

  /// Makes the steps that are missing, each whole or not at all.
  func migrate(_ connection: SQLiteConnection, from version: Int) throws(StoreError) {
    for (index, step) in steps.enumerated().dropFirst(version) {
      try connection.transaction { () throws(StoreError) in
        try connection.execute(step)
        try connection.execute("PRAGMA user_version = \(index + 1)")
      }
    }
  }

  private func notOurs(_ path: String) -> StoreError {
    StoreError(
      "'\(path)' is a database of another program; move it away or choose another folder with --state", kind: .corrupt)
  }
}
