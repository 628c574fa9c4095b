package import EnvironmentConfiguration

/// The body of `POST /v1/leases`: resources that are checked out together, all or none.
package struct LeaseRequest: Codable, Sendable, Equatable {
  /// A UUID of the caller's; nil for a new one. A request that is repeated with its id gets the same lease.
  package var id: String?
  /// What is needed, by a name of the caller's.
  package var resources: [String: ResourceQuery]
  /// How long to wait, in seconds; nil for the longest of the resources' own, or for 60.
  package var waitSeconds: Double?
  /// The lease ends when this process does.
  package var owner: Owner?
  /// The seconds after which the lease ends; nil for 3600, or for no limit if there is an owner.
  package var ttlSeconds: Double?

  /// How long to wait, in seconds.
  package var patience: Double { waitSeconds ?? resources.values.compactMap(\.waitSeconds).max() ?? 60 }

  package init(
    id: String? = nil, resources: [String: ResourceQuery], waitSeconds: Double? = nil, owner: Owner? = nil,
    ttlSeconds: Double? = nil
  ) {
    self.id = id
    self.resources = resources
    self.waitSeconds = waitSeconds
    self.owner = owner
    self.ttlSeconds = ttlSeconds
  }
}

/// A resource that belongs to a lease.
package struct LeasedResource: Codable, Sendable, Equatable {
  package var pool: String
  package var name: String
  package var attributes: [String: String]
  /// Passwords and the like; nil in lists.
  package var secrets: [String: String]?
  /// A number that grows with each checkout of the resource. A system that refuses lower numbers than the highest it has
  /// seen is safe from a holder that has lost its lease without noticing.
  package var fence: Int

  package init(
    pool: String, name: String, attributes: [String: String], secrets: [String: String]? = nil, fence: Int
  ) {
    self.pool = pool
    self.name = name
    self.attributes = attributes
    self.secrets = secrets
    self.fence = fence
  }
}

/// The response to `POST /v1/leases` (201), and an element of `GET /v1/leases`.
package struct ResourceLease: Codable, Sendable, Equatable {
  package var id: String
  /// `held`, `waiting`, or `lost`: given to another request because this host could not reach the database.
  package var state: String
  /// The name of the host whose daemon made the lease.
  package var host: String?
  /// The environment that the lease belongs to.
  package var environment: String?
  package var owner: Owner?
  /// When it was asked for, in RFC 3339, by the clock of the database.
  package var since: String
  /// When the lease ends, in RFC 3339, by the clock of the database.
  package var endsAt: String?
  /// How long it waited, in seconds.
  package var waitedSeconds: Double?
  /// By the names of the request; empty while it waits.
  package var resources: [String: LeasedResource]
  /// What it waits for; nil once it is held.
  package var requested: [String: ResourceQuery]?

  package init(
    id: String, state: String, host: String? = nil, environment: String? = nil, owner: Owner? = nil, since: String,
    endsAt: String? = nil, waitedSeconds: Double? = nil, resources: [String: LeasedResource]
  ) {
    self.id = id
    self.state = state
    self.host = host
    self.environment = environment
    self.owner = owner
    self.since = since
    self.endsAt = endsAt
    self.waitedSeconds = waitedSeconds
    self.resources = resources
  }
}

extension ResourceLease {
  /// The failure of a run whose lease ended before it did.
  ///
  /// - Parameter what: what to run again, such as `the test`.
  /// - Returns: the message.
  package static func lost(again what: String) -> String {
    "the lease was lost, so another test may have used the resource: the daemon was restarted, or could not reach the fleet's "
      + "database for too long; run \(what) again"
  }
}

/// The response to `GET /v1/leases`.
package struct LeaseList: Codable, Sendable {
  /// In the order of the requests.
  package var leases: [ResourceLease]
  /// The store; nil for clients on other machines.
  package var store: StoreStatus?

  /// Whether a lease is held, and no other request can have its resources.
  package func holds(_ id: String) -> Bool { leases.contains { $0.id == id && $0.state == "held" } }

  package init(leases: [ResourceLease], store: StoreStatus? = nil) {
    self.leases = leases
    self.store = store
  }
}

/// The state of the store that the hosts of a fleet share.
package struct StoreStatus: Codable, Sendable, Equatable {
  /// The path of an SQLite file, or the address of a PostgreSQL database without user and password.
  package var name: String
  /// Why it cannot be used; nil if it can.
  package var away: String?
  /// How many leases this daemon holds.
  package var held: Int
  /// How many requests of this daemon wait.
  package var waiting: Int

  /// For how long it has been unreachable, in seconds, if other hosts may have leased this host's resources since; else nil.
  package var uncertainSeconds: Double?

  package init(name: String, away: String?, held: Int, waiting: Int, uncertainSeconds: Double? = nil) {
    self.uncertainSeconds = uncertainSeconds
    self.name = name
    self.away = away
    self.held = held
    self.waiting = waiting
  }
}
