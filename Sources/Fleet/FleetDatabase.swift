package import Basics
package import ControlAPI
package import Databases
package import EnvironmentConfiguration
import Foundation

/// The shared state of a fleet: hosts, pools, resources and leases, on one connection. For use by one thread at a time.
///
/// Each call is one transaction; it can be repeated if its outcome is unknown.
package final class FleetDatabase {
  package let connection: any SQLConnection
  private let host: FleetHost
  let key: StoreKey?
  var dialect: SQLDialect { connection.dialect }
  var hostID: String { host.id }
  /// What the pools hold, as of their versions.
  private var catalogue: [String: Catalogue] = [:]
  /// The pools whose versions have been read in this transaction.
  private var current: Set<String> = []
  /// Parsed requests by their text, since most are alike.
  private var parsed: [String: [LeaseMatching.Need]] = [:]

  /// What a pool holds.
  private struct Catalogue {
    var version: Int
    var resources: [Int: LeaseMatching.Resource]
    /// Those that may become free.
    var usable: [LeaseMatching.Resource]
    var quarantined: [LeaseMatching.Resource]
    var retired: [LeaseMatching.Resource]
  }

  /// Uses a database, and creates or updates its tables.
  ///
  /// - Parameters:
  ///   - connection: the database.
  ///   - host: this host.
  ///   - key: encrypts secrets; nil to refuse them.
  /// - Throws: ``CodedError`` of kind `broken` for tables of a newer version, which are not changed.
  package init(_ connection: any SQLConnection, host: FleetHost, key: StoreKey?) throws(CodedError) {
    self.connection = connection
    self.host = host
    self.key = key
    try FleetSchema.migrate(connection)
    if let key { try check(key) }
  }

  /// Refuses a key other than that of the other hosts, which could not read what this host imports.
  private func check(_ key: StoreKey) throws(CodedError) {
    try exclusively { _ throws(CodedError) in
      let known = try connection.query("SELECT key_id FROM diorama_fleet").first?.text(0)
      guard known != key.fingerprint else { return }
      let secrets = try connection.query("SELECT 1 FROM diorama_resources WHERE secrets IS NOT NULL LIMIT 1")
      guard known == nil || secrets.isEmpty else {
        throw CodedError(
          .usage,
          "the secrets in the fleet's database were encrypted with another key (\(known ?? "")), not with this one "
            + "(\(key.fingerprint)); copy the key of the other hosts to this one, and name it with --store-key")
      }
      try connection.query("UPDATE diorama_fleet SET key_id = $1", .text(key.fingerprint))
    }
  }

  /// Runs `body` in a transaction that no other one of leases overlaps.
  ///
  /// - Parameter body: gets the time of the database's clock in microseconds.
  /// - Returns: the result of `body`.
  /// - Throws: the error of `body` or of the database.
  func exclusively<Value>(_ body: (Int) throws(CodedError) -> Value) throws(CodedError) -> Value {
    try connection.transaction(begin: dialect.beginExclusively(.leases)) { () throws(CodedError) in
      current = []
      return try body(try now())
    }
  }

  func now() throws(CodedError) -> Int { try connection.query("SELECT \(dialect.now)").first?.integer(0) ?? 0 }
}

/// A daemon as the others see it.
package struct FleetHost: Sendable, Equatable {
  /// Stays the same when the daemon is restarted: it belongs to the state folder.
  package var id: String
  /// A new one for each start.
  package var instance: String
  /// For people.
  package var name: String
  /// The version of diorama.
  package var version: String
  /// How long after its last sign of life a host counts as gone, in seconds.
  package var patience: Double

  package init(id: String, instance: String, name: String, version: String, patience: Double = 30) {
    self.id = id
    self.instance = instance
    self.name = name
    self.version = version
    self.patience = patience
  }

  /// The interval of signs of life, in seconds.
  package var interval: Double { patience / 6 }
}

// MARK: Leases

