package import Basics
/// The command-line option of a setting.
package struct CommandOption: Sendable {
  /// How the option's value becomes the setting's.
  package enum Form: Sendable, Equatable {
    /// The value itself. If the option is repeated, the last one counts.
    case value
    /// A flag: present means true.
    case flag
    /// An element of a list.
    case element
    /// `NAME=VALUE`, where VALUE is JSON or a bare word.
    case entry
    /// A form that the command reads with code of its own.
    case other
  }

  /// The section of the help.
  package enum Group: String, Sendable, CaseIterable {
    case basics = "Basics"
    case isolation = "Programs with fixed URLs"
    case time = "Time and random values"
    case matching = "Matching and old recordings"
    case secrets = "Secrets"
    case streams = "Streams and bodies"
    case output = "Output"
  }

  package let name: String
  /// The placeholder for the value in the help; nil for a flag.
  package let metavariable: String?
  package let form: Form
  package let group: Group
  /// The help text, if it differs from the setting's description.
  package let help: String?

  package init(
    _ name: String, _ metavariable: String?, _ form: Form = .value, in group: Group = .basics, help: String? = nil
  ) {
    self.name = name
    self.metavariable = metavariable
    self.form = form
    self.group = group
    self.help = help
  }
}

extension EnvironmentConfiguration {
  /// Limits of one configuration.
  package enum Limits {
    /// Upstreams and ports of an environment. Each takes a port of the pool.
    package static let things = 64
    /// Credentials, faults of their store, and redaction rules of each kind.
    package static let credentials = 1000
    /// Toggles, defaults and values.
    package static let settings = 10_000
    /// Characters of a secret in Base64: 64 KiB.
    package static let secret = 87_384
  }

