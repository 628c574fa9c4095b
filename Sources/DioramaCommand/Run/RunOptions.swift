import EnvironmentService
import Foundation

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
    let world = EnvironmentOptions(options, command: Self.command)
    specification = try world.specification(
      named: (command[0] as NSString).lastPathComponent, variables: environment)
    specification.command = command.map(ShellWord.quoted).joined(separator: " ")
    specification.journalFile = options.value("--journal")
    ports = try world.names("--port")
    listen = try world.names("--listen")
    try world.checkVariables(ports + listen)
    report = options.value("--report")
    timeout = try world.seconds("--timeout", upTo: 1e6)
  }
}
