package import Basics
package import EnvironmentConfiguration
package import LaunchContract

/// The answer of `POST /v1/environments` (201) and of `GET /v1/environments/{id}`.
package struct ProvisionedEnvironment: Codable, Sendable {
  /// The launch contract in the forms in which it is handed over.
  package struct Contract: Codable, Sendable {
    /// What belongs to the command line: toggles and defaults as pairs. Never a secret.
    package var arguments: [String]
    /// Variables: `DIORAMA_CONTRACT` and those for programs in any language.
    package var environment: [String: String]
    /// The document itself; without secrets, which are in the file that `DIORAMA_CONTRACT` names.
    package var document: LaunchContract?

    package init(arguments: [String], environment: [String: String], document: LaunchContract?) {
      self.arguments = arguments
      self.environment = environment
      self.document = document
    }
  }

  package var id: String
  package var name: String
  /// `ready` or `ending`.
  package var state: String
  package var mode: String
  /// Absolute path of the HAR.
  package var cassette: String?
  /// The main port.
  package var port: Int
  /// URLs by upstream.
  package var endpoints: [String: String]
  /// Leased ports by name.
  package var ports: [String: Int]
  package var owner: Owner?
  /// RFC 3339.
  package var createdAt: String
  /// RFC 3339: when it ends by itself; nil where only its owner's end does.
  package var endsAt: String?
  /// Lines for the user about what provisioning found.
  package var notes: [String]
  /// Nil in lists.
  package var contract: Contract?

  package init(
    id: String, name: String, state: String, mode: String, cassette: String?, port: Int, endpoints: [String: String],
    ports: [String: Int], owner: Owner?, createdAt: String, endsAt: String?, notes: [String], contract: Contract?
  ) {
    self.id = id
    self.name = name
    self.state = state
    self.mode = mode
    self.cassette = cassette
    self.port = port
    self.endpoints = endpoints
    self.ports = ports
    self.owner = owner
    self.createdAt = createdAt
    self.endsAt = endsAt
    self.notes = notes
    self.contract = contract
  }
}

/// The answer of `GET /v1/environments`.
package struct EnvironmentList: Codable, Sendable {
  package var environments: [ProvisionedEnvironment]

  package init(environments: [ProvisionedEnvironment]) { self.environments = environments }
}

/// The body of `PATCH /v1/environments/{id}`, a merge patch (RFC 7396); the answer is ``Revision``.
package struct EnvironmentPatch: Codable, Sendable {
  /// `null` takes a toggle away, an object is merged.
  package var toggles: [String: JSON]?
  package var values: [String: JSON]?
  package var clock: EnvironmentConfiguration.Clock?
  package var mode: String?
  /// How long apps may take to apply it; 30 where it is left out.
  package var timeoutSeconds: Double?

  package init() {}
}

/// The number of a change, once every app that follows has applied it.
package struct Revision: Codable, Sendable {
  package var revision: Int

  package init(revision: Int) { self.revision = revision }
}

/// The body of `POST /v1/environments/{id}/clock`: exactly one of `advance` and `set`.
package struct ClockMoveRequest: Codable, Sendable {
  /// Seconds.
  package var advance: Double?
  /// RFC 3339.
  package var set: String?
  /// How many sleepers are to be registered first.
  package var sleepers: Int?
  /// How long all of it may take; 30 where it is left out.
  package var timeoutSeconds: Double?

  package init() {}
}

/// What a move came to.
package struct ClockMoveAnswer: Codable, Sendable {
  /// RFC 3339: what the app's clock shows.
  package var now: String
  package var revision: Int
  /// How many sleepers woke.
  package var woken: Int

  package init(now: String, revision: Int, woken: Int) {
    self.now = now
    self.revision = revision
    self.woken = woken
  }
}

/// The answer of `GET /v1/environments/{id}/journal?after=N`.
package struct JournalPage: Codable, Sendable {
  package struct Entry: Codable, Sendable, Equatable {
    /// From 1, without gaps.
    package var number: Int
    /// RFC 3339.
    package var time: String
    /// `replayed`, `recorded`, `forwarded`, `mocked`, `unmatched`, `failed` or `note`.
    package var kind: String
    package var method: String
    package var url: String
    package var status: Int
    /// The index of the interaction that was played.
    package var interaction: Int?
    package var detail: String?

    package init(
      number: Int, time: String, kind: String, method: String, url: String, status: Int, interaction: Int?,
      detail: String?
    ) {
      self.number = number
      self.time = time
      self.kind = kind
      self.method = method
      self.url = url
      self.status = status
      self.interaction = interaction
      self.detail = detail
    }
  }

  package var entries: [Entry]
  /// The number of the last entry in this page; ask with `after` of it for what follows.
  package var last: Int
  /// Whether there is more already.
  package var more: Bool

  package init(entries: [Entry], last: Int, more: Bool) {
    self.entries = entries
    self.last = last
    self.more = more
  }
}
