extension Schemas {
  static let provisioningRequest = Schema.record(
    "The environment to provision. All members are optional.",
    [
      .optional("name", .line(0...200), "What a person calls it, such as the test's name."),
      .optional("mode", mode, "What becomes of requests; once where it is left out."),
      .optional("cassette", absolutePath, "An absolute path, with or without .har."),
      .optional(
        "upstreams",
        byName(.text(.origin, 8...4096), atMost: Limits.things),
        "Origins of real backends, by name."),
      .optional(
        "access",
        byName(.reference("UpstreamAccess"), atMost: Limits.things),
        "How upstreams are reached, by their names, where the origin does not say it all."),
      .optional("clock", .reference("ClockSettings"), "How time runs."),
      .optional("seed", .line(0...4096), "Seed of the string store; in replay the recorded one is the default."),
      .optional("toggles", settings, "Switches and values that steer the app."),
      .optional("defaults", settings, "User defaults for the app."),
      .optional("values", settings, "Values for the app's own keys."),
      .optional(
        "credentials", .array(of: .reference("Credential"), atMost: Limits.credentials),
        "For the app's in-memory store."),
      .optional(
        "credentialFaults", .array(of: .reference("CredentialFault"), atMost: Limits.credentials),
        "The trouble that the app's store is in."),
      .optional(
        "redact", .reference("RedactionRules"), "What is taken out of a recording beside what always is."),
      .optional(
        "shift", .reference("ShiftRules"),
        "Moves dates in recorded answers by the clock's time less the recording date; {}: those that show themselves."),
      .optional(
        "ports", .array(of: .line(1...200), atMost: Limits.things),
        "Names of free ports that are leased for the environment, for the app to bind."),
      .optional("owner", .reference("Owner"), "Whose end is the environment's end."),
      .optional("ttlSeconds", timeToLive, "It ends after so many seconds; after 3600 where no owner is given."),
      .optional("playsUniquely", .boolean, "Whether each interaction is played once."),
      .optional(
        "rules", .reference("MatchingRules"),
        "What counts as the same request; by default the rules file beside the cassette."),
      .optional(
        "order", playbackOrder, "In which order interactions play; by default what the rules say, else request."),
      .optional(
        "policies", .reference("PolicySettings"), "What becomes of an old recording, and of unused interactions."),
      .optional(
        "streams", .line(1...100),
        "When the parts of recorded streams leave: instant (where it is left out), recorded, scaled:FACTOR or timeline."
      ),
      .optional(
        "allowedHosts", .array(of: .line(1...253), atMost: 64),
        "Additional host names that clients may use for endpoints. Web pages from these hosts may also "
          + "use endpoints while the environment records or adds secrets to requests; * allows any host."),
      .optional(
        "decodedLimit", .integer(1...1 << 40),
        "The maximum size in bytes of a decoded body (default: 1 GiB). A larger body is kept as sent."
      ),
      .optional("command", .line(1...4096), "What a person types to run the same again, for messages."),
      .optional("caller", .word("command", "test", "api"), "The kind of client; advice in messages uses its terms."),
    ])

  static let upstreamAccess = Schema.record(
    "How a backend is reached. None of it gets into a recording; where nothing is reached it has no effect.",
    [
      .optional(
        "headers", byName(.text(.any, 0...65_536), atMost: 64),
        "Header fields that every request to it gets, in place of the app's own of that name."),
      .optional("ca", absolutePath, "A PEM file with the authorities that are trusted there, alone."),
      .optional(
        "clientCertificate", absolutePath,
        "A PEM file with the certificate by which we are known there, and its key unless clientKey has it."),
      .optional("clientKey", absolutePath, "A PEM file with its key, which has no password."),
      .optional("insecure", .boolean, "Whether any certificate will do there."),
    ])