  /// The table of settings: each is declared here and nowhere else.
  ///
  /// The command's options and help, the OpenAPI document, the JSON Schema of the project file and the reference page are
  /// made from it, and the strict decoder uses it.
  package static let members: [ObjectRule.Member] = [
    .optional("name", .line(0...200), "The environment's name in reports, such as the test's name."),
    .optional(
      "cassette", .text(.path, 1...4096), "The path of the recording, without extension.",
      .init("--cassette", "PATH", help: "The recording: PATH.har and PATH.strings.json.")),
    .optional(
      "mode", modes, "What to do with requests (default: once).",
      .init(
        "--mode", "MODE",
        help: """
          What to do with requests:
          once    replay if the cassette exists, else record (default); never record where CI is set
          replay  never reach the network
          record  forward and rewrite the cassette
          extend  replay, and record what is missing
          proxy   forward and log
          mock    answer from stubs, collections and --openapi only
          """)),
    .optional(
      "upstreams", byName(.shorthand(TextRule(.origin, count: 1...4096), upstream), atMost: Limits.things),
      "The real backends, by name: a URL such as https://api.example.com, or an object.",
      .init("--upstream", "NAME=URL", .other, help: "A backend; repeatable. Replay needs none.")),
    .optional(
      "stubs", .text(.path, 1...4096),
      "A folder of stubs in WireMock's format: mappings/**/*.json and __files. They answer before the cassette.",
      .init(
        "--stubs", "DIR",
        help: "Serve WireMock stubs from DIR before anything else: DIR/mappings/**/*.json and DIR/__files.")),
    .optional(
      "stubTemplates", .boolean,
      "Whether all texts of stubs' responses are templates, not only those with the transformer response-template.",
      .init("--stub-templates", nil, .flag, help: "Treat every stub response as a template.")),
    .optional(
      "collections", .text(.path, 1...4096),
      "A JSON file of collections: lists whose items the app can read, create, change and delete. They answer after stubs.",
      .init(
        "--collections", "FILE",
        help: "Serve the collections in FILE, whose items the app can list, create, update and delete.")),
    .optional(
      "openapi", .text(.path, 1...4096),
      "The API's OpenAPI 3.0 or 3.1 document, in YAML or JSON. Requests and stub responses are checked against it. In "
        + "mode mock, it also answers requests that no stub or collection answers.",
      .init(
        "--openapi", "FILE",
        help: "Check requests and stubs against an OpenAPI document; in mode mock, also answer from it.")),
    .optional(
      "proto", .array(of: .text(.path, 1...4096), atMost: Limits.things),
      "The .proto files of gRPC services, or descriptor sets that protoc has written. Recordings then have each gRPC message "
        + "as JSON, too.",
      .init(
        "--proto", "FILE", .element,
        help: "Record gRPC messages as JSON, too, with the service's .proto file; repeatable.")),
    .optional(
      "protoPaths", .array(of: .text(.path, 1...4096), atMost: Limits.things),
      "Folders in which the files that proto imports are looked up (default: the folder of each file).",
      .init(
        "--proto-path", "DIR", .element,
        help: "A folder of files that --proto imports (default: that of each FILE); repeatable.")),
    .optional(
      "faults", faults, "Network and backend faults: objects, or strings such as reset,path=/orders,nth=1.",
      .init(
        "--fault", "FAULT", .element,
        help: """
          A network or backend fault; repeatable. FAULT is JSON, or items separated by commas:
          timeout, refused, reset, empty, garbage, malformedChunk, cut
          status=503, retryAfterSeconds=5, delayMilliseconds=800, bytesPerSecond=10000
          for upstream=NAME, method=POST, path=/orders/{id}
          limited by nth=2, every=3, probability=0.2, limit=1
          """)),
    .optional(
      "toggles", named, "Feature toggles of the app: JSON values.",
      .init("--toggle", "NAME=VALUE", .entry, help: "A feature toggle: JSON, or a bare word.")),
    .optional(
      "values", named, "Values for the app's own keys: JSON.",
      .init("--value", "KEY=VALUE", .entry, help: "A value for one of the app's own keys: JSON, or a bare word.")),
    .optional(
      "defaults", named, "User defaults of the app: JSON values.",
      .init("--default", "KEY=VALUE", .entry, help: "A user default for the app: JSON, or a bare word.")),
    .optional(
      "ports", .array(of: .line(1...200), atMost: Limits.things),
      "Names of free ports that the app binds itself, each in the variable DIORAMA_PORT_NAME.",
      .init("--port", "NAME", .element, help: "A free port for the app to bind, in DIORAMA_PORT_NAME.")),
    .optional(
      "allowedHosts", .array(of: .line(1...253), atMost: 64),
      "Additional host names that clients may use for endpoints. Web pages from these hosts may also use endpoints while "
        + "the environment records or adds secrets to requests; * allows any host.",
      .init(
        "--allowed-host", "HOST", .element,
        help: "An additional host name for endpoints; its web pages may use them while recording. * allows any.")),
    .optional("clock", .named("ClockSettings") { clockSettings }, "How time runs."),
    .optional(
      "seed", .line(0...4096), "The seed of random values (default: as recorded; in mode mock, mock; else random).",
      .init("--seed", "TEXT", in: .time)),
    .optional(
      "matching", .named("MatchingRules") { matchingRules }, "What counts as the same request, and the order."),
    .optional("policies", aged, "What happens to old recordings, unused interactions, and runs that fail."),
    .optional(
      "credentials", .array(of: credential, atMost: Limits.credentials), "Secrets in the app's in-memory store.",
      .init(
        "--credential", "SERVICE/ACCOUNT=SOURCE", .other, in: .secrets,
        help: "A secret in the app's in-memory store. SOURCE is env:VAR or file:PATH.")),
    .optional(
      "credentialFaults", .array(of: .named("CredentialFault") { credentialFault }, atMost: Limits.credentials),
      "Faults of the app's credential store, such as a locked device.",
      .init(
        "--credential-fault", "FAULT", .other, in: .secrets,
        help: "A fault of that store: locked, missingEntitlement, cancelled, failWrite:N or failRead:N.")),
    .optional(
      "resources", byName(.shorthand(poolName, resourceQuery), atMost: Limits.things),
      "Resources that the app needs exclusively, such as test accounts, by name: the name of a pool, or an object. "
        + "They are leased while requests reach the real backends; a replay uses the recorded ones.",
      .init(
        "--resource", "NAME=POOL[,ATTRIBUTE=VALUE]", .other,
        help: """
          Lease a resource of a pool, such as a test account, while the command reaches the real backends; see \
          diorama pool. Attributes choose among the pool's resources; repeatable.
          """)),
    .optional(
      "redaction", redacted,
      "What is redacted in recordings beside credentials, and the headers and fields that carry them."),
    .optional(
      "rewriting", rewritten,
      "Where upstream URLs in responses stay as they are, besides the issuer in discovery documents."),
    .optional(
      "dates", shifted,
      "Moves dates in replayed responses by the clock's time minus the recording date. {} moves what looks like a date.",
      .init(
        "--shift-dates", nil, .other, in: .time,
        help: "Move dates in replayed responses by the clock's time minus the recording date; the clock is system then."
      )
    ),
    .optional(
      "streams", .line(1...100),
      "When the parts of recorded streams are sent in replay: instant (default), recorded, scaled:FACTOR or timeline.",
      .init(
        "--streams", "PACE", in: .streams,
        help: """
          When the parts of recorded streams are sent in replay:
          instant        without delays (default)
          recorded       with the recorded delays
          scaled:FACTOR  FACTOR times as fast
          timeline       by the environment's clock
          """)),
    .optional(
      "decodedLimit", .integer(1...1 << 40),
      "The maximum size in bytes of a decoded body (default: 1 GiB). A larger body is kept as sent.",
      .init("--decoded-limit", "BYTES", in: .streams)),
    .optional(
      "isolation", isolation, "How commands are isolated (diorama run, diorama env enter), and what they may reach."),
    .optional(
      "command", .text(.any, 1...1 << 22), "The command line that runs the same again, for messages.", scope: .api),
    .optional(
      "caller", .word("command", "test", "api", "plugin", "pytest", "node"),
      "The kind of client, for advice in messages.", scope: .api),
  ]

