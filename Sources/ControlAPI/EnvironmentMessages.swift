package import Basics
package import EnvironmentConfiguration
package import Foundation
package import LaunchContract

/// The response to `POST /v1/environments` (201) and `GET /v1/environments/{id}`.
package struct ProvisionedEnvironment: Codable, Sendable {
  /// The launch contract as arguments, as variables, and as a document.
  package struct Contract: Codable, Sendable {
    /// Arguments for the command line: toggles and defaults as `-key value` pairs. They contain no secrets.
    package var arguments: [String]
    /// Environment variables: `DIORAMA_CONTRACT`, and those for programs in any language.
    package var environment: [String: String]
    /// The document without its secrets, which are in the file that `DIORAMA_CONTRACT` names.
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
  /// The absolute path of the HAR.
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
  /// When it expires, in RFC 3339; nil if it ends only with its owner.
  package var endsAt: String?
  /// The resources, by their names in the configuration; nil if there are none, or in lists.
  package var resources: [String: LeasedResource]?
  /// Messages for the user from provisioning, one line each.
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

/// The response to `GET /v1/environments`.
package struct EnvironmentList: Codable, Sendable {
  package var environments: [ProvisionedEnvironment]

  package init(environments: [ProvisionedEnvironment]) { self.environments = environments }
}

/// The body of `PATCH /v1/environments/{id}`, a merge patch (RFC 7396). The response is a ``Revision``.
package struct EnvironmentPatch: Codable, Sendable {
  /// `null` removes a toggle, and an object is merged into the old one.
  package var toggles: [String: JSON]?
  package var values: [String: JSON]?
  package var clock: EnvironmentConfiguration.Clock?
  package var mode: String?
  /// Replaces all faults.
  package var faults: [JSON]?
  /// How long apps may take to apply the change, in seconds; nil for 30.
  package var timeoutSeconds: Double?

  package init() {}
}

/// The number of a change that every following app has applied.
package struct Revision: Codable, Sendable {
  package var revision: Int

  package init(revision: Int) { self.revision = revision }
}

/// The body of `POST /v1/environments/{id}/clock`: exactly one of `advance` and `set`.
package struct ClockMoveRequest: Codable, Sendable {
  /// The number of seconds.
  package var advance: Double?
  /// RFC 3339.
  package var set: String?
  /// How many sleepers must be registered first.
  package var sleepers: Int?
  /// The time limit for all of it, in seconds; nil for 30.
  package var timeoutSeconds: Double?

  package init() {}
}

/// The result of a clock move.
package struct ClockMoveAnswer: Codable, Sendable {
  /// The time of the app's clock, in RFC 3339.
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

/// The response to `GET /v1/environments/{id}/journal?after=N`.
package struct JournalPage: Codable, Sendable {
  package struct Entry: Codable, Sendable, Equatable {
    /// From 1, without gaps.
    package var number: Int
    /// RFC 3339.
    package var time: String
    /// `replayed`, `recorded`, `forwarded`, `mocked`, `unmatched`, `failed`, `left`, `faulted` or `note`.
    package var kind: String
    package var method: String
    package var url: String
    package var status: Int
    /// The index of the interaction that was played.
    package var interaction: Int?
    package var detail: String?
    /// True if the test itself sent the request, to prepare something for the app; otherwise nil.
    package var setup: Bool?
    /// The request itself, only in a journal file with requests.
    package var request: Request?

    /// A request as the upstream would get it, with secrets redacted.
    package struct Request: Codable, Sendable, Equatable {
      /// The URL; that of the entry is the recorded one.
      package var url: String
      /// The header fields, each as `Name: value`.
      package var headers: [String]
      /// The body, if it was read completely and has at most 256 KiB.
      package var body: Data?
      /// The size of the body in bytes; nil if it is not known.
      package var size: Int?
      /// The key by which it was looked up in the cassette, in hexadecimal: equal for requests that the matching rules
      /// make equal. Nil if nothing is replayed.
      package var key: String?
      /// The number of the last entry when the request arrived. Entries up to this one were finished before it.
      package var after: Int

      package init(url: String, headers: [String], body: Data?, size: Int?, key: String?, after: Int) {
        self.url = url
        self.headers = headers
        self.body = body
        self.size = size
        self.key = key
        self.after = after
      }
    }

    package init(
      number: Int, time: String, kind: String, method: String, url: String, status: Int, interaction: Int?,
      detail: String?, setup: Bool? = nil, request: Request? = nil
    ) {
      self.setup = setup
      self.request = request
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
  /// The number of the last entry in this page. Pass it as `after` to get the next page.
  package var last: Int
  /// Whether more entries are available.
  package var more: Bool

  package init(entries: [Entry], last: Int, more: Bool) {
    self.entries = entries
    self.last = last
    self.more = more
  }
}
