/// The body of `POST /v1/pools`.
package struct PoolSettings: Codable, Sendable, Equatable {
  package var name: String
  /// Whether a returned resource is lent again only after the clean-up command of a daemon has succeeded; nil for false.
  package var cleans: Bool?
  /// After how many failures of the clean-up command in a row a resource is quarantined; nil for 3.
  package var maximumFailures: Int?

  package init(name: String, cleans: Bool? = nil, maximumFailures: Int? = nil) {
    self.name = name
    self.cleans = cleans
    self.maximumFailures = maximumFailures
  }
}

/// An element of the response to `GET /v1/pools`.
package struct PoolSummary: Codable, Sendable, Equatable {
  package var name: String
  package var cleans: Bool
  package var maximumFailures: Int
  /// The number of resources in each state: `free`, `leased`, `dirty`, `cleaning`, `quarantined`, `retired`.
  package var states: [String: Int]

  package init(name: String, cleans: Bool, maximumFailures: Int, states: [String: Int]) {
    self.name = name
    self.cleans = cleans
    self.maximumFailures = maximumFailures
    self.states = states
  }
}

/// The response to `GET /v1/pools`.
package struct PoolList: Codable, Sendable {
  package var pools: [PoolSummary]

  package init(pools: [PoolSummary]) { self.pools = pools }
}

/// A resource of a pool.
package struct PoolResource: Codable, Sendable, Equatable {
  package var name: String
  /// Values by which tests choose, and which they read.
  package var attributes: [String: String]?
  /// Passwords and the like; only in imports.
  package var secrets: [String: String]?
  /// Its state; ignored in imports, as are all members below.
  package var state: String?
  package var fence: Int?
  /// How often the clean-up command has failed in a row.
  package var failures: Int?
  /// Why the clean-up command failed last.
  package var reason: String?
  /// The host that has leased it.
  package var host: String?
  /// The environment that has leased it.
  package var environment: String?
  /// The id of the lease.
  package var lease: String?

  package init(name: String, attributes: [String: String]? = nil, secrets: [String: String]? = nil) {
    self.name = name
    self.attributes = attributes
    self.secrets = secrets
  }
}

/// The body of `POST /v1/pools/{pool}/resources`, and the response to `GET`.
package struct PoolResources: Codable, Sendable {
  package var resources: [PoolResource]

  package init(resources: [PoolResource]) { self.resources = resources }
}

/// The response to `POST /v1/pools/{pool}/resources`.
package struct ImportResult: Codable, Sendable, Equatable {
  package var added: Int
  package var replaced: Int

  package init(added: Int, replaced: Int) {
    self.added = added
    self.replaced = replaced
  }
}

/// The body of `PATCH /v1/pools/{pool}/resources/{resource}`.
package struct ResourcePatch: Codable, Sendable, Equatable {
  /// True to take it out of use; false to put a retired or quarantined one back.
  package var retired: Bool

  package init(retired: Bool) { self.retired = retired }
}