extension FleetDatabase {
  /// A request for resources.
  package struct Asking: Sendable {
    package var id: String
    package var resources: [String: ResourceQuery]
    package var environment: String?
    /// The owner, as JSON that only this host reads.
    package var owner: String?
    /// How long the lease lasts, in seconds.
    package var ttl: Double?

    package init(
      id: String, resources: [String: ResourceQuery], environment: String? = nil, owner: String? = nil,
      ttl: Double? = nil
    ) {
      self.id = id
      self.resources = resources
      self.environment = environment
      self.owner = owner
      self.ttl = ttl
    }
  }

  /// A batch of changes.
  package struct Changes: Sendable {
    /// Ids of leases or requests to end.
    package var ending: [String] = []
    /// Requests whose time is over. One that has been served is not ended.
    package var expired: [String] = []
    /// New requests.
    package var asking: [Asking] = []
    /// Ids of this host's requests that have not been served, as far as it knows.
    package var waiting: [String] = []

    package init(ending: [String] = [], expired: [String] = [], asking: [Asking] = [], waiting: [String] = []) {
      self.ending = ending
      self.expired = expired
      self.asking = asking
      self.waiting = waiting
    }
  }

  /// The result of a batch of changes.
  package struct Outcome: Sendable {
    /// The requests of this host that are served now.
    package var granted: [String: ResourceLease] = [:]
    /// Requests that can never be served, or not any more.
    package var refused: [String: CodedError] = [:]
    /// Leases that were ended; those that were not there are missing.
    package var ended: Set<String> = []
  }

  /// Ends leases, adds requests, serves all requests that can be served, and collects what this host's requests got.
  ///
  /// Repeating it changes nothing.
  ///
  /// - Parameter take: returns the changes. Called once no other host can change anything, so that they include requests
  ///   that arrived while others had their turn.
  /// - Returns: what the batch has brought.
  /// - Throws: ``CodedError`` of kind `noUpstream` if the database cannot be reached.
  package func exchange(_ take: () -> Changes) throws(CodedError) -> Outcome {
    var outcome = Outcome()
    try exclusively { now throws(CodedError) in
      let changes = take()
      outcome.ended = try end(changes.ending, at: now)
      try add(changes.asking, at: now, &outcome)
      try serveAll(at: now)
      let refused = outcome.refused
      let added = changes.asking.map(\.id).filter { refused[$0] == nil }
      try collect(changes.waiting + added + changes.expired, &outcome)
      // A holder without secrets is of no use.
      _ = try end(outcome.refused.keys.filter { refused[$0] == nil }, at: now)
      for id in changes.expired where outcome.granted[id] == nil && outcome.refused[id] == nil {
        let needs = try connection.query("SELECT request FROM diorama_leases WHERE id = $1", .text(id)).first?.text(0)
        outcome.refused[id] = try notServed(needs.map { parse($0) } ?? [])
        _ = try end([id], at: now)
      }
    }
    return outcome
  }

  /// Sends a notification to all hosts.
  func notify(_ payload: String) throws(CodedError) {
    try connection.query("SELECT pg_notify('diorama', $1)", .text(payload))
  }

  /// Collects what this host's requests got through other hosts. Requests whose secrets cannot be decrypted are refused, but
  /// not ended.
  package func collect(_ waiting: [String]) throws(CodedError) -> Outcome {
    var outcome = Outcome()
    guard !waiting.isEmpty else { return outcome }
    try connection.transaction(begin: "BEGIN") { () throws(CodedError) in try collect(waiting, &outcome) }
    return outcome
  }

  private func end(_ ids: [String], at now: Int) throws(CodedError) -> Set<String> {
    var ended: Set<String> = []
    for ids in ids.chunks(of: 500) {
      try connection.query(
        """
        UPDATE diorama_resources SET
          state = CASE WHEN pool IN (SELECT name FROM diorama_pools WHERE is_cleaned = 1) THEN 'dirty' ELSE 'free' END,
          lease = NULL, label = NULL, changed_at = \(now)
        WHERE state = 'leased' AND lease IN \(ids.sqlPlaceholders())
        """, ids.map(SQLValue.text))
      let rows = try connection.query(
        "DELETE FROM diorama_leases WHERE id IN \(ids.sqlPlaceholders()) RETURNING id", ids.map(SQLValue.text))
      ended.formUnion(rows.compactMap { $0.text(0) })
    }
    return ended
  }

