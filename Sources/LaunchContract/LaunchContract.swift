package import Foundation

/// The document that a test hands to the app at launch: the world that it is to live in.
///
/// `INTERFACE.md`, "Launch contract", has its JSON. Both sides use this type: the environment writes it with
/// ``ContractWriter``, the app reads it with ``decode(argumentsOf:environment:)``.
package struct LaunchContract: Sendable, Equatable {
  /// The version that we write, and the highest that we read.
  package static let currentVersion = 1

  /// 1.
  package var version: Int
  /// Which environment this is.
  package var environment: Environment
  /// How it serves the network (`proxy`, `record`, `extend`, `replay`, `once`, `mock`), for the app's information.
  package var mode: String
  /// The app's time.
  package var clock: Clock
  /// What random values are derived from.
  package var seed: String
  /// Named switches and values for the app.
  package var toggles: [String: ContractValue]
  /// User defaults that the app is to find.
  package var defaults: [String: ContractValue]
  /// Whatever else the test has for the app, such as a location.
  package var values: [String: ContractValue]
  /// The local URL of each upstream, by its name.
  package var endpoints: [String: String]
  /// Leased ports by name, for the app to bind.
  package var ports: [String: Int]
  /// What the app's credential store is to hold; nil for nothing. It never is the machine's own store.
  package var credentials: Credentials?
  /// Where the app reports to; nil when nobody listens.
  package var control: Control?
  /// Where random values come from; nil: derived from the seed where there is one, else real.
  package var strings: Strings?
  /// Members that this version does not know, as paths (`clock.drift`), in order; they are never written.
  package var unknownFields: [String] = []

  package init(
    environment: Environment, mode: String, clock: Clock, seed: String, toggles: [String: ContractValue] = [:],
    defaults: [String: ContractValue] = [:], values: [String: ContractValue] = [:], endpoints: [String: String] = [:],
    ports: [String: Int] = [:], credentials: Credentials? = nil, control: Control? = nil, strings: Strings? = nil,
    version: Int = Self.currentVersion
  ) {
    self.version = version
    self.environment = environment
    self.mode = mode
    self.clock = clock
    self.seed = seed
    self.toggles = toggles
    self.defaults = defaults
    self.values = values
    self.endpoints = endpoints
    self.ports = ports
    self.credentials = credentials
    self.control = control
    self.strings = strings
  }

  /// The document as JSON, on one line; the same contract gives the same bytes.
  ///
  /// - Throws: `EncodingError`, for a number that JSON cannot hold.
  package func encodedDocument() throws -> Data {
    try ContractJSON.encode(self)
  }
}

extension LaunchContract {
  /// An environment's id and the name that its test gave it.
  package struct Environment: Codable, Sendable, Equatable {
    /// What the control API knows it by.
    package var id: String
    /// For people: `Booking/books a slot`.
    package var name: String

    package init(id: String, name: String) {
      self.id = id
      self.name = name
    }
  }

  /// Which time it is for the app, and how it goes on.
  package struct Clock: Sendable, Equatable {
    /// `INTERFACE.md`, "Clock kinds".
    package enum Kind: String, Codable, Sendable, CaseIterable {
      case system, frozen, ticking, scaled, manual
    }

    /// How time goes on.
    package var kind: Kind
    /// RFC 3339, as it was given; every kind but `system` needs it.
    package var start: String?
    /// Seconds of the app for one real second, 0.000001 to 1,000,000; counts for `scaled` only.
    package var rate: Double
    /// An IANA name such as `Europe/London`; nil for the machine's.
    package var timeZone: String?
    /// Such as `en_GB`; nil for the machine's.
    package var locale: String?
    /// RFC 3339, in real time: when the environment's clock showed `start`.
    ///
    /// By it all apps of an environment agree in `ticking` and `scaled`. Nil: when the app starts.
    package var provisioned: String?

    package init(
      kind: Kind, start: String? = nil, rate: Double = 1, timeZone: String? = nil, locale: String? = nil,
      provisioned: String? = nil
    ) {
      self.kind = kind
      self.start = start
      self.rate = rate
      self.timeZone = timeZone
      self.locale = locale
      self.provisioned = provisioned
    }
  }

  /// Where the app reports to, on the environment's main port.
  package struct Control: Codable, Sendable, Equatable {
    /// Such as `http://127.0.0.1:20011/__diorama`.
    package var url: String
    /// Sent as `Authorization: Bearer …`.
    package var token: Secret
    /// The last change of the environment that this contract has in it; later ones the app is told of while it runs.
    ///
    /// Nil where there is nothing to follow.
    package var revision: Int?

    package init(url: String, token: String, revision: Int? = nil) {
      self.url = url
      self.token = Secret(token)
      self.revision = revision
    }
  }

  /// Where random values come from.
  package struct Strings: Codable, Sendable, Equatable {
    /// The ways to come by a value.
    package enum Policy: String, Codable, Sendable, CaseIterable {
      /// Makes it from the seed and tells nobody.
      case derive
      /// Makes it from the seed, unless it is among the entries, and reports it before it is used.
      case report
      /// Reads it from the entries; what is not there is an error.
      case replay
    }

    /// What the app does for each value.
    package var policy: Policy
    /// What is recorded, by key and ordinal.
    package var entries: [String: [StringEntry?]]?
    /// Instead of `entries`: the absolute path of a `NAME.strings.json`.
    package var file: String?

    package init(policy: Policy, entries: [String: [StringEntry?]]? = nil, file: String? = nil) {
      self.policy = policy
      self.entries = entries
      self.file = file
    }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      policy = try container.decodeWord(Policy.self, forKey: .policy)
      entries = try container.decodeIfPresent([String: [StringEntry?]].self, forKey: .entries)
      file = try container.decodeIfPresent(String.self, forKey: .file)
    }
  }
}
