package import Basics
package import ControlAPI
import Databases
import Foundation

// Pools and their resources.
extension FleetDatabase {
  /// Creates a pool.
  ///
  /// - Throws: ``CodedError`` of kind `usage` if the name is invalid or taken.
  package func createPool(_ pool: PoolSettings) throws(CodedError) {
    guard Self.isName(pool.name) else {
      throw CodedError(
        .usage, "'\(pool.name)' is not valid as the name of a pool; use up to 100 letters, digits, '.', '_' and '-'")
    }
    try exclusively { now throws(CodedError) in
      let made = try connection.query(
        """
        INSERT INTO diorama_pools (name, version, is_cleaned, maximum_failures, created_at)
        VALUES ($1, (SELECT highest_version + 1 FROM diorama_fleet), $2, $3, \(now)) ON CONFLICT (name) DO NOTHING RETURNING name
        """, .text(pool.name), .integer(pool.cleans == true ? 1 : 0), .integer(pool.maximumFailures ?? 3))
      guard !made.isEmpty else {
        throw CodedError(
          .usage, "pool '\(pool.name)' exists; add resources with: diorama pool import \(pool.name) FILE")
      }
    }
  }

  /// Letters, digits, `.`, `_` and `-`.
  private static func isName(_ name: String) -> Bool {
    1...100 ~= name.utf8.count
      && name.utf8.allSatisfy { byte in
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
          || [0x2D, 0x2E, 0x5F].contains(byte)
      }
  }

  /// Adds resources, or replaces the attributes and secrets of those that exist.
  ///
  /// - Returns: how many were added and how many replaced.
  package func importResources(
    _ resources: [PoolResource], into pool: String
  ) throws(CodedError) -> (added: Int, replaced: Int) {
    try exclusively { now throws(CodedError) in
      try bump(pool)
      // Versions of a deleted pool of this name do not come again, nor do its fences.
      let fence = try connection.query("SELECT highest_fence FROM diorama_fleet").first?.integer(0) ?? 0
      let known = Set(
        try connection.query("SELECT name FROM diorama_resources WHERE pool = $1", .text(pool)).compactMap {
          $0.text(0)
        })
      for resource in resources {
        let names = (resource.attributes ?? [:]).keys
        if names.contains("name") || names.contains(where: { resource.secrets?[$0] != nil }) {
          throw CodedError(
            .usage,
            "resource '\(resource.name)': an attribute is called name, or has the name of a secret; rename it")
        }
        var sealed = SQLValue.null
        if let secrets = resource.secrets, !secrets.isEmpty {
          guard let key else {
            throw CodedError(
              .usage,
              "resource '\(resource.name)' has secrets, but this daemon has no key to encrypt them; start it with "
                + "--store-key file:PATH")
          }
          sealed = .blob(try key.seal(secrets, for: "\(pool)/\(resource.name)"))
        }
        let attributes = (try? JSON.encode(resource.attributes ?? [:])).map { String(decoding: $0, as: UTF8.self) }
        try connection.query(
          """
          INSERT INTO diorama_resources (pool, name, attributes, secrets, state, fence, changed_at)
          VALUES ($1, $2, $3, $4, 'free', \(fence), \(now))
          ON CONFLICT (pool, name) DO UPDATE SET attributes = excluded.attributes, secrets = excluded.secrets,
            is_retired = 0
          """, .text(pool), .text(resource.name), .text(attributes ?? "{}"), sealed)
      }
      let added = resources.count { !known.contains($0.name) }
      try serveAll(at: now)
      return (added, resources.count - added)
    }
  }

  /// Marks a pool as changed.
  ///
  /// - Throws: ``CodedError`` of kind `noCassette` if there is no such pool.
  private func bump(_ pool: String) throws(CodedError) {
    let rows = try connection.query(
      "UPDATE diorama_pools SET version = version + 1 WHERE name = $1 RETURNING name", .text(pool))
    guard !rows.isEmpty else {
      throw CodedError(.noCassette, "no pool '\(pool)'; make it with: diorama pool create \(pool)")
    }
  }

  /// All pools with the number of their resources in each state.
  package func pools() throws(CodedError) -> [PoolSummary] {
    var pools: [String: PoolSummary] = [:]
    for row in try connection.query(
      """
      SELECT pools.name, pools.is_cleaned, pools.maximum_failures, resources.state, resources.is_retired,
        count(resources.id)
      FROM diorama_pools AS pools LEFT JOIN diorama_resources AS resources ON resources.pool = pools.name
      GROUP BY pools.name, pools.is_cleaned, pools.maximum_failures, resources.state, resources.is_retired
      """)
    {
      let name = row.text(0) ?? ""
      var pool =
        pools[name]
        ?? PoolSummary(name: name, cleans: row.integer(1) == 1, maximumFailures: row.integer(2) ?? 3, states: [:])
      if let state = row.text(3) {
        let isRetired = row.integer(4) == 1 && state != "leased"
        pool.states[isRetired ? "retired" : state, default: 0] += row.integer(5) ?? 0
      }
      pools[name] = pool
    }
    return pools.values.sorted { $0.name < $1.name }
  }

