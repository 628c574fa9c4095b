extension Schemas {
  static let matchingRules = Schema.record(
    "What counts as the same request, where it is not the default; as in a rules file beside a cassette.",
    [
      .optional(
        "rules", .array(of: .reference("MatchingRule"), atMost: 1000),
        "All that fit a request apply; where two differ the later one counts."),
      .optional("order", playbackOrder, "In which order interactions play; request where it is left out."),
    ])

  static let matchingRule = Schema.record(
    "What is different for some requests.",
    [
      .optional("note", .text(.any, 1...4096), "Why, in a person's words."),
      .optional("upstream", .text(.any, 1...4096), "Requests of this upstream only."),
      .optional("method", .text(.any, 1...4096), "Requests with this method only."),
      .optional(
        "path", .text(.any, 1...4096),
        "Requests with such a path only: * is anything within a segment, ** anything at all."),
      .optional(
        "ignore",
        .record(
          "What is compared as if it were not there.",
          [
            .optional("headers", ruleTexts, "Names of headers that an earlier rule compares."),
            .optional("query", ruleTexts, "Names of query items; * stands for anything."),
            .optional("json", ruleTexts, "JSON paths, such as $.orders[*].sentAt."),
            .optional("form", ruleTexts, "Names of form items and of multipart parts."),
            .optional("pattern", ruleTexts, "Regular expressions (PCRE2), whose matches are left out."),
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
              "body", .word("auto", "bytes", "json", "form", "multipart", "xml", "none"), "As what it is compared."),
          ])),
      .optional("changesState", .boolean, "Whether it moves the state; by default all but GET, HEAD, OPTIONS, TRACE."),
    ])

  static let playbackOrder = Schema.word("strict", "request", "state", "free")

  private static let ruleTexts = Schema.array(of: .text(.any, 1...4096), atMost: 1000)
}
