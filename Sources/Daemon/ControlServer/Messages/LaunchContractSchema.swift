import EnvironmentConfiguration

extension Schemas {
  /// `INTERFACE.md`, "Launch contract"; secrets are never in an answer.
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