  /// The modes, the default one first.
  private static let modeRule = TextRule(
    .word(["once", "replay", "record", "extend", "proxy", "mock"]), count: 0...64)
  package static let modes = Schema.text(modeRule)

  /// The mode that the variable `DIORAMA_MODE` asks for; nil if it is unset or empty.
  ///
  /// - Throws: a ``CodedError`` if its value is not a mode.
  package static func requestedMode(_ variables: [String: String]) throws(CodedError) -> String? {
    guard let mode = variables["DIORAMA_MODE"], !mode.isEmpty else { return nil }
    if let problem = modeRule.problem(with: mode) { throw CodedError(.usage, "DIORAMA_MODE: \(problem)") }
    return mode
  }

  /// Also the faults in a `PATCH`.
  package static let faults = Schema.array(
    of: .shorthand(TextRule(.any, count: 1...65_536), FaultSettings.schema), atMost: 1000)

  private static let upstream = ObjectRule(
    members: [
      .optional("url", .text(.origin, 1...4096), "Its origin. Without it, the cassette's own upstream is meant."),
      .optional(
        "variable", .line(1...200), "A variable of the command that is set to the endpoint's URL.",
        .init(
          "--env", "VARIABLE=NAME", .other,
          help: "Set a variable of the command to an upstream's endpoint, such as API_URL=api; repeatable.")),
      .optional(
        "port", .integer(1...65535), "The endpoint's port on 127.0.0.1 (default: any free port).",
        .init(
          "--endpoint-port", "NAME=PORT", .other,
          help: "The port of an upstream's endpoint (default: any free port); repeatable.")),
      .optional(
        "headers", byName(.text(.any, 0...65_536), atMost: 64),
        "Header fields that every request to it gets. In a project file a value may be env:VAR or file:PATH.",
        .init(
          "--header", "UPSTREAM/NAME=SOURCE", .other, in: .secrets,
          help: """
            A header that every request to an upstream gets; repeatable. SOURCE is env:VAR, file:PATH, or the value \
            itself if it is not secret.
            """)),
      .optional(
        "ca", .text(.path, 1...4096), "A PEM file with the only trusted CAs.",
        .init("--ca", "UPSTREAM=FILE", .other, in: .secrets, help: "A PEM file with the only CAs trusted there.")),
      .optional(
        "clientCertificate", .text(.path, 1...4096),
        "A PEM file with the client certificate, and its key unless clientKey has it.",
        .init(
          "--client-certificate", "UPSTREAM=FILE[,KEY]", .other, in: .secrets,
          help: "A PEM file with the client certificate; KEY if its key is in another file.")),
      .optional("clientKey", .text(.path, 1...4096), "A PEM file with the certificate's key, without a password."),
      .optional(
        "insecure", .boolean, "Whether to skip certificate verification.",
        .init("--insecure", "UPSTREAM", .other, in: .secrets, help: "Skip certificate verification there.")),
    ],
    note: "A backend, and how it is reached where the URL does not say it all. Only the URL is recorded.")

