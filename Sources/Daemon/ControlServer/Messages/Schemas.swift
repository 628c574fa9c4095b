import LaunchContract

/// The schemas that have a name: every message of the control API.
enum Schemas {
  /// By their names in the document, in which each refers to others.
  static let all: [String: Schema] = [
    "Health": health, "Problem": problem,
    "ProvisioningRequest": provisioningRequest, "MatchingRules": matchingRules, "MatchingRule": matchingRule,
    "RedactionRules": redactionRules, "ShiftRules": shiftRules, "ClockSettings": clockSettings,
    "Credential": credential, "PolicySettings": policySettings, "UpstreamAccess": upstreamAccess,
    "CredentialFault": credentialFault, "Owner": owner,
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
    /// Upstreams and ports of an environment, each of which is a port of the pool.
    static let things = 64
    /// Credentials, and troubles of their store.
    static let credentials = 1000
    /// Toggles, defaults, values: lines in a document.
    static let settings = 10_000
    /// Characters of a secret in base64: 64 KiB.
    static let secret = 87_384
    /// Ports in one request.
    static let ports = 1000
    /// Thirty days, in seconds.
    static let timeToLive = 2_592_000.0
    /// The longest wait that a daemon can be set to allow, in seconds.
    static let wait = 86_400.0
    /// Linux gives no process a higher id.
    static let processID = 4_194_304
  }

  static let settings = Schema.map(TextRule(.line, count: 1...1000), to: .anything, atMost: Limits.settings)
  static let port = Schema.integer(1...65_535)
  static let mode = Schema.word("proxy", "record", "extend", "replay", "once", "mock")
  static let timeout = Schema.number(0...Limits.wait)
  static let timeToLive = Schema.number(0.1...Limits.timeToLive)
  static let identifier = Schema.text(.identifier, 1...100)

  private static let owner = Schema.record(
    "A process, by its id; the daemon looks up when it started, since ids recur.",
    [.required("pid", .integer(1...Limits.processID))])
}