  /// The resources of a pool, by name, without secrets.
  ///
  /// - Throws: ``CodedError`` of kind `noCassette` if there is no such pool.
  package func resources(of pool: String) throws(CodedError) -> [PoolResource] {
    let exists = try connection.query("SELECT name FROM diorama_pools WHERE name = $1", .text(pool))
    guard !exists.isEmpty else {
      throw CodedError(.noCassette, "no pool '\(pool)'; list them with: diorama pool list")
    }
    return try connection.query(
      """
      SELECT resources.name, resources.attributes, resources.state, resources.is_retired, resources.fence,
        resources.failures, resources.reason, hosts.name, leases.environment, resources.secrets IS NULL, leases.id
      FROM diorama_resources AS resources LEFT JOIN diorama_leases AS leases ON leases.id = resources.lease
        LEFT JOIN diorama_hosts AS hosts ON hosts.id = leases.host
      WHERE resources.pool = $1 ORDER BY resources.name
      """, .text(pool)
    ).map { row in
      let state = row.text(2) ?? ""
      var resource = PoolResource(name: row.text(0) ?? "", attributes: Self.attributes(row.text(1)))
      resource.state = row.integer(3) == 1 ? (state == "leased" ? "leased, then retired" : "retired") : state
      resource.fence = row.integer(4)
      resource.failures = row.integer(5)
      resource.reason = row.text(6)
      resource.host = row.text(7)
      resource.environment = row.text(8)
      resource.lease = row.text(10)
      return resource
    }
  }

  /// Takes a resource out of use, or puts a retired or quarantined one back.
  ///
  /// - Parameters:
  ///   - resource: its name.
  ///   - pool: the pool.
  ///   - isRetired: whether it is taken out of use. One that is leased stays with its holder until the lease ends.
  /// - Throws: ``CodedError`` of kind `noCassette` if there is no such resource.
  package func change(_ resource: String, of pool: String, isRetired: Bool) throws(CodedError) {
    try exclusively { now throws(CodedError) in
      try bump(pool)
      let statement =
        isRetired
        ? "UPDATE diorama_resources SET is_retired = 1, changed_at = \(now) WHERE pool = $1 AND name = $2 RETURNING id"
        : """
        UPDATE diorama_resources SET is_retired = 0, failures = 0, reason = NULL, retry_at = 0, changed_at = \(now),
          state = CASE WHEN state <> 'quarantined' THEN state
            WHEN pool IN (SELECT name FROM diorama_pools WHERE is_cleaned = 1) THEN 'dirty' ELSE 'free' END
        WHERE pool = $1 AND name = $2 RETURNING id
        """
      guard try !connection.query(statement, .text(pool), .text(resource)).isEmpty else {
        throw CodedError(.noCassette, "no resource '\(resource)' in pool '\(pool)'; see: diorama pool show \(pool)")
      }
      if !isRetired { try serveAll(at: now) }
    }
  }

  /// Removes a pool with its resources.
  ///
  /// - Throws: ``CodedError`` of kind `usage` while resources are leased.
  package func removePool(_ pool: String) throws(CodedError) {
    try exclusively { _ throws(CodedError) in
      try bump(pool)
      let leased = try connection.query(
        "SELECT count(*) FROM diorama_resources WHERE pool = $1 AND lease IS NOT NULL", .text(pool)
      ).first?.integer(0)
      guard leased == 0 else {
        throw CodedError(
          .usage, "\(leased ?? 0) resources of pool '\(pool)' are leased; end their leases first: diorama lease list")
      }
      let highest = "SELECT coalesce(max(fence), 0) FROM diorama_resources WHERE pool = $1"
      try connection.query(
        "UPDATE diorama_fleet SET highest_fence = (\(highest)) WHERE highest_fence < (\(highest))", .text(pool))
      // Hosts keep what they have read of a pool by its version.
      let version = "SELECT version FROM diorama_pools WHERE name = $1"
      try connection.query(
        "UPDATE diorama_fleet SET highest_version = (\(version)) WHERE highest_version < (\(version))", .text(pool))
      try connection.query("DELETE FROM diorama_resources WHERE pool = $1", .text(pool))
      try connection.query("DELETE FROM diorama_pools WHERE name = $1", .text(pool))
    }
  }
}