  /// Also the faults in a `PATCH`.
  package static let clockSettings = Schema.record(
    "How time runs.",
    [
      .optional(
        "kind", clockKind, "How the clock runs (default: system in mode proxy, else frozen).",
        .init(
          "--clock", "KIND", .other, in: .time,
          help: "system, frozen, ticking, scaled:RATE or manual (default: system in mode proxy, else frozen).")),
      .optional(
        "start", .instant, "RFC 3339 (default: the recording date in replay and extend, else now).",
        .init(
          "--start", "INSTANT", in: .time,
          help: "Such as 2018-10-08T09:00:00Z (default: the recording date in replay and extend, else now).")),
      .optional("rate", .number(0.000_001...1_000_000), "Seconds of the clock in a real second, for scaled."),
      .optional(
        "timeZone", .line(1...200), "An IANA name such as Europe/London (default: as recorded, else the machine's).",
        .init("--time-zone", "ID", in: .time)),
      .optional(
        "locale", .line(1...200), "Such as en_GB (default: as recorded, else the machine's).",
        .init("--locale", "ID", in: .time)),
    ])

  package static let clockKind = Schema.word("system", "frozen", "ticking", "scaled", "manual")

  private static let isolation = Schema.record(
    "How commands are isolated (diorama run, diorama env enter), and what they may reach.",
    [
      .optional(
        "kind", .word("auto", "namespaces", "seccomp", "proxy", "off"),
        "How the command's connections reach the environment: namespaces, seccomp, proxy, auto (the first that works) or "
          + "off (default).",
        .init(
          "--isolate", "[=KIND]", in: .isolation,
          help: """
            Intercept the command's connections, whatever URLs it has; needs no --upstream. KIND:
            auto        the first of these that the system permits (default)
            namespaces  the command has a network of its own; needs no privileges
            seccomp     its system calls are supervised; needs no privileges
            proxy       set proxy and certificate variables; some programs ignore them
            off         do not isolate, whatever the project file says
            """)),
      .optional(
        "allow", .array(of: .line(1...260), atMost: 1000),
        "Hosts that may be reached while recording (default: all), such as api.example.com or *.example.com.",
        .init(
          "--allow", "HOST", .element, in: .isolation,
          help: "While recording, let the command reach only this host, such as api.example.com or *.example.com; "
            + "repeatable.")),
      .optional(
        "deny", .array(of: .line(1...260), atMost: 1000), "Hosts whose requests get status 403 in every mode.",
        .init(
          "--deny", "HOST", .element, in: .isolation,
          help: "Answer requests to this host with status 403 in every mode; repeatable.")),
      .optional(
        "map", .map(TextRule(.origin, count: 1...4096), to: .text(.origin, 1...4096), atMost: 1000),
        "Origins whose requests are sent to another one. They are recorded under the origin that the command used.",
        .init(
          "--map", "ORIGIN=URL", .other, in: .isolation,
          help: "Send requests for an origin to URL, but record them under ORIGIN; repeatable.")),
      .optional(
        "publish", .array(of: .line(1...300), atMost: Limits.things),
        "Ports on which the command listens and that are reachable from outside: PORT, or HOST:PORT for an address other "
          + "than 127.0.0.1.",
        .init(
          "--publish", "[HOST:]PORT", .element, in: .isolation,
          help: "Make a port of the command reachable from this machine; repeatable.")),
      .optional(
        "hostPorts", .array(of: .integer(1...65535), atMost: Limits.things),
        "Ports of this machine that the command can reach at 127.0.0.1, such as a database's.",
        .init(
          "--host-port", "PORT", .element, in: .isolation,
          help:
            "The command reaches this port of this machine at 127.0.0.1, as with 5432 for a database at 127.0.0.1:5432; not "
            + "by proxy; not recorded; repeatable."
        )),
      .optional(
        "random", .boolean, "Whether random values of the command's programs depend on the seed, unless by proxy.",
        .init(
          "--random", nil, .flag, in: .isolation,
          help: "Derive random values of the command's programs from the seed, unless by proxy.")),
    ])

