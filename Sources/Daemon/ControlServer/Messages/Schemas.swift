import EnvironmentConfiguration
import LaunchContract

/// The named schemas: all messages of the control API.
enum Schemas {
  /// All schemas, by their name in the OpenAPI document.
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
    "LeaseRequest": leaseRequest, "ResourceLease": resourceLease, "LeasedResource": leasedResource,
    "LeaseList": leaseList, "PoolSettings": poolSettings, "PoolList": poolList, "PoolResources": poolResources,
    "ResourceImport": resourceImport, "ImportResult": importResult, "ResourcePatch": resourcePatch,
    "FleetRun": fleetRun, "FleetRunList": fleetRunList, "FleetJournal": fleetJournal, "FleetCassette": fleetCassette,
    "FleetStatistics": fleetStatistics,
    "TokenRequest": tokenRequest, "CreatedToken": createdToken, "TokenList": tokenList, "RemoteAddress": remoteAddress,
  ]

  /// Returns a schema by name. All names are literals in this target, and a test checks each.
  static func named(_ name: String) -> Schema { all[name] ?? .anything }

  /// Limits of one request.
  enum Limits {
    /// Ports in one request.
    static let ports = 1000
    /// Thirty days, in seconds.
    static let timeToLive = 2_592_000.0
    /// The highest `waitSeconds` that can be configured.
    static let wait = 86_400.0
    /// Linux's highest process id.
    static let processID = 4_194_304
  }

  static let settings = EnvironmentConfiguration.named
  static let port = Schema.integer(1...65_535)
  static let mode = EnvironmentConfiguration.modes
  static let clockKind = EnvironmentConfiguration.clockKind
  static let timeout = Schema.number(0...Limits.wait)
  static let timeToLive = Schema.number(0.1...Limits.timeToLive)
  static let identifier = Schema.text(.identifier, 1...100)

  /// An environment's configuration and lifetime.
  static let provisioningRequest = Schema.record(
    "An environment to provision. All members are optional.",
    EnvironmentConfiguration.members + [
      .optional("owner", .reference("Owner"), "The environment ends when this process does."),
      .optional(
        "ttlSeconds", timeToLive, "The environment ends after this many seconds (default: 3600 without an owner)."),
    ]
  ).accepting(.api)

  private static let owner = Schema.record(
    "A process, by its id. The daemon looks up its start time, since ids are reused.",
    [.required("pid", .integer(1...Limits.processID))])
}

extension Schemas {
  static let portsRequest = Schema.record(
    "The ports to lease.",
    [
      .optional(
        "count", .integer(1...Limits.ports), "How many ports (default: the number of names, or 1)."),
      .optional(
        "names", .array(of: .line(1...200), atMost: Limits.ports),
        "A name for each port; if count is given, too, their number must equal it."),
      .optional("owner", .reference("Owner"), "When this process ends, the ports are released."),
      .optional(
        "ttlSeconds", timeToLive, "Releases the ports after this many seconds (default: 3600 without an owner)."),
      .optional("hold", .boolean, "Whether a silent socket keeps the port from other programs (default: true)."),
    ])

  static let portList = Schema.record([.required("ports", .list(of: .reference("Lease")))])

  static let lease = Schema.record(
    "A leased port.",
    [
      .required("port", port), .optional("name", .words), .optional("owner", .reference("Owner")),
      .optional("since", .instant), .optional("endsAt", .instant, "When the lease expires."),
      .optional("environment", identifier, "The environment that the port belongs to."), .optional("hold", .boolean),
    ])
}

extension Schemas {
  static let poolName = Schema.text(EnvironmentConfiguration.poolName)
  static let resourceName = Schema.line(1...200)
  private static let texts = Schema.map(TextRule(.line, count: 1...200), to: .line(0...1000), atMost: 100)
  private static let secrets = Schema.map(TextRule(.line, count: 1...200), to: .text(.any, 0...65_536), atMost: 100)

