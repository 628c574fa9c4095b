import EnvironmentConfiguration

extension Schemas {
  static let portsRequest = Schema.record(
    "What ports are wanted.",
    [
      .optional(
        "count", .integer(1...Limits.ports), "By default as many as there are names, else one."),
      .optional(
        "names", .array(of: .line(1...200), atMost: Limits.ports),
        "What each is for; as many as count where both are given."),
      .optional("owner", .reference("Owner"), "Whose end frees them."),
      .optional("ttlSeconds", timeToLive, "They come back after so many seconds; 3600 where no owner is given."),
      .optional("hold", .boolean, "Whether a silent socket keeps others out; true where it is left out."),
    ])

  static let portList = Schema.record([.required("ports", .list(of: .reference("Lease")))])

  static let lease = Schema.record(
    "A port that is held for somebody.",
    [
      .required("port", port), .optional("name", .words), .optional("owner", .reference("Owner")),
      .optional("since", .instant), .optional("endsAt", .instant, "When it comes back by itself."),
      .optional("environment", identifier, "The environment whose port it is."), .optional("hold", .boolean),
    ])
}
