import Basics
import EnvironmentConfiguration
import EnvironmentService
import Foundation

/// The options of `diorama run`.
struct RunOptions {
  static let command = "run"

  var specification: EnvironmentSpecification
  /// Ports the command binds itself.
  var ports: [String]
  /// Sockets handed over by LISTEN_FDS.
  var listen: [String]
  var timeout: Double?
  /// Whether the command uses the environment as its HTTP proxy.
  var isProxy: Bool
  var command: [String]

  init(_ options: Options, environment: [String: String]) throws {
    guard let command = options.rest, !command.isEmpty else {
      let hint = options.operands.first.map { "; write -- before '\($0)'" } ?? ""
      throw CodedError(usage: "there is no command to run" + hint, command: Self.command)
    }
    if let extra = options.operands.first {
      throw CodedError(usage: "unexpected argument '\(extra)'; the command comes after --", command: Self.command)
    }
    self.command = command
    let settings = ConfigurationOptions(options, command: Self.command, variables: environment)
    ports = try options.names("--port", command: Self.command)
    listen = try options.names("--listen", command: Self.command)
    if let name = listen.first(where: { $0.contains(":") }) {
      throw CodedError(
        usage: "--listen: '\(name)' has a colon, which separates names in LISTEN_FDNAMES; choose another name",
        command: Self.command)
    }
    let name = (command[0] as NSString).lastPathComponent
    var configuration = try settings.configuration(named: (name as NSString).deletingPathExtension)
    configuration.name = configuration.cassette == nil ? name : nil
    configuration.command = command.map(ShellWord.quoted).joined(separator: " ")
    // Both kinds of port share the variables.
    configuration.ports += listen
    specification = try settings.specification(configuration)
    specification.journalFile = options.value("--journal")
    isProxy = options.has("--proxy")
    if isProxy, specification.isolation != nil {
      throw CodedError(
        usage: "--proxy and --isolate cannot be combined; --isolate=proxy also sets the proxy variables",
        command: Self.command)
    }
    timeout = try options.seconds("--timeout", upTo: 1e6, command: Self.command)
  }
}