  private static let aged = Schema.record([
    .optional(
      "expiresAfterDays", days, "Days after which a recording expires and is not replayed.",
      .init("--expires-after", "DAYS", in: .matching)),
    .optional(
      "expired", severity, "What to do with an expired recording: fail (default) or warn.",
      .init("--expired", "warn|fail", in: .matching)),
    .optional(
      "rerecordAfterDays", days, "Days after which mode once re-records; never where CI is set.",
      .init("--rerecord-after", "DAYS", in: .matching)),
    .optional(
      "unused", severity, "What to do about interactions that a replay did not use: warn (default) or fail.",
      .init("--unused", "warn|fail", in: .matching)),
    .optional(
      "failedRecording", .word("aside", "replace"),
      "What to do with the recording of a run that failed: aside (default) keeps it as NAME.failed.har and leaves the "
        + "cassette as it was; replace makes it the cassette.",
      .init(
        "--failed-recording", "aside|replace", in: .matching,
        help: "What to do with the recording of a run that failed: keep it aside as NAME.failed.har (default), or "
          + "replace the cassette.")),
    .optional(
      "allowNoRequests", .boolean, "Whether a program may make no request though upstreams are declared.",
      .init(
        "--allow-no-requests", nil, .flag, in: .matching, help: "Succeed even if the command makes no request at all.")),
    .optional(
      "allowUpstreamFailures", .boolean,
      "Whether a recording may succeed though it lacks a response: an upstream failed, a host was not declared, or the "
        + "app cancelled a request.",
      .init(
        "--allow-upstream-failures", nil, .flag, in: .matching,
        help: "Succeed even if a recording lacks a response: an upstream failed, a host is not declared, or the "
          + "command cancelled a request.")),
  ])

  private static let days = Schema.number(0.01...36_525)
  private static let severity = Schema.word("warn", "fail")

  private static let credential = Schema.record(
    "A secret for the app's store.", exactlyOne: ["secret", "text", "from"],
    [
      .required("service", .line(1...1000)), .required("account", .line(1...1000)),
      .optional("group", .line(1...1000), "The access group that shares it (default: the app's own)."),
      .optional("secret", .text(.base64, 0...Limits.secret), "In Base64."),
      .optional("text", .text(.any, 0...65_536), "As it is, instead of secret."),
      .optional("from", .line(5...4096), "Where it is: env:VAR or file:PATH.", scope: .caller),
    ])

