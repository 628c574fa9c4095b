package import Basics
package import Cassettes
package import ControlAPI
package import Foundation
package import LaunchContract

/// The environment that a test asks for.
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
  /// What counts as the same request; nil: what is declared beside the cassette, else as INTERFACE.md has it.
  package var rules: MatchingRules?
  /// The file from which ``rules`` were read, as it was given; nil where they were not.
  package var rulesFile: String?
  /// In which order interactions play; nil: what the rules say, else each request's repeats as recorded.
  package var order: PlaybackOrder?
  /// Seconds for which a request that comes before its turn is held; nil: ``Environment/turnSeconds``.
  package var turnSeconds: Double?
  /// What is taken out of recordings beside what always is; files beside the cassette add to it.
  package var redaction = RedactionRules()
  /// What the command was given to keep secrets out, as it was written: advice repeats it, since a recording without it
  /// would have them.
  package var secrecyOptions: [String] = []
  /// What is to become of an old recording, and of interactions that are not used.
  package var policies: CassettePolicies?
  /// Moves dates in recorded answers to the clock's time; nil: only where a file beside the cassette says so. Keys of
  /// tokens are texts. Empty: as that file says, where there is one.
  package var shift: ShiftRules?
  /// The file from which ``shift`` was read, as it was given; nil where it was not.
  package var shiftFile: String?
  /// When the parts of recorded streams leave; nil: `instant`.
  package var streams: StreamPace?
  /// Hosts beside the endpoints' and the upstreams' own by which clients may address endpoints, and whose pages may use
  /// them while the environment records or adds secrets to requests; `*` stands for all.
  package var allowedHosts: [String] = []
  /// The most bytes to which a body is decoded; one that has more is kept as it was sent. Nil: 1 GiB.
  package var decodedLimit: Int?
  /// Between which numbers ``decodedLimit`` has to be.
  package static let decodedLimits = 1...1 << 40
  /// A file for all journal entries as NDJSON.
  package var journalFile: String?
  /// Whether this is a continuous integration run, where `once` never records.
  package var isContinuousIntegration = false
  /// What a person types after `--` to run the same again, or after `--filter` where it is a test, for messages.
  package var command = "COMMAND"
  /// In whose words messages give advice.
  package var caller = Caller.command

  package init(name: String, mode: Mode) {
    self.name = name
    self.mode = mode
  }
}