  static let redactionRules = Schema.record(
    "What is taken out of a recording beside credentials and the header fields that carry them.",
    lists(
      atMost: Limits.credentials,
      [
        "headers": "Header fields whose whole value goes.", "query": "Items of a URL's query whose value goes.",
        "json": "Places in JSON bodies, such as $.user.password, $..ssn, $.items[*].pin.",
        "form": "Fields of urlencoded and multipart forms.",
        "patterns": "Regular expressions for what goes wherever it stands.",
      ]) + [
        .optional(
          "keep",
          .record(
            lists(
              atMost: Limits.credentials,
              [
                "headers": "Header fields that would be redacted without being named.",
                "credentials": "SERVICE/ACCOUNT of credentials that are no secrets.",
              ])), "Defaults that do not hold.")
      ])

  static let shiftRules = Schema.record(
    "Where dates stand that cannot be told from other text: JSON paths, header:NAME, query:NAME, form:NAME.",
    lists(
      atMost: 100,
      [
        "epochSeconds": "Seconds since 1970.", "epochMilliseconds": "Milliseconds since 1970.",
        "dates": "Dates without a time, as 2018-10-08.", "keep": "Places at which dates stay.",
      ]) + [
        .optional(
          "jwt",
          .array(
            of: .record([
              .required("text", .text(.any, 1...65_536), "The secret of HS256, HS384, HS512; or a private key as PEM."),
              .optional("kid", .line(1...4096), "Only for tokens that name this key."),
            ]), atMost: 100), "Keys that sign moved tokens.")
      ])

  /// Members that are lists of rules, with what each is for.
  private static func lists(atMost most: Int, _ notes: KeyValuePairs<String, String>) -> [ObjectRule.Member] {
    notes.map { .optional($0.key, .array(of: .line(1...4096), atMost: most), $0.value) }
  }

  /// Values by what a person calls them.
  private static func byName(_ value: Schema, atMost most: Int) -> Schema {
    .map(TextRule(.line, count: 1...200), to: value, atMost: most)
  }

  private static let absolutePath = Schema.text(.absolutePath, 2...4096)

  static let clockSettings = Schema.record(
    "How time runs.",
    [
      .optional("kind", clockKind, "By default system in mode proxy, else frozen."),
      .optional("start", .instant, "RFC 3339; by default the recording date in replay and extend, else now."),
      .optional("rate", .number(0.000_001...1_000_000), "Seconds of the clock in a real second, for scaled."),
      .optional("timeZone", .line(1...200), "An IANA name such as Europe/London."),
      .optional("locale", .line(1...200), "Such as en_GB."),
    ])

  static let policySettings = Schema.record(
    "What is to become of an old recording, and of interactions that are not used.",
    [
      .optional(
        "expiresAfterDays", .number(0.01...36_525), "Days after which a recording that is replayed has expired."),
      .optional("expired", severity, "What then; fail where it is left out."),
      .optional("recordsAnewAfterDays", .number(0.01...36_525), "Days after which mode once re-records."),
      .optional("unused", severity, "What about interactions that a replay has not used; warn where it is left out."),
    ])

  private static let severity = Schema.word("warn", "fail")

  static let clockKind = Schema.word("system", "frozen", "ticking", "scaled", "manual")

  static let credential = Schema.record(
    "A secret for the app's store.", exactlyOne: ["secret", "text"],
    [
      .required("service", .line(1...1000)), .required("account", .line(1...1000)),
      .optional("group", .line(1...1000), "The access group that shares it; the app's own where it is left out."),
      .optional("secret", .text(.base64, 0...Limits.secret), "In base64."),
      .optional("text", .text(.any, 0...65_536), "Instead of secret: as it is."),
    ])

  static let credentialFault = Schema.record(
    "A state of trouble: a locked device, a write that fails.",
    [
      .required("fault", .word("locked", "missingEntitlement", "cancelled", "failWrite", "failRead")),
      .optional("nth", .integer(1...1_000_000), "Which write or read fails, from 1."),
      .optional("error", .line(1...200), "How it fails."),
    ])
}