// MARK: Cleaning

extension FleetDatabase {
  /// A resource that this host cleans.
  package struct Cleaning: Sendable, Equatable {
    package var pool: String
    package var resource: LeasedResource
  }

  /// Takes a dirty resource of one of the pools for cleaning.
  ///
  /// - Parameter pools: the pools for which this host has a clean-up command.
  /// - Returns: nil if none is dirty, or none is to be tried again yet, or its secrets cannot be decrypted, so that it was
  ///   quarantined.
  /// - Throws: ``CodedError`` if the database fails.
  package func claimDirty(of pools: [String]) throws(CodedError) -> Cleaning? {
    guard !pools.isEmpty else { return nil }
    // Without a lock, since usually no resource is dirty.
    let dirty = try connection.query(
      "SELECT 1 FROM diorama_resources WHERE state = 'dirty' AND is_retired = 0 AND pool IN \(pools.sqlPlaceholders()) LIMIT 1",
      pools.map(SQLValue.text))
    guard !dirty.isEmpty else { return nil }
    return try exclusively { now throws(CodedError) -> Cleaning? in
      let row = try connection.query(
        """
        SELECT id, pool, name, attributes, secrets, fence FROM diorama_resources
        WHERE state = 'dirty' AND is_retired = 0 AND retry_at <= \(now) AND pool IN \(pools.sqlPlaceholders())
        ORDER BY changed_at, id LIMIT 1 \(dialect.locking)
        """, pools.map(SQLValue.text)
      ).first
      guard let row, let id = row.integer(0), let pool = row.text(1), let name = row.text(2) else { return nil }
      let fence = (row.integer(5) ?? 0) + 1
      var resource = LeasedResource(pool: pool, name: name, attributes: Self.attributes(row.text(3)), fence: fence)
      do throws(CodedError) { resource.secrets = try opened(row.data(4), of: name, in: pool) } catch {
        // Another one may be cleaned.
        try connection.query(
          "UPDATE diorama_resources SET state = 'quarantined', reason = $1, changed_at = \(now) WHERE id = \(id)",
          .text(error.message))
        try bump(pool)
        return nil
      }
      try connection.query(
        "UPDATE diorama_resources SET state = 'cleaning', host = $1, fence = \(fence), changed_at = \(now) WHERE id = \(id)",
        .text(hostID))
      return Cleaning(pool: pool, resource: resource)
    }
  }

  /// Records the result of cleaning.
  ///
  /// After as many failures in a row as the pool allows, the resource is quarantined; before, it is tried again after a
  /// pause that doubles each time, from one second.
  ///
  /// - Parameters:
  ///   - cleaning: the resource. If its fence has changed, another host has taken over, and nothing happens.
  ///   - failure: what went wrong; nil if it is clean.
  ///   - counts: whether the failure counts; not if the command could not be started.
  /// - Returns: whether it is quarantined now.
  /// - Throws: ``CodedError`` if the database fails.
  package func finish(_ cleaning: Cleaning, failure: String?, counts: Bool = true) throws(CodedError) -> Bool {
    try exclusively { now throws(CodedError) in
      let pool = SQLValue.text(cleaning.pool)
      let name = SQLValue.text(cleaning.resource.name)
      let place = "pool = $1 AND name = $2 AND state = 'cleaning' AND fence = \(cleaning.resource.fence)"
      guard let failure else {
        try connection.query(
          """
          UPDATE diorama_resources SET state = 'free', host = NULL, failures = 0, reason = NULL, retry_at = 0,
            changed_at = \(now) WHERE \(place)
          """, pool, name)
        try serveAll(at: now)
        return false
      }
      let rows = try connection.query("SELECT failures FROM diorama_resources WHERE \(place)", pool, name)
      guard let before = rows.first?.integer(0) else { return false }
      let failures = before + (counts ? 1 : 0)
      let limit = try connection.query("SELECT maximum_failures FROM diorama_pools WHERE name = $1", pool)
      let isQuarantined = counts && failures >= limit.first?.integer(0) ?? 3
      // 3, 12, 48 seconds: a backend that restarts does not cost a pool.
      let retry = now + 3_000_000 << min(2 * max(failures - 1, 0), 12)
      try connection.query(
        """
        UPDATE diorama_resources SET state = '\(isQuarantined ? "quarantined" : "dirty")', host = NULL,
          failures = \(failures), reason = $3, retry_at = \(retry), changed_at = \(now) WHERE \(place)
        """, pool, name, .text(String(failure.prefix(500))))
      if isQuarantined { try bump(cleaning.pool) }
      return isQuarantined
    }
  }
}
