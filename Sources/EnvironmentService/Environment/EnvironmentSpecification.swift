package import Basics
package import Cassettes
package import ControlAPI
package import EnvironmentConfiguration
package import Foundation
package import HTTPMessages
package import LaunchContract
import GRPCSchemas
import Transforms

/// A configuration with resolved origins, secrets, rules and ports.
package struct EnvironmentSpecification: Sendable, Codable {
  /// How time runs. The defaults depend on mode and cassette.
  package struct Clock: Sendable, Codable {
    /// `system`, `frozen`, `ticking`, `scaled` or `manual`. Default: `system` in `proxy`, else `frozen`.
    package var kind: String?
    /// Default: the recording date in `replay` and `extend`, otherwise now.
    package var start: Date?
    /// Seconds of the timeline per real second; used for `scaled` only.
    package var rate: Double = 1
    /// An IANA name. Default: the recorded one, otherwise the machine's.
    package var timeZone: String?
    /// An identifier such as `en_GB`. Default: the recorded one, otherwise the machine's.
    package var locale: String?

    package init() {}
  }

  /// A secret for the app's in-memory store.
  package struct Credential: Sendable {
    package var service: String
    package var account: String
    /// The access group that shares the secret; nil for the app's own.
    package var group: String?
    package var secret: [UInt8]

    package init(service: String, account: String, group: String? = nil, secret: [UInt8]) {
      self.service = service
      self.account = account
      self.group = group
      self.secret = secret
    }
  }

  /// The name in messages, such as the test's name.
  package var name: String
  /// What to do with requests.
  package var mode: Mode
  /// The cassette's path without extension; nil in `proxy` and `mock`.
  package var cassette: CassetteLocation?
  /// The path of a folder with stubs: `mappings` and `__files`; nil for none.
  package var stubs: String?
  /// The path of a file with collections; nil for none.
  package var collections: String?
  /// The faults from the start; nil for none.
  package var faults: [FaultSettings]?
  /// The path of an OpenAPI document; nil for none.
  package var openAPI: String?
  /// The paths of .proto files and descriptor sets of gRPC services; nil for none.
  package var proto: [String]?
  /// The folders of the files that these import; nil for none.
  package var protoPaths: [String]?
  /// Whether all texts of stubs' responses are templates; nil for false.
  package var stubsAreTemplates: Bool?
  /// The backends, by name. If empty, replay uses those of the cassette.
  package var upstreams: [CassetteHeader.Upstream] = []
  /// Upstream names by the variables of the command that are set to their endpoints' URLs.
  package var endpointVariables: [String: String]?
  /// The ports of endpoints by upstream name; the others get any free one.
  package var endpointPorts: [String: UInt16]?
  /// How to reach upstreams if their URL is not enough, by upstream name.
  package var access: [String: UpstreamAccess]?
  /// The environment's main port; nil for any free one.
  package var mainPort: UInt16?
  /// The seed of the string store. Default: the recorded one in `replay` and `extend`, otherwise a random one.
  package var seed: String?
  /// How time runs.
  package var clock = Clock()
  /// Feature toggles of the app.
  package var toggles: [String: JSON] = [:]
  /// User defaults of the app.
  package var defaults: [String: JSON] = [:]
  /// Values for the app's own keys.
  package var values: [String: JSON] = [:]
  /// Secrets in the app's in-memory credential store.
  package var credentials: [Credential] = []
  /// What the environment needs of the fleet's pools, by name; nil for nothing.
  package var resources: [String: ResourceQuery]?
  /// What it has of them: leased, or in their place what was recorded.
  package var leased: [String: LeasedResource]?
  /// Simulated faults of that store.
  package var credentialFaults: [LaunchContract.Credentials.Fault] = []
  /// Free ports for the app to bind, by name.
  package var ports: [String: UInt16] = [:]
  /// Whether each interaction plays only once (`playTracksUniquely` in Vinyl). Otherwise the last of equal interactions
  /// repeats.
  package var playsUniquely = false
  /// Changes to what counts as the same request.
  package var rules: MatchingRules?
  /// The order in which interactions play; nil for that of the rules, otherwise ``PlaybackOrder/request``.
  package var order: PlaybackOrder?
  /// How long a request that arrives before its turn is held, in seconds; nil for ``Environment/turnSeconds``.
  package var turnSeconds: Double?
  /// What to redact in recordings, in addition to the default.
  package var redaction = RedactionRules()
  /// Where upstream URLs in responses stay, in addition to the default; nil in a snapshot of an earlier version.
  package var rewriting: RewritingRules?
  /// The options of `diorama run`, quoted for a shell, except those for the mode, the cassette and output. The advice to
  /// record repeats them. Nil for other callers.
  package var options: [String]?
  /// The origins whose requests the replayed recording sent to another server; nil for none.
  package var mappedOrigins: [Origin]?
  /// What happens to old recordings and unused interactions.
  package var policies: CassettePolicies?
  /// Moves dates in replayed responses to the clock's time. Keys of tokens have been read.
  package var shift: ShiftRules?
  /// When to send the parts of recorded streams; nil for `instant`.
  package var streams: StreamPace?
  /// Additional host names that clients may use for endpoints. Web pages from these hosts may also use endpoints while
  /// the environment records or adds secrets to requests; `*` allows any.
  package var allowedHosts: [String] = []
  /// How the command is isolated; nil if it is not.
  package var isolation: EnvironmentConfiguration.Isolation?
  /// The maximum size of a decoded body in bytes; a larger one is kept as sent. Nil for 1 GiB.
  package var decodedLimit: Int?
  /// The path of a file for all journal entries, as NDJSON.
  package var journalFile: String?
  /// Whether the journal file also has the header fields and bodies of requests.
  package var journalsRequests = false
  /// Whether this is a continuous integration run, where `once` never records.
  package var isContinuousIntegration = false
  /// How to run the same again, for messages: the command after `--`, or a test's argument for `--filter`.
  package var command = "COMMAND"
  /// The interface in whose syntax messages give advice.
  package var caller = Caller.command
  /// The original configuration without secrets, for advice to clients of the control API; nil for other callers.
  package var asked: EnvironmentConfiguration?

  package init(name: String, mode: Mode) {
    self.name = name
    self.mode = mode
  }
}