  private func add(_ asking: [Asking], at now: Int, _ outcome: inout Outcome) throws(CodedError) {
    guard !asking.isEmpty else { return }
    try refreshCatalogue(Set(asking.flatMap { $0.resources.values.map(\.pool) }))
    var possible: [(request: Asking, text: String)] = []
    for request in asking {
      let text = Self.text(of: request.resources)
      if let error = impossible(parse(text)) {
        outcome.refused[request.id] = error
      } else {
        possible.append((request, text))
      }
    }
    for possible in possible.chunks(of: 100) {
      let rows = possible.indices.map { row in
        let places = (1...6).map { "$\(row * 6 + $0)" }.joined(separator: ", ")
        return "(\(places), 'waiting', \(now))"
      }
      try connection.query(
        """
        INSERT INTO diorama_leases (id, host, environment, owner, request, ttl, state, asked_at)
        VALUES \(rows.joined(separator: ", ")) ON CONFLICT (id) DO NOTHING
        """,
        possible.flatMap { request, text -> [SQLValue] in
          [
            .text(request.id), .text(host.id), SQLValue(request.environment), SQLValue(request.owner), .text(text),
            SQLValue(request.ttl.map { Int($0 * 1e6) }),
          ]
        })
    }
  }

  /// Serves all requests that can be served, of all hosts.
  func serveAll(at now: Int) throws(CodedError) {
    let waiting = try connection.query(
      "SELECT id, host, request FROM diorama_leases WHERE state = 'waiting' ORDER BY ticket")
    guard !waiting.isEmpty else { return }
    let requests = waiting.map { row in
      (id: row.text(0) ?? "", host: row.text(1) ?? "", needs: parse(row.text(2) ?? ""))
    }
    let pools = Set(requests.flatMap { $0.needs.map(\.pool) }).sorted()
    try refreshCatalogue(Set(pools))
    let rows = try connection.query(
      """
      SELECT id, pool FROM diorama_resources
      WHERE state = 'free' AND is_retired = 0 AND pool IN \(pools.sqlPlaceholders())
      ORDER BY changed_at, id \(dialect.locking)
      """, pools.map(SQLValue.text))
    var matching = LeaseMatching(
      rows.compactMap { row in catalogue[row.text(1) ?? ""]?.resources[row.integer(0) ?? 0] })
    var grants: [(lease: String, label: String, resource: Int)] = []
    var served: [String] = []
    var hosts: Set<String> = []
    for request in requests {
      guard !matching.isEmpty else { break }
      guard let resources = matching.serve(request.needs) else { continue }
      grants += resources.map { (request.id, $0.key, $0.value) }
      served.append(request.id)
      hosts.insert(request.host)
    }
    for grants in grants.chunks(of: 300) {
      let values = grants.enumerated().map { "(\($0.element.resource), $\(2 * $0.offset + 1), $\(2 * $0.offset + 2))" }
      let changed = try connection.query(
        """
        UPDATE diorama_resources SET state = 'leased', lease = given.column2, label = given.column3, fence = fence + 1,
          changed_at = \(now)
        FROM (VALUES \(values.joined(separator: ","))) AS given
        WHERE diorama_resources.id = given.column1 AND state = 'free' RETURNING diorama_resources.id
        """, grants.flatMap { [.text($0.lease), .text($0.label)] })
      guard changed.count == grants.count else {
        throw CodedError(
          .noUpstream, "a resource to be leased was no longer free in the fleet's database; the request is retried")
      }
    }
    for served in served.chunks(of: 500) {
      try connection.query(
        """
        UPDATE diorama_leases SET state = 'held', granted_at = \(now), ends_at = \(now) + ttl
        WHERE id IN \(served.sqlPlaceholders())
        """, served.map(SQLValue.text))
    }
    hosts.remove(host.id)
    guard dialect == .postgreSQL, !hosts.isEmpty else { return }
    try connection.query(
      "SELECT pg_notify('diorama', id) FROM diorama_hosts WHERE id IN \(hosts.sqlPlaceholders())",
      hosts.map(SQLValue.text))
  }

