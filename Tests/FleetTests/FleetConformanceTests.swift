import Basics
import ControlAPI
import Databases
import EnvironmentConfiguration
import Foundation
import TestSupport
import Testing

@testable import Fleet

/// The rules that every engine of a fleet's store follows.
@Suite("Fleet store", .timeLimit(.minutes(3)))
struct FleetConformanceTests {
  enum Engine: String, CaseIterable, Sendable {
    case sqlite, postgreSQL
  }

  /// A store of its own for a test.
  final class Store: Sendable {
    let address: FleetAddress
    private let folder: String
    let key: StoreKey

    init(_ engine: Engine) throws {
      folder = FileManager.default.temporaryDirectory.appending(path: "fleet-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      key = try StoreKey(bytes: Array(repeating: 7, count: 32))
      address =
        switch engine {
        case .sqlite: .sqlite(path: "\(folder)/fleet.sqlite")
        case .postgreSQL: try FleetAddress(try PostgreSQLServer.shared.get().makeDatabase(), variables: [:])
        }
    }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A daemon's connection.
    func connect(_ name: String = "one", patience: Double = 30) throws -> FleetDatabase {
      let host = FleetHost(id: name, instance: UUID().uuidString, name: name, version: "1", patience: patience)
      let database = try FleetDatabase(try address.connect(), host: host, key: key)
      _ = try database.join()
      return database
    }

    /// Makes a pool whose resources are named as given, each with its plan.
    func fill(_ database: FleetDatabase, _ resources: [String: String], cleans: Bool = false) throws {
      try database.createPool(PoolSettings(name: "patients", cleans: cleans, maximumFailures: 2))
      _ = try database.importResources(
        resources.sorted { $0.key < $1.key }.map {
          PoolResource(name: $0.key, attributes: ["plan": $0.value], secrets: ["password": "\($0.key)-s3cret"])
        }, into: "patients")
    }
  }

  private func ask(_ id: String, _ plans: String?...) -> FleetDatabase.Asking {
    let queries = plans.enumerated().map { index, plan in
      ("r\(index)", ResourceQuery(pool: "patients", where: plan.map { ["plan": $0] } ?? [:]))
    }
    return FleetDatabase.Asking(id: id, resources: Dictionary(uniqueKeysWithValues: queries))
  }

  private func names(_ lease: ResourceLease?) -> Set<String> { Set(lease?.resources.values.map(\.name) ?? []) }

  @Test("gives each resource to one holder, with its attributes and secrets", arguments: Engine.allCases)
  func exclusive(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free", "ben": "premium"])
    let first = try database.exchange { .init(asking: [ask("1", "premium"), ask("2", nil), ask("3", nil)]) }
    #expect(names(first.granted["1"]) == ["ben"] && names(first.granted["2"]) == ["anna"])
    #expect(first.granted["3"] == nil && first.refused.isEmpty)
    let ben = try #require(first.granted["1"]?.resources["r0"])
    #expect(ben.attributes == ["plan": "premium"] && ben.secrets == ["password": "ben-s3cret"] && ben.fence == 1)
    let second = try database.exchange { .init(ending: ["1", "unknown"], waiting: ["3"]) }
    #expect(second.ended == ["1"] && names(second.granted["3"]) == ["ben"])
    #expect(second.granted["3"]?.resources["r0"]?.fence == 2)
    #expect(try database.leases().map(\.id) == ["2", "3"])
  }

  @Test("serves in the order of the requests, across hosts", arguments: Engine.allCases)
  func order(_ engine: Engine) throws {
    let store = try Store(engine)
    let one = try store.connect("one")
    try store.fill(one, ["anna": "free"])
    let two = engine == .postgreSQL ? try store.connect("two") : one
    #expect(try one.exchange { .init(asking: [ask("a", nil)]) }.granted["a"] != nil)
    #expect(try two.exchange { .init(asking: [ask("b", nil)]) }.granted.isEmpty)
    #expect(try one.exchange { .init(asking: [ask("c", nil)]) }.granted.isEmpty)
    #expect(try one.exchange { .init(ending: ["a"], waiting: ["c"]) }.granted["c"] == nil)
    #expect(try two.collect(["b"]).granted["b"] != nil)
    #expect(try two.exchange { .init(ending: ["b"]) }.ended == ["b"])
    #expect(try one.collect(["c"]).granted["c"] != nil)
  }

