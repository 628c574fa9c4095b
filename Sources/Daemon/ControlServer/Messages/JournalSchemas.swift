import EnvironmentConfiguration

extension Schemas {
  static let journalPage = Schema.record(
    "Entries in order.",
    [
      .required("entries", .list(of: .reference("JournalEntry"))),
      .required("last", .count, "The number of the last entry in this page: what to ask with as after."),
      .required("more", .boolean, "Whether there is more already."),
    ])

  static let journalEntry = Schema.record(
    "What happened.",
    [
      .required("number", .integer(1...9_007_199_254_740_991), "From 1, without gaps."), .required("time", .instant),
      .required("kind", .word("replayed", "recorded", "forwarded", "mocked", "unmatched", "failed", "left", "note")),
      .required("method", .words), .required("url", .words), .required("status", .integer(0...999)),
      .optional("interaction", .count, "The index of the interaction that was played."),
      .optional("detail", .words),
    ])

  /// `INTERFACE.md`, "Report".
  static let report = Schema.record(
    "What the journal adds up to.",
    [
      .required("environment", .record([.required("id", .words), .required("name", .words)])),
      .required("mode", .words), .optional("cassette", .words), .optional("recordedAt", .words),
      .required(
        "clock", .record([.required("kind", clockKind), .optional("start", .instant), .required("now", .instant)])),
      .required(
        "requests",
        .record(
          ["total", "replayed", "recorded", "forwarded", "mocked", "unmatched", "failed"]
            .map { ObjectRule.Member.required($0, .count) }
            + [ObjectRule.Member.optional("left", .count, "Those that the app itself broke off.")])
      ),
      .required("unmatched", .list(of: unmatched)),
      .required(
        "unused",
        .list(of: .record([.required("method", .words), .required("url", .words), .required("index", .count)]))),
      .optional("interactions", .count, "How many interactions the cassette that is replayed has."),
      .optional("ended", .boolean, "True in the report of an environment that has ended."),
      .optional("commandStatus", .integer(0...255), "What the command of diorama run ended with."),
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
      .required("failures", .list(of: .words), "What failed beside requests."),
      .optional(
        "keptAsSent", .list(of: .words),
        "Bodies that are too large to decode: they are kept as sent, and secrets in them are not redacted."),
      .optional(
        "recording",
        .record([
          .required("outcome", .word("written", "unchanged", "nothing", "unsealed")), .required("interactions", .count),
        ]), "What became of what was recorded, once the environment has ended."),
      .optional("advice", .words, "What to run in order to record what is missing."),
      .required("ok", .boolean, "Whether the world held."),
    ])

  private static let unmatched = Schema.record([
    .required("method", .words), .required("url", .words),
    .required(
      "nearest",
      .list(
        of: .record([
          .required("index", .count), .required("method", .words), .required("url", .words),
          .required("differences", .list(of: .words)),
          .optional("rules", .list(of: .words), "The rules by which it was compared."),
        ]))),
    .optional("refusal", .words, "Why it could not even be looked for."),
  ])

  private static let stringUses = Schema.list(
    of: .record([.required("key", .words), .required("ordinal", .count)]))
}
