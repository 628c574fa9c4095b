import EnvironmentConfiguration

extension Schemas {
  static let provisionedEnvironment = Schema.record(
    "An environment that answers, or is ending.",
    [
      .required("id", identifier), .required("name", .words), .required("state", .word("ready", "ending")),
      .required("mode", mode, "As it was resolved: never once, since that is record or replay by now."),
      .optional("cassette", .words, "Absolute path of the HAR."),
      .required("port", port, "The main port."),
      .required("endpoints", .map(anyName, to: .words), "URLs by upstream."),
      .required("ports", .map(anyName, to: port), "Leased ports by name."),
      .optional("owner", .reference("Owner")),
      .required("createdAt", .instant),
      .optional("endsAt", .instant, "When it ends by itself; left out where only its owner's end does."),
      .required("notes", .list(of: .words), "What provisioning found, for a person."),
      .optional("contract", .reference("Contract"), "Left out in lists."),
    ])

  static let environmentList = Schema.record([
    .required("environments", .list(of: .reference("ProvisionedEnvironment")))
  ])

  static let contract = Schema.record(
    "The launch contract in the forms in which it is handed over.",
    [
      .required("arguments", .list(of: .words), "What belongs to the app's command line. Never a secret."),
      .required("environment", .map(anyName, to: .words), "DIORAMA_CONTRACT, and variables for any language."),
      .optional("document", .reference("LaunchContract")),
    ])

  static let environmentPatch = Schema.record(
    "A merge patch (RFC 7396): null takes a toggle or value away, an object is merged into the old one.",
    [
      .optional("toggles", settings), .optional("values", settings),
      .optional("clock", .reference("ClockSettings"), "What is left out stays."),
      .optional("mode", mode, "Only extend can change, to replay and back."),
      .optional("timeoutSeconds", timeout, "How long apps may take to apply it; 30 where it is left out."),
    ])

  static let revision = Schema.record(
    [.required("revision", .count, "The number of the last change that every app that follows has applied.")])

  static let clockMoveRequest = Schema.record(
    "How to move the clock.", exactlyOne: ["advance", "set"],
    [
      .optional("advance", .number(0...1e11), "Seconds."),
      .optional("set", .instant),
      .optional("sleepers", .integer(0...1_000_000), "How many sleepers are to be registered first."),
      .optional("timeoutSeconds", timeout, "How long all of it may take; 30 where it is left out."),
    ])

  static let clockMoveAnswer = Schema.record(
    [
      .required("now", .instant, "What the app's clock shows."), .required("revision", .count),
      .required("woken", .count, "How many sleepers woke."),
    ])

  /// A name in an answer.
  static let anyName = TextRule(.any, count: 0...Int.max)
}