  /// The name of a pool.
  package static let poolName = TextRule(.identifier, count: 1...100)

  /// Also the resources of `POST /v1/leases`.
  package static let resourceQuery = ObjectRule(
    members: [
      .required("pool", .text(poolName), "The name of the pool."),
      .optional(
        "where", byName(.line(0...1000), atMost: 100),
        "Attributes that the resource must have, as text. The attribute name is its name."),
      .optional(
        "waitSeconds", .number(0...86_400), "How long to wait for a free one (default: 60).",
        .init(
          "--resource-wait", "SECONDS", .other,
          help: "How long to wait for the resources of --resource (default: 60).")),
    ], note: "Any free resource of a pool whose attributes match.")

  package static let credentialFault = Schema.record(
    "A fault of the app's credential store: a locked device, a write that fails.",
    [
      .required("fault", .word("locked", "missingEntitlement", "cancelled", "failWrite", "failRead")),
      .optional("nth", .integer(1...1_000_000), "Which write or read fails, from 1."),
      .optional("error", .line(1...200), "How it fails."),
    ])

  private static let redacted = Schema.record(
    lists(
      atMost: Limits.credentials,
      [
        "headers": "Header fields whose whole value is redacted.", "query": "Query items whose value is redacted.",
        "json": "Places in JSON bodies, such as $.user.password, $..ssn, $.items[*].pin.",
        "form": "Fields of urlencoded and multipart forms.",
        "patterns": "Regular expressions; every match is redacted.",
      ]) + [
        .optional(
          "keep",
          .record(
            lists(
              atMost: Limits.credentials,
              [
                "headers": "Header fields that would be redacted without being named.",
                "fields": "Fields of queries and bodies that would be redacted without being named.",
                "credentials": "SERVICE/ACCOUNT of credentials that are not secret.",
              ])), "Exceptions from what is redacted by default.")
      ])

  private static let rewritten = Schema.record(
    lists(atMost: 100, ["keep": "Places in responses whose URLs stay: JSON paths, such as $.iss, and header:NAME."]))

  private static let shifted = Schema.record(
    "Places of dates that do not look like one: JSON paths, header:NAME, query:NAME, form:NAME.",
    lists(
      atMost: 100,
      [
        "epochSeconds": "Seconds since 1970.", "epochMilliseconds": "Milliseconds since 1970.",
        "dates": "Dates without a time, such as 2018-10-08.", "keep": "Places whose dates stay as recorded.",
      ]) + [
        .optional(
          "jwt",
          .array(
            of: .record(
              "A key of tokens.", exactlyOne: ["text", "key"],
              [
                .optional(
                  "text", .text(.any, 1...65_536), "The secret of HS256, HS384, HS512, or a private key in PEM."),
                .optional("key", .line(5...4096), "Where it is: env:VAR or file:PATH.", scope: .caller),
                .optional("kid", .line(1...4096), "Only for tokens that name this key."),
              ]), atMost: 100), "Keys that sign moved tokens.")
      ])

  package static let matchingRules = Schema.record(
    "What counts as the same request where that is not the default, and in which order interactions play.",
    [
      .optional(
        "order", .word("strict", "request", "state", "free"), "In which order interactions play (default: request).",
        .init(
          "--order", "ORDER", in: .matching,
          help: """
            In which order interactions play:
            request  repeats of one request are answered in order (default)
            strict   requests must come in the recorded order
            state    responses follow changes (POST, PUT, …) as recorded
            free     in any order
            """)),
      .optional(
        "playsUniquely", .boolean, "Whether each interaction plays once; else the last of equal ones repeats.",
        .init("--play-uniquely", nil, .flag, in: .matching, help: "Play each interaction once; do not repeat the last.")
      ),
      .optional(
        "rules", .array(of: .named("MatchingRule") { rule }, atMost: 1000),
        "What is different for some requests. All rules that fit apply; where two differ the later one counts."),
    ])

