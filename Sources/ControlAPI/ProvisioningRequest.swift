package import Basics
package import LaunchContract

/// The body of `POST /v1/environments`: the environment to provision.
///
/// Every member may be left out; a member that is not known is refused, so that a typing error does not go unnoticed.
package struct ProvisioningRequest: Codable, Sendable, Equatable {
  /// What a person calls it, such as the test's name.
  package var name: String?
  /// `proxy`, `record`, `extend`, `replay`, `once` (the default) or `mock`.
  package var mode: String?
  /// An absolute path, with or without `.har`.
  package var cassette: String?
  /// Origins by name.
  package var upstreams: [String: String]?
  /// How upstreams are reached, by their names, where the origin does not say it all.
  package var access: [String: UpstreamAccess]?
  /// How time runs.
  package var clock: ClockSettings?
  /// Seed of the string store.
  package var seed: String?
  /// Switches and values that steer the app.
  package var toggles: [String: JSON]?
  /// User defaults for the app.
  package var defaults: [String: JSON]?
  /// Values for the app's own keys.
  package var values: [String: JSON]?
  /// For the app's in-memory store.
  package var credentials: [Credential]?
  /// The trouble that the app's store is in.
  package var credentialFaults: [LaunchContract.Credentials.Fault]?
  /// What is taken out of a recording beside what always is.
  package var redact: RedactionRules?
  /// Moves dates in recorded answers to the clock's time.
  package var shift: ShiftRules?
  /// Names of free ports that are leased for the environment, for the app to bind.
  package var ports: [String]?
  /// Whose end is the environment's end.
  package var owner: Owner?
  /// After so many seconds the environment ends; 3600 where no owner is given.
  package var ttlSeconds: Double?
  /// Whether each interaction is played once.
  package var playsUniquely: Bool?
  /// What counts as the same request, as a rules file has it.
  package var rules: JSON?
  /// `strict`, `request` (the default), `state` or `free`.
  package var order: String?
  /// What is to become of an old recording, and of interactions that are not used.
  package var policies: PolicySettings?
  /// When the parts of recorded streams leave: `instant` (the default), `recorded`, `scaled:FACTOR` or `timeline`.
  package var streams: String?
  /// Hosts beside the endpoints' and the upstreams' own by which clients may address endpoints, and whose pages may use
  /// them while the environment records or adds secrets to requests; `*` stands for all.
  package var allowedHosts: [String]?
  /// The most bytes to which a body is decoded; one that has more is kept as it was sent. 1 GiB where it is left out.
  package var decodedLimit: Int?
  /// What a person types to run the same again, for messages.
  package var command: String?
  /// The kind of client, whose terms advice in messages uses: `command`, `test` or `api` (the default).
  package var caller: String?

  package init() {}
}

/// How time runs: the members of `clock`.
package struct ClockSettings: Codable, Sendable, Equatable {
  /// `system`, `frozen`, `ticking`, `scaled` or `manual`.
  package var kind: String?
  /// RFC 3339.
  package var start: String?
  /// Seconds of the clock in a real second, for `scaled`.
  package var rate: Double?
  /// An IANA name.
  package var timeZone: String?
  /// Such as `en_GB`.
  package var locale: String?

  package init(
    kind: String? = nil, start: String? = nil, rate: Double? = nil, timeZone: String? = nil, locale: String? = nil
  ) {
    self.kind = kind
    self.start = start
    self.rate = rate
    self.timeZone = timeZone
    self.locale = locale
  }
}

/// What is to become of an old recording, and of interactions that are not used: the members of `policies`.
package struct PolicySettings: Codable, Sendable, Equatable {
  /// Days after which a recording that is replayed has expired.
  package var expiresAfterDays: Double?
  /// What then: `fail` (the default) or `warn`.
  package var expired: String?
  /// Days after which `once` re-records.
  package var recordsAnewAfterDays: Double?
  /// What about interactions that a replay has not used: `warn` (the default) or `fail`.
  package var unused: String?

  package init(
    expiresAfterDays: Double? = nil, expired: String? = nil, recordsAnewAfterDays: Double? = nil, unused: String? = nil
  ) {
    self.expiresAfterDays = expiresAfterDays
    self.expired = expired
    self.recordsAnewAfterDays = recordsAnewAfterDays
    self.unused = unused
  }
}

/// A secret for the app's store; `secret` is base64, `text` the same as plain text.
package struct Credential: Codable, Sendable, Equatable {
  package var service: String
  package var account: String
  /// The access group that shares it; nil for the app's own.
  package var group: String?
  /// Base64.
  package var secret: Secret?
  /// Instead of `secret`.
  package var text: Secret?

  package init(service: String, account: String, group: String? = nil, secret: Secret? = nil, text: Secret? = nil) {
    self.service = service
    self.account = account
    self.group = group
    self.secret = secret
    self.text = text
  }
}

/// A process, by its id; the daemon looks up when it started, since ids recur.
package struct Owner: Codable, Sendable, Equatable {
  package var pid: Int32

  package init(pid: Int32) { self.pid = pid }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    let number = try container.decode(Int.self, forKey: .pid)
    guard let pid = Int32(exactly: number) else {
      throw DecodingError.dataCorruptedError(
        forKey: .pid, in: container, debugDescription: "\(number) is no process id")
    }
    self.pid = pid
  }
}