  /// Adds the leases among these ids that are held, with secrets.
  private func collect(_ ids: [String], _ outcome: inout Outcome) throws(CodedError) {
    for ids in ids.chunks(of: 500) {
      for row in try connection.query(
        """
        SELECT \(Self.leaseColumns), resources.label, resources.pool, resources.name, resources.attributes,
          resources.fence, resources.secrets
        FROM diorama_leases AS leases JOIN diorama_resources AS resources ON resources.lease = leases.id
          LEFT JOIN diorama_hosts AS hosts ON hosts.id = leases.host
        WHERE leases.state = 'held' AND leases.id IN \(ids.sqlPlaceholders())
        """, ids.map(SQLValue.text))
      {
        let id = row.text(0) ?? ""
        guard outcome.refused[id] == nil else { continue }
        take(row, into: &outcome.granted)
        guard let label = row.text(8), let pool = row.text(9), let name = row.text(10) else { continue }
        do {
          outcome.granted[id]?.resources[label]?.secrets = try opened(row.data(13), of: name, in: pool)
        } catch {
          outcome.granted[id] = nil
          outcome.refused[id] = error
        }
      }
    }
  }

  /// Decrypts the secrets of a resource.
  func opened(_ sealed: Data?, of name: String, in pool: String) throws(CodedError) -> [String: String] {
    guard let sealed else { return [:] }
    guard let key else {
      throw CodedError(
        .broken,
        "resource '\(name)' of pool '\(pool)' has secrets, but this daemon has no key; start it with --store-key")
    }
    return try key.open(sealed, for: "\(pool)/\(name)")
  }

  /// All leases and requests of all hosts, in the order of the requests, without secrets.
  package func leases() throws(CodedError) -> [ResourceLease] {
    try connection.transaction(begin: "BEGIN") { () throws(CodedError) in try leases(where: "TRUE") }
  }

  private func leases(where condition: String, _ values: SQLValue...) throws(CodedError) -> [ResourceLease] {
    var leases: [String: ResourceLease] = [:]
    var order: [String] = []
    for row in try connection.query(
      """
      SELECT \(Self.leaseColumns), resources.label, resources.pool, resources.name, resources.attributes,
        resources.fence, leases.request
      FROM diorama_leases AS leases LEFT JOIN diorama_resources AS resources ON resources.lease = leases.id
        LEFT JOIN diorama_hosts AS hosts ON hosts.id = leases.host WHERE \(condition) ORDER BY leases.ticket
      """, values)
    {
      let id = row.text(0) ?? ""
      if leases[id] == nil { order.append(id) }
      take(row, into: &leases)
      if row.text(1) == "waiting" {
        leases[id]?.requested = try? JSONDecoder().decode(
          [String: ResourceQuery].self, from: Data((row.text(13) ?? "").utf8))
      }
    }
    return order.compactMap { leases[$0] }
  }

  /// The environment that a lease of any host belongs to, with the host's name; nil if it belongs to none.
  package func environment(ofLease id: String) throws(CodedError) -> (id: String, host: String)? {
    let row = try connection.query(
      """
      SELECT leases.environment, hosts.name FROM diorama_leases AS leases
      LEFT JOIN diorama_hosts AS hosts ON hosts.id = leases.host WHERE leases.id = $1
      """, .text(id)
    ).first
    return row?.text(0).map { ($0, row?.text(1) ?? "") }
  }

  private static let leaseColumns =
    "leases.id, leases.state, hosts.name, leases.environment, leases.owner, leases.asked_at, leases.granted_at, "
    + "leases.ends_at"

  private func take(_ row: SQLRow, into leases: inout [String: ResourceLease]) {
    let id = row.text(0) ?? ""
    let asked = row.integer(5) ?? 0
    var lease =
      leases[id]
      ?? ResourceLease(
        id: id, state: row.text(1) ?? "", host: row.text(2), environment: row.text(3),
        owner: row.text(4).flatMap { try? JSONDecoder().decode(Owner.self, from: Data($0.utf8)) },
        since: Self.time(asked), endsAt: row.integer(7).map(Self.time),
        waitedSeconds: row.integer(6).map { Double($0 - asked) / 1e6 }, resources: [:])
    if let label = row.text(8), let pool = row.text(9), let name = row.text(10) {
      lease.resources[label] = LeasedResource(
        pool: pool, name: name, attributes: Self.attributes(row.text(11)), fence: row.integer(12) ?? 0)
    }
    leases[id] = lease
  }