  @Test("repeats a batch without changing anything", arguments: Engine.allCases)
  func idempotent(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free", "ben": "free"])
    let first = try database.exchange { .init(asking: [ask("1", nil)]) }
    let again = try database.exchange { .init(asking: [ask("1", nil)]) }
    #expect(first.granted == again.granted && first.granted["1"] != nil)
    #expect(try database.pools().first?.states == ["free": 1, "leased": 1])
  }

  @Test("explains a request that can never be served", arguments: Engine.allCases)
  func impossible(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free"])
    var other = ask("2", nil)
    other.resources = ["r0": ResourceQuery(pool: "phones")]
    let refused = try database.exchange { .init(asking: [ask("1", "gold"), other, ask("3", nil, nil)]) }.refused
    #expect(refused["1"]?.message.hasPrefix("no resource with plan=gold in pool 'patients'; import one") == true)
    #expect(refused["2"]?.message == "no pool 'phones'; make it with: diorama pool create phones")
    #expect(refused["3"]?.message.hasPrefix("only 1 resource in pool 'patients', but the request needs more") == true)
    #expect(try database.leases().isEmpty)
  }

  @Test("says who holds what a late request waited for, and forgets the request", arguments: Engine.allCases)
  func late(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free", "ben": "premium"])
    _ = try database.exchange { .init(asking: [ask("1", "premium"), ask("2", "premium")]) }
    let error = try database.exchange { .init(expired: ["2"]) }.refused["2"]
    #expect(error?.kind == .unanswered)
    #expect(
      error?.message.hasPrefix(
        "no free resource in time: pool 'patients' with plan=premium: 1 leased (by one)") == true)
    #expect(try database.leases().map(\.id) == ["1"])
    // A request that was served in the last moment stays served.
    #expect(try database.exchange { .init(expired: ["1"]) }.granted["1"] != nil)
  }

  @Test("cleans before it lends again, and quarantines after repeated failures", arguments: Engine.allCases)
  func cleaning(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free"], cleans: true)
    _ = try database.exchange { .init(asking: [ask("1", nil)]) }
    #expect(try database.exchange { .init(ending: ["1"], asking: [ask("2", nil)]) }.granted.isEmpty)
    #expect(try database.claimDirty(of: ["phones"]) == nil)
    let cleaning = try #require(try database.claimDirty(of: ["patients"]))
    #expect(cleaning.resource.secrets == ["password": "anna-s3cret"] && cleaning.resource.fence == 2)
    #expect(try database.claimDirty(of: ["patients"]) == nil)
    #expect(try database.finish(cleaning, failure: nil) == false)
    #expect(try database.collect(["2"]).granted["2"]?.resources["r0"]?.fence == 3)
    _ = try database.exchange { .init(ending: ["2"]) }
    let second = try #require(try database.claimDirty(of: ["patients"]))
    #expect(try database.finish(second, failure: "exit status 1") == false)
    // Not at once: the pause after the first failure.
    #expect(try database.claimDirty(of: ["patients"]) == nil)
    try database.connection.execute("UPDATE diorama_resources SET retry_at = 0")
    let third = try #require(try database.claimDirty(of: ["patients"]))
    // The result of a host that has been overtaken counts for nothing.
    #expect(try database.finish(second, failure: nil) == false)
    #expect(try database.finish(third, failure: "exit status 1"))
    let resource = try #require(try database.resources(of: "patients").first)
    #expect(resource.state == "quarantined" && resource.reason == "exit status 1")
    let refused = try database.exchange { .init(asking: [ask("3", nil)]) }.refused["3"]
    #expect(refused?.message.contains("quarantined") == true)
    try database.change("anna", of: "patients", isRetired: false)
    #expect(try database.resources(of: "patients").first?.state == "dirty")
  }

  @Test("retires a leased resource once its lease ends", arguments: Engine.allCases)
  func retiring(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free"])
    _ = try database.exchange { .init(asking: [ask("1", nil)]) }
    try database.change("anna", of: "patients", isRetired: true)
    #expect(try database.resources(of: "patients").first?.state == "leased, then retired")
    #expect(throws: CodedError.self) { try database.removePool("patients") }
    _ = try database.exchange { .init(ending: ["1"]) }
    #expect(try database.pools().first?.states == ["retired": 1])
    #expect(try database.exchange { .init(asking: [ask("2", nil)]) }.refused["2"] != nil)
    try database.removePool("patients")
    #expect(try database.pools().isEmpty)
  }