extension EnvironmentSpecification.Credential: Codable {
  private enum CodingKeys: String, CodingKey {
    case service, account, group, secret
  }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    self.init(
      service: try container.decode(String.self, forKey: .service),
      account: try container.decode(String.self, forKey: .account),
      group: try container.decodeIfPresent(String.self, forKey: .group),
      secret: [UInt8](try container.decode(Data.self, forKey: .secret)))
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(service, forKey: .service)
    try container.encode(account, forKey: .account)
    try container.encodeIfPresent(group, forKey: .group)
    try container.encode(Data(secret), forKey: .secret)
  }
}

extension EnvironmentSpecification.Credential {
  /// The name and secret for a redactor.
  var named: (name: String, secret: [UInt8]) { ("\(service)/\(account)", secret) }
}

extension EnvironmentSpecification {
  /// The contents and faults of the app's credential store, for the contract; nil if there are none.
  var contractCredentials: LaunchContract.Credentials? {
    let credentials = credentials + resourceCredentials
    guard !credentials.isEmpty || !credentialFaults.isEmpty else { return nil }
    return LaunchContract.Credentials(
      items: credentials.map {
        .init(service: $0.service, account: $0.account, group: $0.group, secret: Data($0.secret))
      },
      faults: credentialFaults)
  }

  /// The redactor for everything that the environment saves. It redacts credentials, secrets in upstream headers, and
  /// what the rules name.
  ///
  /// - Parameters:
  ///   - token: the environment's token.
  ///   - schemas: the schemas of gRPC messages.
  /// - Returns: the redactor.
  /// - Throws: a ``CodedError`` of kind `usage` that names the first invalid rule.
  func redactor(token: String, schemas: GRPCSchemaSet) throws(CodedError) -> Redactor {
    let compiled = try redaction.compiled()
    return Redactor(
      (credentials + resourceCredentials + accessSecrets(compiled)).map(\.named), token: token, rules: compiled,
      decodedLimit: decodedLimit ?? Redactor.usualDecodedLimit, schemas: schemas)
  }

  /// Checks toggles, defaults and values.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` that names the first one that an app could not read.
  func checkValues() throws(CodedError) {
    try Self.check(toggles, "toggle")
    try Self.check(defaults, "default")
    try Self.check(values, "value")
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) {
      do { _ = try PropertyList(value, at: "the default '\(name)'") } catch { throw CodedError(.usage, error.problem) }
    }
  }

  /// Checks how deeply values are nested.
  ///
  /// - Parameters:
  ///   - values: the values, by name.
  ///   - what: the kind of value, for errors: `toggle`.
  /// - Throws: a ``CodedError`` of kind `usage` that names the first value nested too deeply.
  static func check(_ values: [String: JSON], _ what: String) throws(CodedError) {
    for (name, value) in values.sorted(by: { $0.key < $1.key }) where !value.isShallow {
      throw CodedError(
        .usage,
        "the \(what) '\(name)' has arrays and objects nested more than \(JSON.maximumDecodedDepth) levels deep; "
          + "flatten it, or pass it as a string")
    }
  }

  /// Checks the clock's rate.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` for a rate outside of 0.000001 to 1,000,000.
  func checkRate() throws(CodedError) {
    guard !(0.000_001...1_000_000 ~= clock.rate) else { return }
    throw CodedError(
      .usage, "the clock's rate \(clock.rate) is not between 0.000001 and 1000000; set it as in \(rateAdvice)")
  }
}
