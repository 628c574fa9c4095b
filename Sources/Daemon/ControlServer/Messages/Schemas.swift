import EnvironmentConfiguration
import LaunchContract

/// The schemas that have a name: every message of the control API.
enum Schemas {
  /// By their names in the document, in which each refers to others.
  static let all: [String: Schema] = [
    "Health": health, "Problem": problem,
    "ProvisioningRequest": provisioningRequest, "ClockSettings": EnvironmentConfiguration.clockSettings,
    "MatchingRules": EnvironmentConfiguration.matchingRules.accepting(.api),
    "MatchingRule": EnvironmentConfiguration.rule,
    "CredentialFault": EnvironmentConfiguration.credentialFault, "Owner": owner,
    "ProvisionedEnvironment": provisionedEnvironment, "EnvironmentList": environmentList, "Contract": contract,
    "LaunchContract": launchContract,
    "EnvironmentPatch": environmentPatch, "Revision": revision,
    "ClockMoveRequest": clockMoveRequest, "ClockMoveAnswer": clockMoveAnswer,
    "StringRequest": stringRequest, "StringAnswer": stringAnswer,
    "JournalPage": journalPage, "JournalEntry": journalEntry, "Report": report,
    "PortsRequest": portsRequest, "PortList": portList, "Lease": lease,
  ]

  /// One of them; the names are all written in this target, and a test asks for each.
  static func named(_ name: String) -> Schema { all[name] ?? .anything }

  /// What one request may ask for.
  enum Limits {
    /// Ports in one request.
    static let ports = 1000
    /// Thirty days, in seconds.
    static let timeToLive = 2_592_000.0
    /// The longest wait that a daemon can be set to allow, in seconds.
    static let wait = 86_400.0
    /// Linux gives no process a higher id.
    static let processID = 4_194_304
  }

  static let settings = EnvironmentConfiguration.named
  static let port = Schema.integer(1...65_535)
  static let mode = EnvironmentConfiguration.modes
  static let clockKind = EnvironmentConfiguration.clockKind
  static let timeout = Schema.number(0...Limits.wait)
  static let timeToLive = Schema.number(0.1...Limits.timeToLive)
  static let identifier = Schema.text(.identifier, 1...100)

  /// The configuration, and how long the environment lives.
  static let provisioningRequest = Schema.record(
    "The environment that a program asks for; every member may be left out.",
    EnvironmentConfiguration.members + [
      .optional("owner", .reference("Owner"), "The environment ends when this process does."),
      .optional(
        "ttlSeconds", timeToLive, "The environment ends after this many seconds; 3600 where no owner is given."),
    ]
  ).accepting(.api)

  private static let owner = Schema.record(
    "A process, by its id; the daemon looks up when it started, because ids are reused.",
    [.required("pid", .integer(1...Limits.processID))])
}

extension Schema {
  /// A schema of ``Schemas``, by its name.
  static func reference(_ name: String) -> Schema { .named(name) { Schemas.named(name) } }
}