  /// One rule of `matching.rules`.
  package static let rule = Schema.record(
    "What is different for some requests.",
    [
      .optional("note", ruleText, "Why, in a person's words."),
      .optional("upstream", ruleText, "Requests to this upstream only."),
      .optional("method", ruleText, "Requests with this method only."),
      .optional(
        "path", ruleText, "Requests with such a path only: * matches within a segment, ** matches anything."),
      .optional(
        "ignore",
        .record(
          "What is compared as if it were absent.",
          [
            .optional("headers", ruleTexts, "Names of headers that an earlier rule compares."),
            .optional("query", ruleTexts, "Names of query items; * matches anything."),
            .optional("json", ruleTexts, "JSON paths, such as $.orders[*].sentAt."),
            .optional("form", ruleTexts, "Names of form fields and multipart parts."),
            .optional("pattern", ruleTexts, "Regular expressions; their matches are ignored."),
          ])),
      .optional(
        "echo",
        .record(
          "What is ignored, and put into the answer in place of the recorded value.",
          [
            .optional("headers", ruleTexts, "Names of headers."),
            .optional("query", ruleTexts, "Names of query items; * matches anything."),
            .optional("json", ruleTexts, "JSON paths of strings and numbers, such as $.id."),
            .optional("form", ruleTexts, "Names of form fields and multipart parts."),
          ])),
      .optional(
        "compare",
        .record(
          "Which parts count.",
          [
            .optional("method", .boolean), .optional("scheme", .boolean), .optional("host", .boolean),
            .optional("path", .boolean), .optional("query", .boolean),
            .optional("headers", ruleTexts, "Names of headers that count."),
            .optional(
              "body", .word("auto", "bytes", "json", "form", "multipart", "xml", "none"), "How bodies are compared."),
            .optional("partOrder", .boolean, "Whether the order of multipart parts with different names counts."),
          ])),
      .optional(
        "changesState", .boolean, "Whether it changes the state (default: all but GET, HEAD, OPTIONS, TRACE)."),
    ])

  private static let ruleText = Schema.text(.any, 1...4096)
  private static let ruleTexts = Schema.array(of: ruleText, atMost: 1000)

  /// Members that are lists of rules, each with its description.
  private static func lists(atMost most: Int, _ notes: KeyValuePairs<String, String>) -> [ObjectRule.Member] {
    notes.map { .optional($0.key, .array(of: .line(1...4096), atMost: most), $0.value) }
  }

  /// Values by names of the user's choice.
  private static func byName(_ value: Schema, atMost most: Int) -> Schema {
    .map(TextRule(.line, count: 1...200), to: value, atMost: most)
  }

  /// Any JSON by name.
  package static let named = Schema.map(TextRule(.line, count: 1...1000), to: .anything, atMost: Limits.settings)
}

/// A setting with its place in the configuration.
package struct ConfigurationField: Sendable {
  /// Such as `clock.start`, or `upstreams.*.ca` for a name of the user's choice.
  package let path: String
  package let member: ObjectRule.Member
}

extension EnvironmentConfiguration {
  /// All settings. The members of an object follow the object.
  package static let fields: [ConfigurationField] = fields(of: members, at: "")

  private static func fields(of members: [ObjectRule.Member], at place: String) -> [ConfigurationField] {
    members.flatMap { member in
      let path = place + member.name
      return [ConfigurationField(path: path, member: member)] + inner(member.schema, at: path)
    }
  }

  private static func inner(_ schema: Schema, at path: String) -> [ConfigurationField] {
    switch schema {
    case .object(let rule), .shorthand(_, let rule): fields(of: rule.members, at: path + ".")
    case .map(let rule): inner(rule.values, at: path + ".*")
    case .array(let element, _): inner(element, at: path + "[]")
    case .named(_, let schema): inner(schema(), at: path)
    default: []
    }
  }
}
