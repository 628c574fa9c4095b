import Basics
import EnvironmentConfiguration
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
      throw CodedError(usage: "there is no command to run" + hint, command: Self.command)
    }
    if let extra = options.operands.first {
      throw CodedError(usage: "'\(extra)' is no option; the command comes after --", command: Self.command)
    }
    self.command = command
    let settings = ConfigurationOptions(options, command: Self.command, variables: environment)
    ports = try options.names("--port", command: Self.command)
    listen = try options.names("--listen", command: Self.command)
    if listen.contains(where: { $0.contains(":") }) {
      throw CodedError(
        usage: "a name of --listen has no colon, since LISTEN_FDNAMES separates by it", command: Self.command)
    }
    let name = (command[0] as NSString).lastPathComponent
    var configuration = try settings.configuration(named: (name as NSString).deletingPathExtension)
    configuration.name = configuration.cassette == nil ? name : nil
    configuration.command = command.map(ShellWord.quoted).joined(separator: " ")
    // Both kinds of port share the variables.
    configuration.ports += listen
    specification = try settings.specification(configuration)
    specification.journalFile = options.value("--journal")
    report = options.value("--report")
    timeout = try options.seconds("--timeout", upTo: 1e6, command: Self.command)
  }
}