  static func time(_ microseconds: Int) -> String {
    RFC3339.format(Date(timeIntervalSince1970: Double(microseconds) / 1e6))
  }

  static func attributes(_ text: String?) -> [String: String] {
    text.flatMap { try? JSONDecoder().decode([String: String].self, from: Data($0.utf8)) } ?? [:]
  }

  /// A request as it is stored: equal requests have equal texts.
  private static func text(of resources: [String: ResourceQuery]) -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys]
    return (try? encoder.encode(resources)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
  }

  private func parse(_ text: String) -> [LeaseMatching.Need] {
    if let needs = parsed[text] { return needs }
    let resources = (try? JSONDecoder().decode([String: ResourceQuery].self, from: Data(text.utf8))) ?? [:]
    let needs = resources.sorted { $0.key < $1.key }.map {
      LeaseMatching.Need(label: $0.key, pool: $0.value.pool, attributes: $0.value.attributes)
    }
    if parsed.count > 10_000 { parsed = [:] }
    parsed[text] = needs
    return needs
  }
}

// MARK: Requests that cannot be served

extension FleetDatabase {
  /// Reads the pools whose resources have changed.
  private func refreshCatalogue(_ pools: Set<String>) throws(CodedError) {
    let names = pools.subtracting(current).sorted()
    guard !names.isEmpty else { return }
    current.formUnion(names)
    let rows = try connection.query(
      "SELECT name, version FROM diorama_pools WHERE name IN \(names.sqlPlaceholders())", names.map(SQLValue.text))
    let versions = Dictionary(rows.map { ($0.text(0) ?? "", $0.integer(1) ?? 0) }, uniquingKeysWith: { $1 })
    for name in names {
      guard let version = versions[name] else {
        catalogue[name] = nil
        continue
      }
      guard catalogue[name]?.version != version else { continue }
      var entry = Catalogue(version: version, resources: [:], usable: [], quarantined: [], retired: [])
      for row in try connection.query(
        "SELECT id, attributes, state, is_retired, name FROM diorama_resources WHERE pool = $1 ORDER BY id", .text(name)
      ) {
        var attributes = Self.attributes(row.text(1))
        // Requests may name a resource.
        attributes["name"] = row.text(4)
        let resource = LeaseMatching.Resource(id: row.integer(0) ?? 0, pool: name, attributes: attributes)
        entry.resources[resource.id] = resource
        guard row.integer(3) == 0 else {
          entry.retired.append(resource)
          continue
        }
        if row.text(2) == "quarantined" { entry.quarantined.append(resource) } else { entry.usable.append(resource) }
      }
      catalogue[name] = entry
    }
  }

  /// The reason why a request can never be served as the pools are; nil if it can.
  private func impossible(_ needs: [LeaseMatching.Need]) -> CodedError? {
    for need in needs where catalogue[need.pool] == nil {
      return CodedError(
        .noCassette, "no pool '\(need.pool)'; make it with: diorama pool create \(need.pool)")
    }
    let found = LeaseMatching.match(needs) { self.catalogue[$0]?.usable ?? [] }
    guard let missing = needs.indices.first(where: { found[$0] == nil }) else { return nil }
    let need = needs[missing]
    let entry = catalogue[need.pool]
    let what = "resource\(need.described) in pool '\(need.pool)'"
    let look = "look at: diorama pool show \(need.pool)"
    let fitting = entry?.usable.count { need.accepts($0) } ?? 0
    if fitting > 0 {
      return CodedError(
        .noCassette,
        "only \(fitting) resource\(fitting == 1 ? "" : "s")\(need.described) in pool '\(need.pool)', but the request needs more; import more, or \(look)"
      )
    }
    let quarantined = entry?.quarantined.count { need.accepts($0) } ?? 0
    if quarantined > 0 {
      return CodedError(
        .noCassette,
        "no usable \(what): \(quarantined) quarantined; \(look), then: diorama pool restore")
    }
    if entry?.retired.contains(where: need.accepts) == true {
      return CodedError(
        .noCassette,
        "no usable \(what): what fits is retired; \(look), then: diorama pool restore \(need.pool) RESOURCE")
    }
    return CodedError(.noCassette, "no \(what); import one, or \(look)")
  }