  static let leaseRequest = Schema.record(
    "Resources to lease together.",
    [
      .optional("id", .text(.identifier, 36...36), "A UUID; a repeated request with the same one gets the same lease."),
      .required(
        "resources",
        .map(
          TextRule(.line, count: 1...200),
          to: .shorthand(EnvironmentConfiguration.poolName, EnvironmentConfiguration.resourceQuery),
          atMost: EnvironmentConfiguration.Limits.things), "What is needed, by names of the caller's choice."),
      .optional(
        "waitSeconds", timeout, "How long to wait (default: the longest of the resources' own, or 60)."),
      .optional("owner", .reference("Owner"), "The lease ends when this process does."),
      .optional(
        "ttlSeconds", timeToLive, "The lease ends after this many seconds (default: 3600 without an owner)."),
    ])

  static let leasedResource = Schema.record(
    "A leased resource.",
    [
      .required("pool", poolName), .required("name", .words), .required("attributes", texts),
      .optional("secrets", secrets, "Missing in lists."),
      .required(
        "fence", .count,
        "Grows with each lease of the resource, so that a system can refuse a holder that lost it; 0 in replay."),
    ])

  static let resourceLease = Schema.record(
    "A lease of resources, or a request that waits.",
    [
      .required("id", identifier), .required("state", .word("held", "waiting", "lost")),
      .optional("host", .words, "The host that leased them."), .optional("environment", identifier),
      .optional("owner", .reference("Owner")), .required("since", .instant, "When it was requested."),
      .optional("endsAt", .instant), .optional("waitedSeconds", .number(0...1e9)),
      .required("resources", .map(anyName, to: .reference("LeasedResource")), "Empty while it waits."),
      .optional(
        "requested", .map(anyName, to: .object(EnvironmentConfiguration.resourceQuery)), "What it waits for."),
    ])

  static let leaseList = Schema.record([
    .required("leases", .list(of: .reference("ResourceLease"))),
    .optional(
      "store",
      .record([
        .required("name", .words), .optional("away", .words, "Why it cannot be used."), .required("held", .count),
        .required("waiting", .count),
        .optional(
          "uncertainSeconds", .number(0...1e9),
          "For how long it has been unreachable, if other hosts may have leased this host's resources since."),
      ]), "The store; missing for clients on other machines."),
  ])

  static let poolSettings = Schema.record(
    "A pool to create.",
    [
      .required("name", poolName),
      .optional(
        "cleans", .boolean,
        "Whether a returned resource is leased again only after a clean-up command of a daemon (default: false)."),
      .optional(
        "maximumFailures", .integer(1...1000),
        "After how many failures of that command in a row a resource is quarantined (default: 3)."),
    ])

  static let poolList = Schema.record([
    .required(
      "pools",
      .list(
        of: .record([
          .required("name", poolName), .required("cleans", .boolean), .required("maximumFailures", .count),
          .required("states", .map(anyName, to: .count), "The number of resources by state."),
        ])))
  ])

  static let poolResources = Schema.record([
    .required(
      "resources",
      .list(
        of: .record([
          .required("name", .words), .optional("attributes", texts), .optional("state", .words),
          .optional("fence", .count), .optional("failures", .count),
          .optional("reason", .words, "Why the clean-up command failed last."), .optional("host", .words),
          .optional("environment", .words), .optional("lease", .words),
        ])))
  ])

  static let resourceImport = Schema.record(
    "Resources to add to a pool.",
    [
      .required(
        "resources",
        .array(
          of: .record([
            .required("name", resourceName), .optional("attributes", texts),
            .optional("secrets", secrets, "Passwords and the like. They are stored encrypted."),
          ]), atMost: 100_000))
    ])

  static let importResult = Schema.record([.required("added", .count), .required("replaced", .count)])

  static let resourcePatch = Schema.record([
    .required("retired", .boolean, "True to take it out of use; false to put a retired or quarantined one back.")
  ])
}

extension Schemas {
  static let fleetRun = Schema.record(
    "A run of an environment on any host. It has no bodies and no values of requests.",
    [
      .required("id", identifier), .required("host", .words), .required("name", .words), .required("mode", .words),
      .optional("cassette", .words, "The path on its host."), .optional("recordedAt", .words),
      .required("startedAt", .instant), .optional("endedAt", .instant), .optional("ok", .boolean),
      .optional("seconds", .number(0...1e9)), .optional("requests", .count), .optional("interactions", .count),
      .optional("unused", .list(of: .count), "Interactions that a successful replay did not use."),
      .required(
        "misses",
        .list(
          of: .record([
            .required("method", .words), .required("url", .words), .required("causes", .list(of: .words)),
          ]))), .required("failures", .list(of: .words)),
      .required("contract", .list(of: .words), "Violations of the OpenAPI document."),
      .optional("resources", .list(of: .words), "The leased resources, with their fences."),
      .optional("isLost", .boolean, "True if its host is gone or has forgotten it."),
    ])