  @Test("takes back what belongs to a host that is gone, but not after the database was away")
  func goneHosts() throws {
    let store = try Store(.postgreSQL)
    let one = try store.connect("one", patience: 30)
    let two = try store.connect("two", patience: 30)
    try store.fill(one, ["anna": "free"])
    _ = try one.exchange { .init(asking: [ask("1", nil)]) }
    _ = try two.exchange { .init(asking: [ask("2", nil)]) }
    func age(_ column: String, _ table: String, _ condition: String = "") throws {
      try two.connection.execute("UPDATE \(table) SET \(column) = \(column) - 60000000 \(condition)")
    }
    // The database was away: no host could give a sign of life.
    _ = try two.beat()
    try age("beat_at", "diorama_fleet")
    try age("expires_at", "diorama_hosts", "WHERE id = 'one'")
    #expect(try two.beat().gone.isEmpty)
    // Now all hosts have had the time to come back.
    try age("calm_until", "diorama_fleet")
    #expect(try two.beat().gone == ["one": 1])
    #expect(try two.collect(["2"]).granted["2"]?.resources["r0"]?.fence == 2)
    // The first host learns that it has lost its lease.
    #expect(try one.beat().held.isEmpty)
  }

  @Test("ends a lease when its time is over", arguments: Engine.allCases)
  func time(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free"])
    var request = ask("1", nil)
    request.ttl = 60
    let lease = try database.exchange { .init(asking: [request, ask("2", nil)]) }.granted["1"]
    #expect(lease?.endsAt != nil)
    #expect(try database.beat().expired.isEmpty)
    try database.connection.execute("UPDATE diorama_leases SET ends_at = ends_at - 61000000")
    #expect(try database.beat().expired == ["1"])
    #expect(try database.collect(["2"]).granted["2"] != nil)
  }

  @Test("keeps the leases of a daemon that was killed, and forgets its requests", arguments: Engine.allCases)
  func restart(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free"])
    var request = ask("1", nil)
    request.environment = "e"
    _ = try database.exchange { .init(asking: [request, ask("2", nil)]) }
    let host = FleetHost(id: "one", instance: "other", name: "one", version: "1")
    let next = try FleetDatabase(try store.address.connect(), host: host, key: store.key)
    #expect(try next.join().map(\.lease.environment) == ["e"])
    #expect(try next.leases().map(\.id) == ["1"])
    #expect(try database.beat().isReplaced)
  }

  @Test("starts a pool of the same name afresh, with higher fences", arguments: Engine.allCases)
  func recreated(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    let host = try store.connect("two")
    try store.fill(database, ["anna": "free"])
    var last = 0
    for turn in 1...3 {
      let lease = try host.exchange { .init(asking: [ask("\(turn)", "free")]) }.granted["\(turn)"]
      let fence = try #require(lease?.resources["r0"]?.fence)
      #expect(fence > last)
      last = fence
      _ = try host.exchange { .init(ending: ["\(turn)"]) }
      try database.removePool("patients")
      try store.fill(database, ["anna": "free", "ben": "premium"])
    }
  }

  @Test("takes back what a host that has stopped was cleaning", arguments: Engine.allCases)
  func abandonedCleaning(_ engine: Engine) throws {
    let store = try Store(engine)
    let (one, two) = (try store.connect(), try store.connect("two"))
    try store.fill(one, ["anna": "free"], cleans: true)
    _ = try one.exchange { .init(asking: [ask("1", nil)]) }
    _ = try one.exchange { .init(ending: ["1"]) }
    _ = try #require(try one.claimDirty(of: ["patients"]))
    #expect(try two.claimDirty(of: ["patients"]) == nil)
    try one.leave()
    #expect(try two.claimDirty(of: ["patients"]) != nil)
    // A host that is killed is marked later.
    try one.connection.execute("UPDATE diorama_hosts SET ended = 'lost' WHERE id = 'two'")
    _ = try one.beat()
    let three = try store.connect("three")
    _ = try three.beat()
    #expect(try three.claimDirty(of: ["patients"]) != nil)
  }