  /// The reason why a request was not served in time.
  private func notServed(_ needs: [LeaseMatching.Need]) throws(CodedError) -> CodedError {
    var reasons: [String] = []
    try refreshCatalogue(Set(needs.map(\.pool)))
    for need in needs {
      var states: [String: Int] = [:]
      var hosts: Set<String> = []
      for row in try connection.query(
        """
        SELECT resources.id, resources.state, hosts.name FROM diorama_resources AS resources
        LEFT JOIN diorama_leases AS leases ON leases.id = resources.lease
        LEFT JOIN diorama_hosts AS hosts ON hosts.id = leases.host
        WHERE resources.pool = $1 AND resources.is_retired = 0
        """, .text(need.pool))
      {
        guard let resource = catalogue[need.pool]?.resources[row.integer(0) ?? 0], need.accepts(resource) else {
          continue
        }
        states[row.text(1) ?? "", default: 0] += 1
        if let host = row.text(2) { hosts.insert(host) }
      }
      let counts = states.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }.joined(separator: ", ")
      let places = hosts.isEmpty ? "" : " (by \(hosts.sorted().prefix(5).joined(separator: ", ")))"
      let clean = (states["dirty"] ?? 0) > 0 ? "; dirty ones need a daemon with cleanUp for this pool" : ""
      let reason = "pool '\(need.pool)'\(need.described): \(counts.isEmpty ? "none" : counts)\(places)\(clean)"
      if !reasons.contains(reason) { reasons.append(reason) }
    }
    return CodedError(
      .unanswered,
      "no free resource in time: \(reasons.joined(separator: "; ")); wait longer, add resources, or see who holds them: "
        + "diorama lease list")
  }
}

extension LeaseMatching.Need {
  /// ` with plan=premium`, or an empty string.
  var described: String {
    let list = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: ", ")
    return list.isEmpty ? "" : " with \(list)"
  }
}

// MARK: Hosts

extension FleetDatabase {
  /// The result of a heartbeat.
  package struct Beat: Sendable {
    /// Ids of this host's leases that are held.
    package var held: Set<String> = []
    /// Leases whose time is over; they have been ended.
    package var expired: [String] = []
    /// The names of hosts that are gone, with the number of leases taken back from each.
    package var gone: [String: Int] = [:]
    /// Whether another daemon uses this host's identity.
    package var isReplaced = false
  }

  /// Registers this host, and reads the leases that its previous daemon left.
  ///
  /// Requests of the last daemon that were not served are removed, since no client waits for them.
  package func join() throws(CodedError) -> [(lease: ResourceLease, owner: String?)] {
    try exclusively { now throws(CodedError) in
      try connection.query(
        """
        INSERT INTO diorama_hosts (id, instance, name, version, started_at, beat_at, expires_at)
        VALUES ($1, $2, $3, $4, \(now), \(now), \(now + Int(host.patience * 1e6)))
        ON CONFLICT (id) DO UPDATE SET instance = excluded.instance, name = excluded.name, version = excluded.version,
          started_at = excluded.started_at, beat_at = excluded.beat_at, expires_at = excluded.expires_at, ended = NULL
        """, .text(host.id), .text(host.instance), .text(host.name), .text(host.version))
      try connection.query("DELETE FROM diorama_leases WHERE host = $1 AND state = 'waiting'", .text(host.id))
      try connection.query(
        "UPDATE diorama_resources SET state = 'dirty', host = NULL WHERE state = 'cleaning' AND host = $1",
        .text(host.id))
      let rows = try connection.query(
        "SELECT id, owner FROM diorama_leases WHERE host = $1 AND state = 'held'", .text(host.id))
      let owners = Dictionary(rows.map { ($0.text(0) ?? "", $0.text(1)) }, uniquingKeysWith: { $1 })
      return try leases(where: "leases.host = $1 AND leases.state = 'held'", .text(host.id))
        .map { ($0, owners[$0.id] ?? nil) }
    }
  }