  static let fleetRunList = Schema.record([
    .required("runs", .list(of: .reference("FleetRun"))),
    .optional("dropped", .count, "How many events this host has dropped."),
  ])

  static let fleetJournal = Schema.record([.required("entries", .list(of: .reference("JournalEntry")))])

  static let fleetCassette = Schema.record(
    "A recording and its use by successful replays.",
    [
      .required("cassette", .words, "The path on the host that used it last."), .required("recordedAt", .words),
      .required("lastUsedAt", .instant), .required("runs", .count), .required("interactions", .count),
      .required("unused", .list(of: .count), "The indices of interactions that none has used."),
    ])

  static let fleetStatistics = Schema.record(
    "What the runs of the last days tell.",
    [
      .required("days", .count), .required("runs", .count), .required("failed", .count), .required("hosts", .count),
      .required("entries", .count, "How many requests there were."),
      .required(
        "flaky",
        .list(
          of: .record([
            .required("name", .words), .required("recordedAt", .words), .required("runs", .count),
            .required("failed", .count), .required("last", .reference("FleetRun")),
          ])), "Tests that replayed the same recording with different outcomes."),
      .required(
        "slowest",
        .list(
          of: .record([
            .required("name", .words), .required("runs", .count), .required("meanSeconds", .number(0...1e9)),
            .required("longestSeconds", .number(0...1e9)),
          ]))),
      .required("abandoned", .list(of: .reference("FleetCassette")), "Cassettes that only earlier runs used."),
      .required("partlyUsed", .list(of: .reference("FleetCassette")), "Cassettes with unused interactions."),
      .required(
        "drift",
        .list(
          of: .record([
            .required("name", .words), .required("runs", .count), .required("violations", .list(of: .words)),
          ])), "Tests that violate their OpenAPI document."),
    ])
}

extension Schemas {
  static let tokenName = Schema.text(.identifier, 1...100)

  static let tokenRequest = Schema.record(
    "A token to create.", [.required("name", tokenName, "Who will use it, such as the name of a CI runner.")])

  static let remoteAddress = Schema.record(
    "How programs on other machines reach the daemon.",
    [
      .required("url", .words),
      .required("fingerprint", .words, "sha256: and the digest of the certificate's public key in hexadecimal."),
      .required("certificate", .words, "The path of the certificate on the daemon's machine."),
    ])

  static let createdToken = Schema.record(
    "A new token. Only its digest is stored.",
    [
      .required("name", tokenName), .required("token", .words),
      .optional("remote", .reference("RemoteAddress"), "Missing if the daemon serves this machine only."),
    ])

  static let tokenList = Schema.record(
    [
      .required(
        "tokens",
        .list(
          of: .record([
            .required("name", tokenName), .required("createdAt", .instant), .optional("lastUsedAt", .instant),
          ])))
    ])
}

extension Schemas {
  static let journalPage = Schema.record(
    "A page of the journal.",
    [
      .required("entries", .list(of: .reference("JournalEntry"))),
      .required("last", .count, "The number of the last entry in this page; pass it as after to get the next page."),
      .required("more", .boolean, "Whether more entries are available."),
    ])

  static let journalEntry = Schema.record(
    "An event in an environment.",
    [
      .required("number", .integer(1...9_007_199_254_740_991), "Counts from 1 without gaps."),
      .required("time", .instant),
      .required(
        "kind", .word("replayed", "recorded", "forwarded", "mocked", "unmatched", "failed", "left", "faulted", "note")),
      .required("method", .words), .required("url", .words), .required("status", .integer(0...999)),
      .optional("interaction", .count, "The index of the replayed interaction."),
      .optional("detail", .words),
      .optional("setup", .boolean, "True if the test itself sent the request, to prepare something for the app."),
    ])

