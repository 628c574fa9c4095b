package import Foundation

/// The document that a test passes to the app at launch; it describes the app's environment.
///
/// `INTERFACE.md`, "Launch contract", specifies the JSON. The environment writes it with ``ContractWriter``; the app reads
/// it with ``decode(argumentsOf:environment:)``.
package struct LaunchContract: Sendable, Equatable {
  /// The version that is written, and the highest that is read.
  package static let currentVersion = 1

  /// 1.
  package var version: Int
  /// The environment's identity.
  package var environment: Environment
  /// How the network is served (`proxy`, `record`, `extend`, `replay`, `once`, `mock`), for the app's information.
  package var mode: String
  /// The app's time.
  package var clock: Clock
  /// The seed from which random values are derived.
  package var seed: String
  /// Named switches and values for the app.
  package var toggles: [String: ContractValue]
  /// User defaults for the app.
  package var defaults: [String: ContractValue]
  /// Other values for the app, such as a location.
  package var values: [String: ContractValue]
  /// The local URL of each upstream, by its name.
  package var endpoints: [String: String]
  /// Leased ports by name, for the app to bind.
  package var ports: [String: Int]
  /// The content of the app's credential store, which is never the machine's own; nil for none.
  package var credentials: Credentials?
  /// Where the app sends reports; nil for nowhere.
  package var control: Control?
  /// The source of random values; nil: derived from the seed if set, else real.
  package var strings: Strings?
  /// Members unknown to this version, as sorted paths (`clock.drift`); they are never written.
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

  /// Encodes the document as JSON on one line; equal contracts give equal bytes.
  ///
  /// - Throws: `EncodingError` for a number that JSON cannot express.
  package func encodedDocument() throws -> Data {
    try ContractJSON.encode(self)
  }
}

extension LaunchContract {
  /// An environment's ID and the name given by its test.
  package struct Environment: Codable, Sendable, Equatable {
    /// The ID in the control API.
    package var id: String
    /// The display name, such as `Booking/books a slot`.
    package var name: String

    package init(id: String, name: String) {
      self.id = id
      self.name = name
    }
  }

  /// The app's time and how it advances.
  package struct Clock: Sendable, Equatable {
    /// See `INTERFACE.md`, "Clock kinds".
    package enum Kind: String, Codable, Sendable, CaseIterable {
      case system, frozen, ticking, scaled, manual
    }

    /// How time advances.
    package var kind: Kind
    /// The start time in RFC 3339 as given; required for every kind but `system`.
    package var start: String?
    /// Seconds of the app per real second, 0.000001 to 1,000,000; used for `scaled` only.
    package var rate: Double
    /// An IANA name such as `Europe/London`; nil for the machine's time zone.
    package var timeZone: String?
    /// A locale such as `en_GB`; nil for the machine's.
    package var locale: String?
    /// The real time in RFC 3339 at which the environment's clock showed `start`.
    ///
    /// Keeps all apps of an environment in sync for `ticking` and `scaled`. Nil: when the app starts.
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

  /// Where the app sends reports: the environment's main port.
  package struct Control: Codable, Sendable, Equatable {
    /// A URL such as `http://127.0.0.1:20011/__diorama`.
    package var url: String
    /// Sent as `Authorization: Bearer …`.
    package var token: Secret
    /// The latest change of the environment included in this contract; the app receives later ones while it runs.
    ///
    /// Nil if changes cannot be followed.
    package var revision: Int?

    package init(url: String, token: String, revision: Int? = nil) {
      self.url = url
      self.token = Secret(token)
      self.revision = revision
    }
  }

  /// The source of random values.
  package struct Strings: Codable, Sendable, Equatable {
    /// How the app obtains a value.
    package enum Policy: String, Codable, Sendable, CaseIterable {
      /// Derives it from the seed without reporting it.
      case derive
      /// Derives it from the seed unless it is in the entries, and reports it before use.
      case report
      /// Reads it from the entries; a missing value is an error.
      case replay
    }

    /// How the app obtains each value.
    package var policy: Policy
    /// The recorded values, by key and ordinal.
    package var entries: [String: [StringEntry?]]?
    /// In place of `entries`: the absolute path of a `NAME.strings.json`.
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