  @Test("quarantines what cannot be decrypted, and cleans the rest", arguments: Engine.allCases)
  func unreadable(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free", "ben": "free"], cleans: true)
    _ = try database.exchange { .init(asking: [ask("1", nil, nil)]) }
    _ = try database.exchange { .init(ending: ["1"]) }
    try database.connection.query("UPDATE diorama_resources SET secrets = $1 WHERE name = 'anna'", .blob(Data([1, 2])))
    var cleaned: [String] = []
    for _ in 0..<3 {
      if let cleaning = try database.claimDirty(of: ["patients"]) { cleaned.append(cleaning.resource.name) }
    }
    #expect(cleaned == ["ben"])
    #expect(try database.resources(of: "patients").map(\.state) == ["quarantined", "cleaning"])
  }

  @Test("stores secrets encrypted, for one resource only", arguments: Engine.allCases)
  func secrets(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try store.fill(database, ["anna": "free", "ben": "free"])
    let stored = try database.connection.query("SELECT secrets FROM diorama_resources ORDER BY name").map { $0.data(0) }
    for secrets in stored { #expect(secrets?.range(of: Data("s3cret".utf8)) == nil && secrets != nil) }
    try database.connection.query(
      "UPDATE diorama_resources SET secrets = $1 WHERE name = 'ben'", .blob(try #require(stored[0])))
    #expect(try database.exchange { .init(asking: [ask("1", nil, nil)]) }.refused["1"]?.kind == .broken)
    #expect(try database.leases().isEmpty)
    let host = FleetHost(id: "two", instance: "two", name: "two", version: "1")
    let keyless = try FleetDatabase(try store.address.connect(), host: host, key: nil)
    #expect(
      try keyless.exchange { .init(asking: [ask("2", nil)]) }.refused["2"]?.message.contains("--store-key") == true)
    #expect(try database.leases().isEmpty)
    let other = try StoreKey(bytes: Array(repeating: 8, count: 32))
    let refused = try #require(throws: CodedError.self) {
      _ = try FleetDatabase(try store.address.connect(), host: host, key: other)
    }
    #expect(refused.kind == .usage && refused.message.contains(other.fingerprint))
    // Without secrets, another key may be introduced.
    try database.removePool("patients")
    _ = try FleetDatabase(try store.address.connect(), host: host, key: other)
  }

  @Test("refuses tables of a newer version, and changes nothing", arguments: Engine.allCases)
  func newer(_ engine: Engine) throws {
    let store = try Store(engine)
    let database = try store.connect()
    try database.connection.execute("UPDATE diorama_schema SET version = 99; DROP TABLE diorama_leases")
    let error = #expect(throws: CodedError.self) { try store.connect() }
    #expect(error?.kind == .broken && error?.message.contains("version 99") == true)
    #expect(throws: CodedError.self) { try database.connection.query("SELECT * FROM diorama_leases") }
  }
}

@Suite("Lease matching")
struct LeaseMatchingTests {
  private func resource(_ id: Int, _ plan: String, pool: String = "p") -> LeaseMatching.Resource {
    LeaseMatching.Resource(id: id, pool: pool, attributes: ["plan": plan])
  }

  private func need(_ plan: String?, pool: String = "p", label: String = "x") -> LeaseMatching.Need {
    LeaseMatching.Need(label: label, pool: pool, attributes: plan.map { ["plan": $0] } ?? [:])
  }

  @Test("leaves the choosy need the only resource that fits")
  func augmenting() {
    var matching = LeaseMatching([resource(1, "a"), resource(2, "b")])
    #expect(matching.serve([need(nil, label: "any"), need("a", label: "a")]) == ["any": 2, "a": 1])
  }

  @Test("keeps for a waiting request what it needs, and no more")
  func fairness() {
    var matching = LeaseMatching([resource(1, "a"), resource(2, "a")])
    #expect(matching.serve([need("a", label: "1"), need("a", pool: "q", label: "2")]) == nil)
    #expect(matching.serve([need("a")]) == ["x": 2])
    #expect(matching.serve([need("a")]) == nil && matching.isEmpty)
  }

  @Test("lets a request for something else pass")
  func others() {
    var matching = LeaseMatching([resource(1, "a")])
    #expect(matching.serve([need("b")]) == nil)
    #expect(matching.serve([need("a")]) == ["x": 1])
  }
}