  static let report = Schema.record(
    "The summary of an environment's journal.",
    [
      .required("environment", .record([.required("id", .words), .required("name", .words)])),
      .required("mode", .words), .optional("cassette", .words), .optional("recordedAt", .words),
      .required(
        "clock",
        .record([
          .required("kind", clockKind), .optional("start", .instant), .required("now", .instant),
          .optional("rate", .number(0...1e6), "Seconds of the clock in a real second, for scaled."),
        ])),
      .required(
        "requests",
        .record(
          ["total", "replayed", "recorded", "forwarded", "mocked", "unmatched", "failed"]
            .map { ObjectRule.Member.required($0, .count) }
            + [
              ObjectRule.Member.optional("left", .count, "Requests that the app cancelled."),
              .optional("faulted", .count, "Requests that faults of the environment answered or broke."),
            ])
      ),
      .required("unmatched", .list(of: unmatched)),
      .required(
        "unused",
        .list(of: .record([.required("method", .words), .required("url", .words), .required("index", .count)]))),
      .optional("upstreamFailures", failedRequests, "The requests that an upstream did not answer, or not completely."),
      .optional("brokenOff", failedRequests, "The requests that the app cancelled; they are not recorded."),
      .optional("interactions", .count, "The number of interactions in the replayed cassette."),
      .optional("ended", .boolean, "True once the environment has ended."),
      .optional("commandStatus", .integer(0...255), "The exit status of the command of diorama run."),
      .optional("resources", .list(of: .words), "The leased resources, such as `patient = patients/anna, fence 4`."),
      .required(
        "strings",
        .record([
          .required("read", .count), .required("recorded", .count), .required("missing", stringUses),
          .required("unused", stringUses),
        ])),
      .required(
        "toggles",
        .record([
          .required("read", .map(anyName, to: .anything)), .required("unread", .list(of: .words)),
        ])),
      .required("durationSeconds", .number(0...1e12)),
      .required("failures", .list(of: .words), "Failures other than those of requests."),
      .optional(
        "keptAsSent", .list(of: .words),
        "Bodies that are too large to decode: they are kept as sent, and secrets in them are not redacted."),
      .optional(
        "unechoed", .list(of: .words),
        "Values of requests that a rule ignores, while an answer contains them as they were recorded."),
      .optional("unusedStubs", .list(of: .words), "The stubs that answered no request."),
      .optional(
        "faults", .list(of: .record([.required("fault", .words), .required("requests", .count)])),
        "The environment's faults, and how many requests each has affected."),
      .optional(
        "contractViolations", .list(of: .words),
        "Stub responses that violate the OpenAPI document, and requests that do and were not rejected."),
      .optional(
        "isolation",
        .record([
          .required("kind", .words, "namespaces, seccomp or proxy."),
          .optional("reason", .words, "Why the better kind was not available, and what would allow it."),
          .required("relayed", .list(of: .words), "Connections whose bytes were relayed and not recorded."),
          .optional("missing", .list(of: .words), "What the command's programs do not have although it was asked for."),
          .optional(
            "interrupted", .list(of: .words),
            "Commands of env enter that were running when the environment ended, and were ended."),
        ]), "How the command was isolated; missing if it was not."),
      .optional(
        "contractNotes", .list(of: .words),
        "Requests that were rejected because they violate the OpenAPI document, and contradictions within it."),
      .optional("redacted", .list(of: .words), "Where something was redacted in the recording, without values."),
      .optional(
        "recording",
        .record([
          .required("outcome", .word("written", "unchanged", "nothing", "unsealed", "aside")),
          .required("interactions", .count), .optional("file", .words, "The HAR, if it is not the cassette's."),
          .optional("permission", .words, "How to save it although it lacks responses."),
        ]), "The outcome of the recording, once the environment has ended."),
      .optional("advice", .words, "The command that records what is missing."),
      .required("ok", .boolean, "Whether the environment passed."),
    ])

  private static let unmatched = Schema.record([
    .required("method", .words), .required("url", .words),
    .optional(
      "nearestStubs",
      .list(of: .record([.required("stub", .words), .required("differences", .list(of: .words))])),
      "The stubs that nearly match, and what differs."),
    .required(
      "nearest",
      .list(
        of: .record([
          .required("index", .count), .required("method", .words), .required("url", .words),
          .required("differences", .list(of: .words)),
          .optional("rules", .list(of: .words), "The matching rules that applied."),
        ]))),
    .optional("fix", fix, "Why the request missed, and what to do."),
    .optional("refusal", .words, "Why the request could not be matched at all."),
  ])

  private static let failedRequests = Schema.list(
    of: .record([
      .required("method", .words), .required("url", .words), .required("cause", .words), .required("count", .count),
    ]))

