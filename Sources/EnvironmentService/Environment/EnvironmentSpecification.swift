package import Basics
package import Cassettes
package import EnvironmentConfiguration
package import Foundation
package import LaunchContract
import Transforms

/// A configuration with all that it refers to resolved: origins, secrets, rules, ports.
package struct EnvironmentSpecification: Sendable, Codable {
  /// How time runs; what is nil follows from mode and cassette.
  package struct Clock: Sendable, Codable {
    /// `system`, `frozen`, `ticking`, `scaled` or `manual`. Default: `system` in `proxy`, else `frozen`.
    package var kind: String?
    /// Default: the recording date in `replay` and `extend`, else now.
    package var start: Date?
    /// Seconds of the timeline in a real second, for `scaled`.
    package var rate: Double = 1
    /// An IANA name. Default: as recorded, else the machine's.
    package var timeZone: String?
    /// Default: as recorded, else the machine's.
    package var locale: String?

    package init() {}
  }

  /// A secret for the app's in-memory store.
  package struct Credential: Sendable {
    package var service: String
    package var account: String
    /// The access group that shares it; nil for the app's own.
    package var group: String?
    package var secret: [UInt8]

    package init(service: String, account: String, group: String? = nil, secret: [UInt8]) {
      self.service = service
      self.account = account
      self.group = group
      self.secret = secret
    }
  }

  /// What a person calls it, such as the test's name.
  package var name: String
  /// What to do with requests.
  package var mode: Mode
  /// The cassette's path without ending; nil in `proxy` and `mock`.
  package var cassette: CassetteLocation?
  /// The backends, by name. In replay the cassette's own serve when there are none.
  package var upstreams: [CassetteHeader.Upstream] = []
  /// Variables of the command that are set to the URL of an upstream's endpoint: upstreams by variable.
  package var endpointVariables: [String: String]?
  /// How upstreams are reached, by their names, where the URL does not say it all; nil: as it says.
  package var access: [String: UpstreamAccess]?
  /// Seed of the string store; in replay and `extend` the recorded one is the default, else a random one.
  package var seed: String?
  /// How time runs.
  package var clock = Clock()
  /// Switches and values that steer the app.
  package var toggles: [String: JSON] = [:]
  /// User defaults for the app.
  package var defaults: [String: JSON] = [:]
  /// Values for the app's own keys.
  package var values: [String: JSON] = [:]
  /// For the app's in-memory store.
  package var credentials: [Credential] = []
  /// The trouble that the app's in-memory store is in.
  package var credentialFaults: [LaunchContract.Credentials.Fault] = []
  /// Free ports by name, which the app binds itself.
  package var ports: [String: UInt16] = [:]
  /// Whether each interaction is played once (Vinyl's `playTracksUniquely`); else the last of equal ones repeats.
  package var playsUniquely = false
  /// What counts as the same request where that is not the default.
  package var rules: MatchingRules?
  /// In which order interactions play; nil: what the rules say, else each request's repeats as recorded.
  package var order: PlaybackOrder?
  /// Seconds for which a request that comes before its turn is held; nil: ``Environment/turnSeconds``.
  package var turnSeconds: Double?
  /// What is redacted in recordings beside what always is.
  package var redaction = RedactionRules()
  /// What the command was given to keep secrets out, as it was written: advice repeats it, since a recording without it
  /// would have them.
  package var secrecyOptions: [String] = []
  /// What is to become of an old recording, and of interactions that are not used.
  package var policies: CassettePolicies?
  /// Moves dates in recorded answers to the clock's time. Keys of tokens are texts.
  package var shift: ShiftRules?
  /// When the parts of recorded streams leave; nil: `instant`.
  package var streams: StreamPace?
  /// Hosts beside the endpoints' and the upstreams' own by which clients may address endpoints, and whose pages may use
  /// them while the environment records or adds secrets to requests; `*` stands for all.
  package var allowedHosts: [String] = []
  /// The most bytes to which a body is decoded; one that has more is kept as it was sent. Nil: 1 GiB.
  package var decodedLimit: Int?
  /// A file for all journal entries as NDJSON.
  package var journalFile: String?
  /// Whether this is a continuous integration run, where `once` never records.
  package var isContinuousIntegration = false
  /// What a person types after `--` to run the same again, or after `--filter` where it is a test, for messages.
  package var command = "COMMAND"
  /// In whose words messages give advice.
  package var caller = Caller.command
  /// The configuration that it was made of, without secrets, for advice to programs; nil where there is none.
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
  /// As a redactor takes it.
  var named: (name: String, secret: [UInt8]) { ("\(service)/\(account)", secret) }
}

extension EnvironmentSpecification {
  /// What the app's credential store is to hold, as the contract has it; nil for nothing.
  package var contractCredentials: LaunchContract.Credentials? {
    guard !credentials.isEmpty || !credentialFaults.isEmpty else { return nil }
    return LaunchContract.Credentials(
      items: credentials.map {
        .init(service: $0.service, account: $0.account, group: $0.group, secret: Data($0.secret))
      },
      faults: credentialFaults)
  }

  /// What redacts all that is kept of the environment: credentials, and what the rules name.
  ///
  /// - Throws: a ``CodedError`` of kind `usage` naming the first rule that cannot be used.
  func redactor(token: String) throws(CodedError) -> Redactor {
    let compiled = try redaction.compiled()
    return Redactor(
      (credentials + accessSecrets(compiled)).map(\.named), token: token, rules: compiled,
      decodedLimit: decodedLimit ?? Redactor.usualDecodedLimit)
  }

  /// - Throws: a ``CodedError`` of kind `usage` naming the first toggle, default or value that no app could take.
  func checkValues() throws(CodedError) {
    try Self.check(toggles, "toggle")
    try Self.check(defaults, "default")
    try Self.check(values, "value")
    for (name, value) in defaults.sorted(by: { $0.key < $1.key }) {
      do throws(CodedError) {
        _ = try PropertyList(value, at: "the default '\(name)'")
      } catch {
        throw CodedError(.usage, error.problem)
      }
    }
  }

  /// - Parameters:
  ///   - values: by name.
  ///   - what: what one of them is called.
  /// - Throws: a ``CodedError`` of kind `usage`.
  static func check(_ values: [String: JSON], _ what: String) throws(CodedError) {
    for (name, value) in values.sorted(by: { $0.key < $1.key }) where !value.isShallow {
      throw CodedError(
        .usage,
        "the \(what) '\(name)' has arrays and objects more than \(JSON.maximumDecodedDepth) deep in each other; "
          + "flatten it, or give it as a string")
    }
  }

  /// - Throws: a ``CodedError`` of kind `usage` for a rate that no clock can run at.
  func checkRate() throws(CodedError) {
    guard !(0.000_001...1_000_000 ~= clock.rate) else { return }
    throw CodedError(
      .usage, "the clock's rate \(clock.rate) is not between 0.000001 and 1000000; give one as in \(rateAdvice)")
  }
}