  /// Sends a heartbeat, ends expired leases, and reclaims the resources of hosts that are gone.
  ///
  /// A host counts as gone once its last heartbeat is older than its patience. If no host has sent one for a while,
  /// the database itself was unreachable: then no host counts as gone until all have had time to reconnect.
  package func beat() throws(CodedError) -> Beat {
    try exclusively { now throws(CodedError) in
      var beat = Beat()
      let patience = Int(host.patience * 1e6)
      let own = try connection.query(
        """
        UPDATE diorama_hosts SET beat_at = \(now), expires_at = \(now + patience), ended = NULL
        WHERE id = $1 AND instance = $2 RETURNING id
        """, .text(host.id), .text(host.instance))
      guard !own.isEmpty else {
        beat.isReplaced = true
        return beat
      }
      let last = try connection.query("SELECT beat_at, calm_until FROM diorama_fleet").first
      var calm = last?.integer(1) ?? 0
      if now - (last?.integer(0) ?? 0) > patience / 2 { calm = now + patience }
      try connection.execute("UPDATE diorama_fleet SET beat_at = \(now), calm_until = \(calm)")
      if now > calm { beat.gone = try endHosts(at: now) }
      // Clean-ups whose host has stopped, or has lost track of them: a command takes five minutes at most.
      try connection.query(
        """
        UPDATE diorama_resources SET state = 'dirty', host = NULL, changed_at = \(now) WHERE state = 'cleaning'
          AND (changed_at < \(now - 600_000_000) OR host IN (SELECT id FROM diorama_hosts WHERE ended IS NOT NULL))
        """)
      let over = try connection.query(
        "SELECT id FROM diorama_leases WHERE state = 'held' AND ends_at < \(now) LIMIT 1000"
      ).compactMap { $0.text(0) }
      if !over.isEmpty { _ = try end(over, at: now) }
      beat.expired = over
      if !over.isEmpty || !beat.gone.isEmpty { try serveAll(at: now) }
      beat.held = Set(
        try connection.query("SELECT id FROM diorama_leases WHERE host = $1 AND state = 'held'", .text(host.id))
          .compactMap { $0.text(0) })
      return beat
    }
  }

  private func endHosts(at now: Int) throws(CodedError) -> [String: Int] {
    var gone: [String: Int] = [:]
    for row in try connection.query(
      "SELECT id, name FROM diorama_hosts WHERE expires_at < \(now) AND ended IS NULL")
    {
      guard let id = row.text(0) else { continue }
      let leases = try connection.query("SELECT id FROM diorama_leases WHERE host = $1", .text(id))
      _ = try end(leases.compactMap { $0.text(0) }, at: now)
      try connection.query(
        "UPDATE diorama_resources SET state = 'dirty', host = NULL WHERE state = 'cleaning' AND host = $1", .text(id))
      try connection.query("UPDATE diorama_hosts SET ended = 'lost' WHERE id = $1", .text(id))
      gone[row.text(1) ?? id, default: 0] += leases.count
    }
    return gone
  }

  /// Marks this host as stopped. Leases whose owners outlive the daemon stay for the next one.
  package func leave() throws(CodedError) {
    try exclusively { _ throws(CodedError) in
      // Their clients know that the daemon stops.
      try connection.query("DELETE FROM diorama_leases WHERE host = $1 AND state = 'waiting'", .text(host.id))
      try connection.query(
        "UPDATE diorama_resources SET state = 'dirty', host = NULL WHERE state = 'cleaning' AND host = $1",
        .text(host.id))
      let held = try connection.query("SELECT id FROM diorama_leases WHERE host = $1", .text(host.id))
      guard held.isEmpty else { return }
      try connection.query("UPDATE diorama_hosts SET ended = 'stopped' WHERE id = $1", .text(host.id))
    }
  }
}

extension Array {
  /// Parts of at most this many elements.
  func chunks(of count: Int) -> [[Element]] {
    stride(from: 0, to: self.count, by: count).map { Array(self[$0..<Swift.min($0 + count, self.count)]) }
  }
}