  private static let fix = Schema.record([
    .optional("interaction", .count, "The index of the interaction that it was compared with."),
    .required("causes", .list(of: .record([.required("location", .words), .required("kind", .words)]))),
    .required("advice", .words),
    .optional("rule", .anything, "The entry for matching.rules that makes the request match."),
    .optional("redaction", .anything, "The redaction that does, in place of the rule."),
    .required("isRecordable", .boolean, "Whether mode extend records the request for the next replay."),
  ])

  private static let stringUses = Schema.list(
    of: .record([.required("key", .words), .required("ordinal", .count)]))
}

extension Schemas {
  static let stringRequest = Schema.record(
    "The key and the bounds of a random value; type decides which other members apply.",
    [
      .required("key", .line(1...10_000), "Non-empty, without control characters."),
      .optional("ordinal", .integer(0...999_999), "How often the key was used before (default: the next ordinal)."),
      .optional("status", .word("recorded", "read", "missing"), "The outcome, from a client that counts by itself."),
      .optional("value", .text(.any, 0...1_048_576), "The value, from a client that counts by itself."),
      .optional(
        "type", .word("string", "email", "uuid", "integer", "choice", "shuffle", "generator"),
        "The kind of value (default: string)."),
      .optional("length", .integer(0...1_048_576), "The length in characters (default: 12)."),
      .optional("alphabet", .text(.any, 2...256), "The characters to draw from (default: a-z0-9)."),
      .optional("domain", .line(1...255), "The domain of an e-mail address (default: example.com)."),
      .optional("low", .integer(Int.min...Int.max)), .optional("high", .integer(Int.min...Int.max)),
      .optional("version4", .boolean, "Whether a UUID's version digit is 4."),
      .optional(
        "options", .array(of: .text(.any, 0...10_000), count: 0...StringList.mostOptions), "The options to choose from."
      ),
      .optional("count", .integer(0...100_000), "The number of options, instead of a list."),
    ])

  static let stringAnswer = Schema.record([
    .optional("value", .words, "The value."), .required("ordinal", .count, "How often the key was used before."),
  ])
}

extension Schemas {
  static let health = Schema.record(
    "The daemon's state.",
    [.required("status", .word("ok")), .required("version", .words), .required("pid", .integer(1...Limits.processID))])

  static let problem = Schema.record(
    "An error (RFC 9457).",
    [
      .required("type", .words), .required("title", .words), .required("status", .integer(400...599)),
      .required("detail", .words, "What happened, where, and what to do next."),
      .optional(
        "kind",
        .word("usage", "broken", "noCassette", "noUpstream", "cannotWrite", "inputOutput", "unanswered"),
        "The kind of an environment's error, which decides the exit status of the command line."),
    ])
}

extension Schemas {
  /// Answers never contain secrets.
  static let launchContract = Schema.record(
    "The launch contract's document, without its secrets.",
    [
      .required("version", .integer(1...1)),
      .required("environment", .record([.required("id", .words), .required("name", .words)])),
      .required("mode", .words),
      .required(
        "clock",
        .record([
          .required("kind", clockKind), .optional("start", .instant), .required("rate", .number(0...1e6)),
          .optional("timeZone", .words), .optional("locale", .words), .optional("provisioned", .instant),
        ])),
      .required("seed", .words),
      .required("toggles", .map(anyName, to: .anything)), .required("defaults", .map(anyName, to: .anything)),
      .required("values", .map(anyName, to: .anything)),
      .required("endpoints", .map(anyName, to: .words)), .required("ports", .map(anyName, to: port)),
      .optional(
        "credentials",
        .record([
          .required("store", .words), .required("items", .list(of: .anything)),
          .optional("faults", .list(of: .reference("CredentialFault"))),
        ])),
      .optional(
        "control",
        .record([.required("url", .words), .required("token", .words), .optional("revision", .count)])),
      .optional(
        "strings",
        .record([
          .required("policy", .word("derive", "report", "replay")),
          .optional("entries", .map(anyName, to: .list(of: .anything))), .optional("file", .words),
        ])),
    ])
}

extension Schema {
  /// Returns a reference to a schema of ``Schemas``.
  static func reference(_ name: String) -> Schema { .named(name) { Schemas.named(name) } }
}
