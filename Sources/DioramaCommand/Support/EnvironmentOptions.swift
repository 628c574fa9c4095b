import Basics
import Cassettes
import ControlAPI
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

/// The options of an environment, shared by `diorama run` and `diorama env create`.
struct EnvironmentOptions {
  /// For a command's own table.
  static let table: [Options.Option] =
    [
      .init("--cassette", "PATH", "the recording, without ending: PATH.har and PATH.strings.json"),
      .init(
        "--mode", "M",
        """
        proxy    forward and log
        record   forward and rewrite the cassette
        extend   replay, record what is missing
        replay   never reach the network
        once     replay if the cassette exists, else record (default);
                 where CI is set it never records
        mock     stubs only
        """),
      .init("--upstream", "NAME=URL", "a backend, repeatable; in replay the cassette's own if none is given"),
    ] + [AccessOptions.header] + AccessOptions.table + [
      .init("--seed", "TEXT", "seed of the random strings; in replay the recorded one"),
      .init(
        "--clock", "KIND",
        "system, frozen, ticking, scaled:RATE or manual\n(default: system in proxy, else frozen)"),
      .init("--start", "INSTANT", "RFC 3339; default: the recording date in replay and extend, else now"),
      .init("--time-zone", "ID", "such as Europe/London; default: as recorded, else this machine's"),
      .init("--locale", "ID", "such as en_GB; default: as recorded, else this machine's"),
      .init("--toggle", "NAME=VALUE", "a toggle, repeatable; JSON, a bare word is a string"),
      .init("--default", "KEY=VALUE", "a user default, likewise"),
      .init("--value", "KEY=VALUE", "an app-defined value, likewise"),
      .init("--credential", "S/A=SOURCE", "for the app's in-memory store: SERVICE/ACCOUNT=env:VAR or =file:PATH"),
      .init("--redact", "FILE", "redaction rules, added to PATH.redact.json and redact.json"),
      .init(
        "--shift-dates", nil,
        "move dates in replayed responses to the present\n(the clock is then system)"),
      .init(
        "--shift", "FILE",
        "the same, with rules for further dates\n(default: PATH.shift.json, else shift.json beside it)"),
      .init("--expires-after", "DAYS", "do not replay an older recording"),
      .init("--expired", "warn|fail", "what to do if it has expired (default: fail)"),
      .init("--record-anew-after", "DAYS", "mode once re-records an older recording; never if CI is set"),
      .init("--unused", "warn|fail", "what to do about unused interactions (default: warn)"),
      .init(
        "--decoded-limit", "BYTES",
        "maximum decoded size of a compressed body (default: 1 GiB);\na larger body is kept as sent"
      ),
      .init(
        "--streams", "PACE",
        """
        when the parts of recorded streams are sent in replay:
        instant        without delays (default)
        recorded       with the recorded delays
        scaled:FACTOR  FACTOR times as fast
        timeline       by the environment's clock
        """),
      .init(
        "--allowed-host", "HOST",
        "an extra host name for endpoints, repeatable; its web pages\nmay also use them while recording; * allows any"),
      .init("--play-uniquely", nil, "play each interaction once; do not repeat the last"),
      .init(
        "--rules", "FILE", "which requests count as equal\n(default: PATH.rules.json, else rules.json beside it)"),
      .init(
        "--order", "ORDER",
        """
        strict   requests must come in the recorded order
        request  repeats of one request are answered in order (default)
        state    responses follow changes (POST, PUT, …) as recorded
        free     in any order
        """),
    ]

  private let options: Options
  /// The command whose help an error names.
  private let command: String

  init(_ options: Options, command: String) {
    self.options = options
    self.command = command
  }

  /// The environment to provision, before it has ports.
  ///
  /// - Parameters:
  ///   - name: the name if there is no cassette.
  ///   - variables: the process's, for `CI` and credentials.
  /// - Returns: what a service provisions.
  /// - Throws: ``UsageError``; a `CodedError` for a secret that cannot be read.
  func specification(named name: String, variables: [String: String]) throws -> EnvironmentSpecification {
    if options.value("--cassette")?.isEmpty == true {
      throw UsageError("--cassette needs a path, such as Cassettes/login", command: command)
    }
    let cassette = options.value("--cassette").map(CassetteLocation.init)
    var specification = EnvironmentSpecification(
      name: cassette?.name ?? name, mode: try mode(options.value("--mode") ?? "once"))
    specification.cassette = cassette
    specification.isContinuousIntegration = !(variables["CI"] ?? "").isEmpty
    specification.seed = options.value("--seed")
    specification.playsUniquely = options.has("--play-uniquely")
    if let path = options.value("--rules") {
      specification.rules = try EnvironmentSpecification.readRules(path, acceptsPipes: true)
      specification.rulesFile = path
    }
    specification.order = try order()
    specification.streams = try options.value("--streams").map { text throws(UsageError) in
      guard let pace = StreamPace(rawValue: text) else {
        throw UsageError("--streams: " + StreamPace.problem(with: text), command: command)
      }
      return pace
    }
    specification.allowedHosts = options.all("--allowed-host")
    for host in specification.allowedHosts {
      if let problem = EndpointAccess.problem(withHost: host) {
        throw UsageError("--allowed-host: \(problem)", command: command)
      }
    }
    specification.decodedLimit = try options.value("--decoded-limit").map { text throws(UsageError) in
      let limits = EnvironmentSpecification.decodedLimits
      guard let limit = Int(text), limits.contains(limit) else {
        throw UsageError(
          "--decoded-limit takes a number of bytes from 1 to \(limits.upperBound), not '\(text)'", command: command)
      }
      return limit
    }
    for text in options.all("--upstream") {
      let (name, url) = try pair(text, option: "--upstream", command: command)
      do {
        specification.upstreams.append(.init(name: name, origin: try Origin(parsing: url)))
      } catch {
        throw UsageError("--upstream \(name): \(error)", command: command)
      }
    }
    let clock = try ClockOptions(options, command: command)
    specification.clock.kind = clock.kind?.rawValue
    specification.clock.rate = clock.rate ?? 1
    specification.clock.start = clock.start
    specification.clock.timeZone = clock.timeZone
    specification.clock.locale = clock.locale
    specification.policies = try policies()
    specification.toggles = try values("--toggle")
    specification.defaults = try values("--default")
    specification.values = try values("--value")
    specification.credentials = try options.all("--credential").map {
      try CredentialOption.read($0, variables: variables, command: command)
    }
    for path in options.all("--redact") {
      specification.redaction = specification.redaction.adding(try RedactionFiles.read(path, acceptsPipes: true))
    }
    if options.has("--shift-dates") { specification.shift = ShiftRules() }
    if let path = options.value("--shift") {
      specification.shift = try ShiftFiles.read(path, variables: variables, acceptsPipes: true)
      specification.shiftFile = path
    }
    let access = try AccessOptions(options, variables: variables, command: command)
    if !access.access.isEmpty { specification.access = access.access }
    // Whatever the field is called: what came from a secret place is one.
    specification.redaction.headers += access.secretHeaders.filter { name in
      !specification.redaction.headers.contains { $0.lowercased() == name.lowercased() }
    }
    specification.secrecyOptions =
      ["--credential", "--redact"].flatMap { option in options.all(option).map { "\(option) \($0)" } } + access.words
    return specification
  }

