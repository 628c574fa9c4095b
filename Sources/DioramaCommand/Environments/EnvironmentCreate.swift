import Basics
import ChildProcesses
import ControlAPI
import DaemonClient
import EnvironmentConfiguration
import EnvironmentService
import Foundation

/// `diorama env create`: makes an environment in the daemon.
enum EnvironmentCreate {
  private static let command = "env create"

  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    try options.refuseWords(command: command)
    if options.has("--shell"), options.has("--json") {
      throw CodedError(usage: "--shell and --json exclude each other", command: command)
    }
    let variables = ProcessInfo.processInfo.environment
    let request = try request(options, variables: variables)
    let access = DaemonAccess(options)
    let environment = try terminal.progress("opening \(request.cassette ?? "the environment")") {
      () throws(DaemonClientError) in
      try access.ask(starting: true) { client throws(DaemonClientError) in try await client.provision(request) }
    }
    for note in environment.notes { terminal.line(note) }
    do {
      if options.has("--shell") {
        try Output.write(raw: exports(environment, variables: variables))
      } else if options.has("--json") {
        try Output.write(json: environment)
      } else {
        try Output.write(lines: [environment.id])
      }
    } catch {
      // Its id was not printed, so nothing else can delete it.
      _ = try? access.ask { client throws(DaemonClientError) in
        try await client.end(environment.id, as: Report.self)
      }
      throw error
    }
    return 0
  }

  private static func request(_ options: Options, variables: [String: String]) throws -> ProvisioningRequest {
    let settings = ConfigurationOptions(options, command: command, variables: variables)
    _ = try options.names("--port", command: command)
    let owner = try OwnerOptions(options, command: command)
    var configuration = try settings.configuration()
    configuration.name = options.value("--name") ?? (configuration.cassette == nil ? "environment" : nil)
    // Checked here, so that errors use the command's terms.
    _ = try settings.specification(configuration)
    var request = ProvisioningRequest(configuration, isContinuousIntegration: settings.isContinuousIntegration)
    request.owner = owner.owner
    request.ttlSeconds = owner.seconds
    return request
  }

  /// Lines for `eval`: all variables that a program in the environment needs.
  private static func exports(_ environment: ProvisionedEnvironment, variables: [String: String]) -> String {
    var exports = environment.contract?.environment ?? [:]
    exports.merge(InheritedVariables.proxyExceptions(variables)) { $1 }
    return exports.sorted { $0.key < $1.key }.compactMap { ShellWord.export($0.key, $0.value).map { $0 + "\n" } }
      .joined()
  }

  private static let table: [Options.Option] =
    ConfigurationOptions.table + [
      .init("--name", "TEXT", "The name in reports (default: the cassette's).", in: .basics)
    ]
    + OwnerOptions.table + [
      .init("--shell", nil, "Print export lines for eval."), .init("--json", nil, "Print the whole answer as JSON."),
      DaemonAccess.option,
    ]

  static let help = """
    usage: diorama env create [option …]

    Creates an environment in the daemon and prints its id. The environment ends
    with diorama env delete, with its owner, or after its time to live. The default
    owner is the process that called this command, such as the shell that runs a
    script. If that process exits too early (timeout, xargs, one of several CI
    steps), pass --owner PID (in a script --owner $$) or --ttl SECONDS. Starts a
    daemon if none is running.

    \(Options.describeGroups(table))
    With --shell, the calling shell and its children use the environment:

      eval "$(diorama env create --shell --cassette Cassettes/login \\
        --upstream api=https://api.example.com)"
      ./login-test && diorama env delete

    """
}
