import Cassettes
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

/// The options of `diorama run`, as INTERFACE.md gives them.
struct RunOptions {
  static let command = "run"

  var specification: EnvironmentSpecification
  /// Ports the command binds itself.
  var ports: [String]
  /// Sockets handed over by LISTEN_FDS.
  var listen: [String]
  var report: String?
  var timeout: Double?
  var command: [String]

  init(_ options: Options, environment: [String: String]) throws {
    guard let command = options.rest, !command.isEmpty else {
      let hint = options.operands.first.map { "; write -- before '\($0)'" } ?? ""
      throw UsageError("there is no command to run" + hint, command: Self.command)
    }
    if let extra = options.operands.first {
      throw UsageError("'\(extra)' is no option; the command comes after --", command: Self.command)
    }
    self.command = command
    if options.value("--cassette")?.isEmpty == true {
      throw UsageError("--cassette needs a path, such as Cassettes/login", command: Self.command)
    }
    let cassette = options.value("--cassette").map(CassetteLocation.init)
    specification = EnvironmentSpecification(
      name: cassette?.name ?? (command[0] as NSString).lastPathComponent,
      mode: try Self.mode(options.value("--mode") ?? "once"))
    specification.cassette = cassette
    specification.command = command.map(Self.quoted).joined(separator: " ")
    specification.isContinuousIntegration = !(environment["CI"] ?? "").isEmpty
    specification.seed = options.value("--seed")
    specification.playsUniquely = options.has("--play-uniquely")
    specification.journalFile = options.value("--journal")
    for text in options.all("--upstream") {
      let (name, url) = try pair(text, option: "--upstream", command: Self.command)
      do {
        specification.upstreams.append(.init(name: name, origin: try Origin(parsing: url)))
      } catch {
        throw UsageError("--upstream \(name): \(error)", command: Self.command)
      }
    }
    try Self.readClock(options, into: &specification.clock)
    specification.toggles = try Self.values(options, "--toggle")
    specification.defaults = try Self.values(options, "--default")
    specification.values = try Self.values(options, "--value")
    specification.credentials = try options.all("--credential").map { try Self.credential($0, environment) }
    ports = try Self.names(options, "--port")
    listen = try Self.names(options, "--listen")
    try Self.checkVariables(ports + listen)
    report = options.value("--report")
    if let text = options.value("--timeout") {
      guard let seconds = Double(text), seconds > 0, seconds <= 1e6 else {
        throw UsageError("--timeout takes seconds, such as 30 or 0.5, not '\(text)'", command: Self.command)
      }
      timeout = seconds
    }
  }

  private static func mode(_ text: String) throws(UsageError) -> Mode {
    guard let mode = Mode(rawValue: text) else {
      let names = Mode.allCases.map(\.rawValue)
      throw UsageError(
        "there is no mode '\(text)'" + suggestion(for: text, among: names) + "; choose from "
          + names.joined(separator: ", "), command: command)
    }
    return mode
  }

  private static func readClock(
    _ options: Options, into clock: inout EnvironmentSpecification.Clock
  ) throws(UsageError) {
    if let text = options.value("--clock") {
      let parts = text.split(separator: ":", maxSplits: 1)
      let kind = parts.first.map(String.init) ?? ""
      let kinds = LaunchContract.Clock.Kind.allCases.map(\.rawValue)
      guard kinds.contains(kind) else {
        throw UsageError(
          "there is no clock '\(text)'" + suggestion(for: kind, among: kinds)
            + "; choose from system, frozen, ticking, scaled:RATE, manual", command: command)
      }
      clock.kind = kind
      if kind == "scaled" {
        guard parts.count == 2, let rate = Double(parts[1]), rate >= 1e-6, rate <= 1e6 else {
          throw UsageError(
            "a scaled clock needs a rate from 0.000001 to 1000000, such as scaled:60, not '\(text)'", command: command)
        }
        clock.rate = rate
      } else if parts.count == 2 {
        throw UsageError("only a scaled clock has a rate, not '\(text)'", command: command)
      }
    }
    if let text = options.value("--start") {
      guard let start = RFC3339.parse(text) else {
        throw UsageError(
          "--start takes an RFC 3339 instant such as 2018-10-08T09:00:00Z, not '\(text)'", command: command)
      }
      clock.start = start
    }
    clock.timeZone = options.value("--time-zone")
    clock.locale = options.value("--locale")
  }

  private static func values(_ options: Options, _ name: String) throws(UsageError) -> [String: ContractValue] {
    var values: [String: ContractValue] = [:]
    for text in options.all(name) {
      let (key, value) = try pair(text, option: name, command: command)
      values[key] = ContractValue(argument: value)
    }
    return values
  }

  private static func names(_ options: Options, _ option: String) throws(UsageError) -> [String] {
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
  private static func checkVariables(_ names: [String]) throws(UsageError) {
    for (index, name) in names.enumerated() {
      let variable = "DIORAMA_PORT_" + Environment.variableName(name)
      if let other = names[..<index].first(where: { "DIORAMA_PORT_" + Environment.variableName($0) == variable }) {
        throw UsageError("ports '\(other)' and '\(name)' would share \(variable); rename one", command: command)
      }
    }
  }

  /// `SERVICE/ACCOUNT=env:VAR` or `…=file:PATH`: a secret never stands on a command line, which all users can read.
  private static func credential(
    _ text: String, _ environment: [String: String]
  ) throws -> EnvironmentSpecification.Credential {
    let form = "--credential takes SERVICE/ACCOUNT=env:VAR or SERVICE/ACCOUNT=file:PATH"
    guard let equals = text.lastIndex(of: "="), let slash = text[..<equals].firstIndex(of: "/"),
      slash != text.startIndex
    else { throw UsageError(form, command: command) }
    let service = String(text[..<slash])
    let account = String(text[text.index(after: slash)..<equals])
    let source = text[text.index(after: equals)...]
    guard !account.isEmpty else { throw UsageError(form, command: command) }
    if source.hasPrefix("env:") {
      let name = String(source.dropFirst(4))
      guard let secret = environment[name] else {
        throw UsageError("--credential \(service)/\(account): the variable \(name) is not set", command: command)
      }
      return .init(service: service, account: account, secret: Array(secret.utf8))
    }
    guard source.hasPrefix("file:") else { throw UsageError(form, command: command) }
    let path = String(source.dropFirst(5))
    guard let secret = FileManager.default.contents(atPath: path) else {
      throw EnvironmentError(
        .inputOutput, "--credential \(service)/\(account): cannot read \(path); check that it is there and yours")
    }
    return .init(service: service, account: account, secret: Array(secret))
  }

  /// A word as a shell would need it.
  private static func quoted(_ word: String) -> String {
    let plain = word.unicodeScalars.allSatisfy {
      ("a"..."z").contains($0) || ("A"..."Z").contains($0) || ("0"..."9").contains($0)
        || "_-./:=@%+,".unicodeScalars.contains($0)
    }
    return plain && !word.isEmpty ? word : "'" + word.replacingOccurrences(of: "'", with: "'\\''") + "'"
  }
}
