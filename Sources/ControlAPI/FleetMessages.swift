/// A run of an environment on any host of a fleet: an element of the response to `GET /v1/fleet/runs`.
///
/// It has no bodies and no values of requests, which may be personal data.
package struct FleetRun: Codable, Sendable, Equatable {
  /// A request that nothing answered.
  package struct Miss: Codable, Sendable, Equatable {
    package var method: String
    package var url: String
    /// Where it differs from the nearest recorded one, and how, such as "query item `page` (counter)", without values.
    package var causes: [String]

    package init(method: String, url: String, causes: [String]) {
      self.method = method
      self.url = url
      self.causes = causes
    }
  }

  /// The environment's id.
  package var id: String
  /// The name of the host.
  package var host: String
  /// The name of the test.
  package var name: String
  package var mode: String
  /// The path of the cassette on its host.
  package var cassette: String?
  /// When the replayed cassette was recorded; with the name of the file, it tells recordings apart.
  package var recordedAt: String?
  /// RFC 3339, by the clock of the database, as are all times.
  package var startedAt: String
  /// Nil while it is running.
  package var endedAt: String?
  /// Whether it succeeded; nil while it is running.
  package var ok: Bool?
  package var seconds: Double?
  package var requests: Int?
  /// How many interactions the replayed cassette has.
  package var interactions: Int?
  /// The indices of those that it has not used, in a successful replay.
  package var unused: [Int]?
  package var misses: [Miss]
  package var failures: [String]
  /// Violations of the OpenAPI document.
  package var contract: [String]
  /// The leased resources, such as `patient = patients/anna, fence 9`; nil for none.
  package var resources: [String]?
  /// True if its host is gone or has forgotten it.
  package var isLost: Bool?

  package init(
    id: String, host: String, name: String, mode: String, cassette: String? = nil, recordedAt: String? = nil,
    startedAt: String, endedAt: String? = nil, ok: Bool? = nil, seconds: Double? = nil, requests: Int? = nil,
    interactions: Int? = nil, unused: [Int]? = nil, misses: [Miss] = [], failures: [String] = [],
    contract: [String] = [], resources: [String]? = nil, isLost: Bool? = nil
  ) {
    self.resources = resources
    self.id = id
    self.host = host
    self.name = name
    self.mode = mode
    self.cassette = cassette
    self.recordedAt = recordedAt
    self.startedAt = startedAt
    self.endedAt = endedAt
    self.ok = ok
    self.seconds = seconds
    self.requests = requests
    self.interactions = interactions
    self.unused = unused
    self.misses = misses
    self.failures = failures
    self.contract = contract
    self.isLost = isLost
  }
}

/// The response to `GET /v1/fleet/runs`.
package struct FleetRunList: Codable, Sendable {
  /// Running ones by their start, ended ones by their end.
  package var runs: [FleetRun]
  /// How many events of the history this host has dropped; nil for none.
  package var dropped: Int?

  package init(runs: [FleetRun], dropped: Int? = nil) {
    self.runs = runs
    self.dropped = dropped
  }
}

/// The response to `GET /v1/fleet/runs/{id}/journal`.
package struct FleetJournal: Codable, Sendable {
  /// Without the index of the interaction; the detail only of requests that failed.
  package var entries: [JournalPage.Entry]

  package init(entries: [JournalPage.Entry]) { self.entries = entries }
}

/// The response to `GET /v1/fleet/stats`.
package struct FleetStatistics: Codable, Sendable, Equatable {
  /// A test that replayed the same recording with different outcomes.
  package struct Flaky: Codable, Sendable, Equatable {
    package var name: String
    package var recordedAt: String
    package var runs: Int
    package var failed: Int
    /// The last run that failed.
    package var last: FleetRun

    package init(name: String, recordedAt: String, runs: Int, failed: Int, last: FleetRun) {
      self.name = name
      self.recordedAt = recordedAt
      self.runs = runs
      self.failed = failed
      self.last = last
    }
  }

  /// A test with the time that its runs took.
  package struct Slow: Codable, Sendable, Equatable {
    package var name: String
    package var runs: Int
    package var meanSeconds: Double
    package var longestSeconds: Double

    package init(name: String, runs: Int, meanSeconds: Double, longestSeconds: Double) {
      self.name = name
      self.runs = runs
      self.meanSeconds = meanSeconds
      self.longestSeconds = longestSeconds
    }
  }

  /// A cassette that was not, or not wholly, used.
  package struct Cassette: Codable, Sendable, Equatable {
    /// The path on the host that used it last.
    package var cassette: String
    package var recordedAt: String
    package var lastUsedAt: String
    /// Successful replays.
    package var runs: Int
    package var interactions: Int
    /// The indices of interactions that none of them has used.
    package var unused: [Int]

    package init(
      cassette: String, recordedAt: String, lastUsedAt: String, runs: Int, interactions: Int, unused: [Int]
    ) {
      self.cassette = cassette
      self.recordedAt = recordedAt
      self.lastUsedAt = lastUsedAt
      self.runs = runs
      self.interactions = interactions
      self.unused = unused
    }
  }

  /// A test whose requests or stubs violate their OpenAPI document.
  package struct Drift: Codable, Sendable, Equatable {
    package var name: String
    package var runs: Int
    /// Those of the last run.
    package var violations: [String]

    package init(name: String, runs: Int, violations: [String]) {
      self.name = name
      self.runs = runs
      self.violations = violations
    }
  }

  /// The days that count.
  package var days: Int
  package var runs: Int
  package var failed: Int
  package var hosts: Int
  package var entries: Int
  package var flaky: [Flaky]
  package var slowest: [Slow]
  /// Cassettes that runs before these days used, but none since.
  package var abandoned: [Cassette]
  /// Cassettes with interactions that no run of these days has used.
  package var partlyUsed: [Cassette]
  package var drift: [Drift]

  package init(days: Int) {
    self.days = days
    runs = 0
    failed = 0
    hosts = 0
    entries = 0
    flaky = []
    slowest = []
    abandoned = []
    partlyUsed = []
    drift = []
  }
}