  /// What is to become of an old recording, and of interactions that are not used.
  private func policies() throws(UsageError) -> CassettePolicies? {
    var policies = CassettePolicies()
    policies.expiresAfterDays = try days("--expires-after")
    policies.recordsAnewAfterDays = try days("--record-anew-after")
    if let severity = try severity("--expired") { policies.expired = severity }
    if let severity = try severity("--unused") { policies.unused = severity }
    if options.value("--expired") != nil, policies.expiresAfterDays == nil {
      throw UsageError("--expired needs --expires-after DAYS", command: command)
    }
    return policies == CassettePolicies() ? nil : policies
  }

  private func days(_ option: String) throws(UsageError) -> Double? {
    guard let text = options.value(option) else { return nil }
    guard let days = Double(text), CassettePolicies.days.contains(days) else {
      throw UsageError("\(option) takes days, such as 30 or 0.5, not '\(text)'", command: command)
    }
    return days
  }

  private func severity(_ option: String) throws(UsageError) -> CassettePolicies.Severity? {
    guard let text = options.value(option) else { return nil }
    guard let severity = CassettePolicies.Severity(rawValue: text) else {
      throw UsageError("\(option) takes warn or fail, not '\(text)'", command: command)
    }
    return severity
  }

  func mode(_ text: String) throws(UsageError) -> Mode {
    guard let mode = Mode(rawValue: text) else {
      let names = Mode.allCases.map(\.rawValue)
      throw UsageError(
        "there is no mode '\(text)'" + suggestion(for: text, among: names) + "; choose from "
          + names.joined(separator: ", "), command: command)
    }
    return mode
  }

  private func order() throws(UsageError) -> PlaybackOrder? {
    guard let text = options.value("--order") else { return nil }
    guard let order = PlaybackOrder(rawValue: text) else {
      let names = PlaybackOrder.allCases.map(\.rawValue)
      throw UsageError(
        "there is no order '\(text)'" + suggestion(for: text, among: names) + "; choose from "
          + names.joined(separator: ", "), command: command)
    }
    return order
  }

  /// The values of an option that takes `NAME=VALUE`, where VALUE is JSON or a bare word.
  func values(_ option: String) throws(UsageError) -> [String: JSON] {
    var values: [String: JSON] = [:]
    for text in options.all(option) {
      let (key, value) = try pair(text, option: option, command: command)
      values[key] = JSON(argument: value)
    }
    return values
  }

  /// The names that an option gives to ports.
  func names(_ option: String) throws(UsageError) -> [String] {
    let names = options.all(option)
    for (index, name) in names.enumerated() {
      guard !name.isEmpty else { throw UsageError("\(option) needs a name", command: command) }
      guard !name.contains(":") || option != "--listen" else {
        throw UsageError("a name of --listen has no colon, since LISTEN_FDNAMES separates by it", command: command)
      }
      guard !names[..<index].contains(name) else {
        throw UsageError("\(option) \(name) is given twice", command: command)
      }
    }
    return names
  }

  /// Two ports may not share a variable.
  func checkVariables(_ names: [String]) throws(UsageError) {
    for (index, name) in names.enumerated() {
      let variable = "DIORAMA_PORT_" + Environment.variableName(name)
      if let other = names[..<index].first(where: { "DIORAMA_PORT_" + Environment.variableName($0) == variable }) {
        throw UsageError("ports '\(other)' and '\(name)' would share \(variable); rename one", command: command)
      }
    }
  }

  /// A number of seconds, which may have a fraction.
  func seconds(_ option: String, upTo most: Double) throws(UsageError) -> Double? {
    guard let text = options.value(option) else { return nil }
    guard let seconds = Double(text), seconds > 0, seconds <= most else {
      throw UsageError("\(option) takes seconds, such as 30 or 0.5, not '\(text)'", command: command)
    }
    return seconds
  }
}
