package import Basics
import Foundation
package import LaunchContract

/// What a test asks for. The project file, the command's options, the control API and the Swift API all make this value.
///
/// Each setting is declared once, in ``members``. All settings are optional.
///
/// ```swift
/// var configuration = EnvironmentConfiguration()
/// configuration.cassette = "Cassettes/login"
/// configuration.upstreams = ["api": "https://api.example.com"]
/// configuration.clock = .init(kind: "manual", start: "2018-10-08T09:00:00Z")
/// ```
package struct EnvironmentConfiguration: Codable, Sendable, Equatable {
  package var name: String?
  package var mode: String?
  package var cassette: String?
  package var stubs: String?
  package var stubTemplates: Bool?
  package var collections: String?
  /// Objects, or texts in the short form of ``FaultSettings``.
  @Omittable package var faults: [JSON] = []
  package var openapi: String?
  @Omittable package var proto: [String] = []
  @Omittable package var protoPaths: [String] = []
  @Omittable package var upstreams: [String: Upstream] = [:]
  package var clock: Clock?
  package var seed: String?
  @Omittable package var toggles: [String: JSON] = [:]
  @Omittable package var defaults: [String: JSON] = [:]
  @Omittable package var values: [String: JSON] = [:]
  @Omittable package var credentials: [Credential] = []
  @Omittable package var credentialFaults: [LaunchContract.Credentials.Fault] = []
  @Omittable package var resources: [String: ResourceQuery] = [:]
  package var matching: MatchingRules?
  package var redaction: RedactionRules?
  package var rewriting: RewritingRules?
  package var dates: ShiftRules?
  package var policies: Policies?
  package var streams: String?
  @Omittable package var ports: [String] = []
  @Omittable package var allowedHosts: [String] = []
  package var decodedLimit: Int?
  package var isolation: Isolation?
  package var command: String?
  package var caller: String?

  package init() {}

  /// How time runs.
  package struct Clock: Codable, Sendable, Equatable {
    package var kind: String?
    package var start: String?
    package var rate: Double?
    package var timeZone: String?
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

  /// A real backend: its URL, and how to reach it if the URL is not enough.
  ///
  /// Only the URL is recorded, and only the URL counts when requests are matched. Without a URL, the cassette's is used.
  package struct Upstream: Sendable, Equatable {
    package var url: String?
    package var access = UpstreamAccess()
    /// A variable of the command that is set to the endpoint's URL.
    package var variable: String?
    /// The endpoint's port; nil for any free one.
    package var port: Int?

    package init(
      url: String? = nil, access: UpstreamAccess = UpstreamAccess(), variable: String? = nil, port: Int? = nil
    ) {
      self.url = url
      self.access = access
      self.variable = variable
      self.port = port
    }
  }

  /// A secret for the app's store: one of `secret` (Base64), `text` and `from`.
  package struct Credential: Codable, Sendable, Equatable {
    package var service: String
    package var account: String
    /// The access group that shares it; nil for the app's own.
    package var group: String?
    /// Base64.
    package var secret: Secret?
    package var text: Secret?
    /// `env:VAR` or `file:PATH`.
    package var from: String?

    package init(
      service: String, account: String, group: String? = nil, secret: Secret? = nil, text: Secret? = nil,
      from: String? = nil
    ) {
      self.service = service
      self.account = account
      self.group = group
      self.secret = secret
      self.text = text
      self.from = from
    }

    /// The secret; nil if it is missing or not yet read from ``from``.
    package var bytes: [UInt8]? {
      secret.map { Data(base64Encoded: $0.revealed).map(Array.init) ?? [] } ?? text.map { Array($0.revealed.utf8) }
    }
  }

  /// How `diorama run` isolates a command, and what it may reach.
  package struct Isolation: Codable, Sendable, Equatable {
    /// `auto`, `namespaces`, `seccomp`, `proxy` or `off`; nil for `off`.
    package var kind: String?
    /// The hosts that may be reached while recording, in the form of ``HostPattern``; empty for all.
    @Omittable package var allow: [String] = []
    /// The hosts that are refused in every mode.
    @Omittable package var deny: [String] = []
    /// Where the requests for an origin are sent instead.
    @Omittable package var map: [String: String] = [:]
    /// Ports of the command that can be reached from outside, as `[HOST:]PORT`.
    @Omittable package var publish: [String] = []
    /// Ports of this machine that the command can reach.
    @Omittable package var hostPorts: [Int] = []
    /// Whether random values of the command depend on the environment's seed.
    package var random: Bool?

    package init() {}

    /// These settings, completed by those that are more general.
    func inside(_ general: Self) -> Self {
      var all = general
      all.kind = kind ?? general.kind
      all.allow.appendNew(allow)
      all.deny.appendNew(deny)
      all.map.merge(map) { $1 }
      all.publish.appendNew(publish)
      all.hostPorts.appendNew(hostPorts)
      all.random = random ?? general.random
      return all
    }
  }

  /// What happens to old recordings, unused interactions, and runs that fail.
  package struct Policies: Codable, Sendable, Equatable {
    package var expiresAfterDays: Double?
    package var expired: String?
    package var rerecordAfterDays: Double?
    package var unused: String?
    package var failedRecording: String?
    package var allowNoRequests: Bool?
    package var allowUpstreamFailures: Bool?

    package init(
      expiresAfterDays: Double? = nil, expired: String? = nil, rerecordAfterDays: Double? = nil,
      unused: String? = nil, failedRecording: String? = nil, allowNoRequests: Bool? = nil,
      allowUpstreamFailures: Bool? = nil
    ) {
      self.expiresAfterDays = expiresAfterDays
      self.expired = expired
      self.rerecordAfterDays = rerecordAfterDays
      self.unused = unused
      self.failedRecording = failedRecording
      self.allowNoRequests = allowNoRequests
      self.allowUpstreamFailures = allowUpstreamFailures
    }

    /// These policies, completed by those that are more general.
    func completed(by general: Self) -> Self {
      Self(
        expiresAfterDays: expiresAfterDays ?? general.expiresAfterDays, expired: expired ?? general.expired,
        rerecordAfterDays: rerecordAfterDays ?? general.rerecordAfterDays, unused: unused ?? general.unused,
        failedRecording: failedRecording ?? general.failedRecording,
        allowNoRequests: allowNoRequests ?? general.allowNoRequests,
        allowUpstreamFailures: allowUpstreamFailures ?? general.allowUpstreamFailures)
    }
  }
}

/// How to reach an upstream if its URL is not enough: headers, trusted CAs, a client certificate.
package struct UpstreamAccess: Codable, Sendable, Equatable {
  /// Header fields that are set on every request to it.
  package var headers: [String: Secret]?
  /// The path of a PEM file with the only trusted CAs.
  package var ca: String?
  /// The path of a PEM file with the client certificate, and its key unless `clientKey` has it.
  package var clientCertificate: String?
  /// The path of a PEM file with the key of `clientCertificate`; it has no password.
  package var clientKey: String?
  /// Whether to skip certificate verification.
  package var insecure: Bool?

  package init(
    headers: [String: Secret]? = nil, ca: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil,
    insecure: Bool? = nil
  ) {
    self.headers = headers
    self.ca = ca
    self.clientCertificate = clientCertificate
    self.clientKey = clientKey
    self.insecure = insecure
  }
}

extension EnvironmentConfiguration.Upstream: Codable, ExpressibleByStringLiteral {
  private enum CodingKeys: String, CodingKey { case url, variable, port }

  package init(stringLiteral value: String) { self.init(url: value) }

  package init(from decoder: any Decoder) throws {
    if let text = try? decoder.singleValueContainer().decode(String.self) {
      self.init(url: text)
    } else {
      let container = try decoder.container(keyedBy: CodingKeys.self)
      self.init(
        url: try container.decodeIfPresent(String.self, forKey: .url),
        access: try UpstreamAccess(from: decoder),
        variable: try container.decodeIfPresent(String.self, forKey: .variable),
        port: try container.decodeIfPresent(Int.self, forKey: .port))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    if let url, self == Self(url: url) {
      var container = encoder.singleValueContainer()
      try container.encode(url)
    } else {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encodeIfPresent(url, forKey: .url)
      try container.encodeIfPresent(variable, forKey: .variable)
      try container.encodeIfPresent(port, forKey: .port)
      try access.encode(to: encoder)
    }
  }
}

extension EnvironmentConfiguration {
  /// Combines this configuration with a more general one, such as a test's with its suite's.
  ///
  /// Settings with names, such as toggles and upstreams, are combined by name. Lists and rules are added to the general
  /// ones. Any other setting replaces the general one.
  package func inside(_ general: EnvironmentConfiguration) -> EnvironmentConfiguration {
    var all = self
    all.name = name ?? general.name
    all.mode = mode ?? general.mode
    all.cassette = cassette ?? general.cassette
    all.stubs = stubs ?? general.stubs
    all.stubTemplates = stubTemplates ?? general.stubTemplates
    all.collections = collections ?? general.collections
    // More special faults come first.
    all.faults += general.faults
    all.openapi = openapi ?? general.openapi
    all.proto = general.proto
    all.proto.appendNew(proto)
    // More special folders come first.
    all.protoPaths.appendNew(general.protoPaths)
    all.upstreams = general.upstreams.merging(upstreams) { old, new in
      Upstream(
        url: new.url ?? old.url, access: new.access == UpstreamAccess() ? old.access : new.access,
        variable: new.variable ?? old.variable, port: new.port ?? old.port)
    }
    all.clock = clock ?? general.clock
    all.seed = seed ?? general.seed
    all.toggles = general.toggles.merging(toggles) { $1 }
    all.defaults = general.defaults.merging(defaults) { $1 }
    all.values = general.values.merging(values) { $1 }
    all.credentials =
      general.credentials.filter { old in !credentials.contains { $0.identity == old.identity } } + credentials
    // If two faults affect the same call, the first one counts.
    all.credentialFaults += general.credentialFaults
    all.resources = general.resources.merging(resources) { $1 }
    all.matching = general.matching.map { (matching ?? MatchingRules()).inside($0) } ?? matching
    all.redaction = general.redaction.map { $0.adding(redaction ?? RedactionRules()) } ?? redaction
    all.rewriting = general.rewriting.map { $0.adding(rewriting ?? RewritingRules()) } ?? rewriting
    all.dates = general.dates.map { $0.adding(dates ?? ShiftRules()) } ?? dates
    all.policies = general.policies.map { policies?.completed(by: $0) ?? $0 } ?? policies
    all.streams = streams ?? general.streams
    all.ports = general.ports
    all.ports.appendNew(ports)
    all.allowedHosts = general.allowedHosts
    all.allowedHosts.appendNew(allowedHosts)
    all.decodedLimit = decodedLimit ?? general.decodedLimit
    all.isolation = general.isolation.map { (isolation ?? Isolation()).inside($0) } ?? isolation
    all.command = command ?? general.command
    all.caller = caller ?? general.caller
    return all
  }
}

extension EnvironmentConfiguration.Credential {
  /// What identifies it.
  package var identity: [String?] { [service, account, group] }
}
