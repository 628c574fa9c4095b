import EnvironmentConfiguration

extension Schemas {
  static let provisionedEnvironment = Schema.record(
    "An environment that is ready or ending.",
    [
      .required("id", identifier), .required("name", .words), .required("state", .word("ready", "ending")),
      .required("mode", mode, "The current mode. Never once, which provisioning resolves to record or replay."),
      .optional("cassette", .words, "The absolute path of the HAR."),
      .required("port", port, "The main port."),
      .required("endpoints", .map(anyName, to: .words), "URLs by upstream."),
      .required("ports", .map(anyName, to: port), "Leased ports by name."),
      .optional("owner", .reference("Owner")),
      .required("createdAt", .instant),
      .optional("endsAt", .instant, "When it expires; omitted if it ends only with its owner."),
      .optional(
        "resources", .map(anyName, to: .reference("LeasedResource")),
        "The leased resources, with secrets, by their names in the configuration; missing in lists."),
      .required("notes", .list(of: .words), "Messages for the user from provisioning."),
      .optional("contract", .reference("Contract"), "Omitted in lists."),
    ])

  static let environmentList = Schema.record([
    .required("environments", .list(of: .reference("ProvisionedEnvironment")))
  ])

  static let contract = Schema.record(
    "The launch contract as arguments, as variables, and as a document.",
    [
      .required("arguments", .list(of: .words), "Arguments for the app's command line. They contain no secrets."),
      .required("environment", .map(anyName, to: .words), "DIORAMA_CONTRACT, and variables for any language."),
      .optional("document", .reference("LaunchContract")),
    ])

  static let environmentPatch = Schema.record(
    "A merge patch (RFC 7396): null removes a toggle or value, and an object is merged into the old one.",
    [
      .optional("toggles", settings), .optional("values", settings),
      .optional("clock", .reference("ClockSettings"), "Omitted settings stay unchanged."),
      .optional("mode", mode, "Only extend can change, to replay and back."),
      .optional("faults", EnvironmentConfiguration.faults, "Replaces all faults."),
      .optional("timeoutSeconds", timeout, "How long apps may take to apply the change (default: 30)."),
    ])

  static let revision = Schema.record(
    [.required("revision", .count, "The number of the last change that every following app has applied.")])

  static let clockMoveRequest = Schema.record(
    "How to move the clock.", exactlyOne: ["advance", "set"],
    [
      .optional("advance", .number(0...1e11), "The number of seconds."),
      .optional("set", .instant),
      .optional("sleepers", .integer(0...1_000_000), "How many sleepers must be registered first."),
      .optional("timeoutSeconds", timeout, "The time limit in seconds for all of it (default: 30)."),
    ])

  static let clockMoveAnswer = Schema.record(
    [
      .required("now", .instant, "The time of the app's clock."), .required("revision", .count),
      .required("woken", .count, "How many sleepers woke."),
    ])

  /// A name in an answer.
  static let anyName = TextRule(.any, count: 0...Int.max)
}
