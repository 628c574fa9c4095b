import EnvironmentConfiguration

extension Schemas {
  static let health = Schema.record(
    "That the daemon is there.",
    [.required("status", .word("ok")), .required("version", .words), .required("pid", .integer(1...Limits.processID))])

  static let problem = Schema.record(
    "An error (RFC 9457).",
    [
      .required("type", .words), .required("title", .words), .required("status", .integer(400...599)),
      .required("detail", .words, "What, where, and what to do next."),
      .optional(
        "kind",
        .word("usage", "broken", "noCassette", "noUpstream", "cannotWrite", "inputOutput", "unanswered"),
        "The kind of trouble with an environment: the command's exit status follows from it."),
    ])
}
