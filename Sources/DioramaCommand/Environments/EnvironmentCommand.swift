import Basics
import ControlAPI
import DaemonClient
import EnvironmentService
import Foundation

/// `diorama env`: environments in the daemon, for any program on the machine.
enum EnvironmentCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    guard let name = arguments.first else {
      throw CodedError(usage: "missing subcommand; choose from " + verbs.joined(separator: ", "), command: "env")
    }
    let rest = Array(arguments.dropFirst())
    switch name {
    case "list": return try EnvironmentTable.run(rest)
    case "show": return try EnvironmentShow.run(rest)
    case "create": return try EnvironmentCreate.run(rest, terminal: terminal)
    case "update": return try EnvironmentUpdate.run(rest)
    case "report": return try EnvironmentReport.show(rest)
    case "delete": return try EnvironmentReport.end(rest)
    case "--help", "-h", "help":
      try Output.write(raw: help)
      return 0
    default:
      throw CodedError(usage: "unknown subcommand 'env \(name)'" + suggestion(for: name, among: verbs), command: "env")
    }
  }

  /// The environment to use: an argument, or `DIORAMA_ENVIRONMENT`.
  static func id(_ options: Options, command: String) throws(CodedError) -> String {
    let words = options.operands + (options.rest ?? [])
    guard words.count <= 1 else { throw CodedError(usage: "unexpected argument '\(words[1])'", command: command) }
    if let id = words.first ?? ProcessInfo.processInfo.environment["DIORAMA_ENVIRONMENT"], !id.isEmpty { return id }
    throw CodedError(usage: "no environment; give its id, or set DIORAMA_ENVIRONMENT", command: command)
  }

  private static let verbs = ["list", "show", "create", "update", "report", "delete"]

  private static let help = """
    usage: diorama env list|show|create|update|report|delete

      create  create an environment; with --shell, print exports for a shell
      list    list the environments in the daemon
      show    show an environment's cassette, endpoints and ports
      update  change toggles, values, mode or clock, or move the clock
      report  print an environment's report so far
      delete  end an environment and print its report

    The environment is given by its id (default: DIORAMA_ENVIRONMENT, which
    create --shell sets).

    """
}

/// `diorama env show`: prints an environment.
enum EnvironmentShow {
  static func run(_ arguments: [String]) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "env show")
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let id = try EnvironmentCommand.id(options, command: "env show")
    let environment = try DaemonAccess(options).ask { client throws(DaemonClientError) in
      try await client.environment(id)
    }
    if options.has("--json") {
      try Output.write(json: environment)
    } else {
      try Output.write(lines: lines(environment))
    }
    return 0
  }

  private static func lines(_ environment: ProvisionedEnvironment) -> [String] {
    let ends = environment.endsAt ?? "with its owner"
    var lines = [
      "\(environment.id): \(environment.name), \(environment.state)",
      "  mode      \(environment.mode)",
      "  cassette  \(environment.cassette ?? "none")",
      "  control   http://127.0.0.1:\(environment.port)/__diorama",
      "  owner     " + (environment.owner.map { "process \($0.pid)" } ?? "none"),
      "  created   \(environment.createdAt), ends \(ends)",
    ]
    for (name, url) in environment.endpoints.sorted(by: { $0.key < $1.key }) {
      lines.append("  endpoint  \(name) = \(url)")
    }
    for (name, port) in environment.ports.sorted(by: { $0.key < $1.key }) {
      lines.append("  port      \(name) = \(port)")
    }
    for note in environment.notes { lines.append("  note      \(note)") }
    return lines
  }

  private static let table: [Options.Option] = [
    .init("--json", nil, "print JSON, including the contract and its token"), DaemonAccess.option,
  ]

  private static let help = """
    usage: diorama env show [--json] [ID]

    Prints an environment's cassette, endpoints, ports, owner and end.

    \(Options.describe(table))
    """
}

/// `diorama env list`: lists the environments in the daemon.
enum EnvironmentTable {
  static func run(_ arguments: [String]) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "env list")
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    try options.refuseWords(command: "env list")
    let environments = try DaemonAccess(options).ask { client throws(DaemonClientError) in
      try await client.environments()
    }
    if options.has("--json") {
      try Output.write(json: EnvironmentList(environments: environments))
    } else {
      let rows = environments.map { environment in
        [
          environment.id, environment.name, environment.state, environment.mode, String(environment.port),
          environment.owner.map { "process \($0.pid)" } ?? "none", environment.createdAt,
          environment.endsAt ?? "with its owner",
        ]
      }
      let header = ["id", "name", "state", "mode", "port", "owner", "created", "ends"]
      try Output.write(Table(header: header, rows: rows, rightAligned: [4]), orIfEmpty: "no environments")
    }
    return 0
  }

  private static let table: [Options.Option] = [.init("--json", nil, "print JSON"), DaemonAccess.option]

  private static let help = """
    usage: diorama env list [--json]

    Lists the environments in the daemon.

    \(Options.describe(table))
    """
}

/// `diorama env report` and `diorama env delete`.
enum EnvironmentReport {
  static func show(_ arguments: [String]) throws -> Int32 {
    try run(arguments, command: "env report", table: table, help: showHelp) {
      client, id, _ throws(DaemonClientError) in
      try await client.report(id, as: Report.self)
    }
  }

  static func end(_ arguments: [String]) throws -> Int32 {
    try run(arguments, command: "env delete", table: endTable, help: endHelp) {
      client, id, options throws(DaemonClientError) in
      try await client.end(id, hasSucceeded: !options.has("--failed"), as: Report.self)
    }
  }

  private static func run(
    _ arguments: [String], command: String, table: [Options.Option], help: String,
    _ ask: @escaping @Sendable (DaemonClient, String, Options) async throws(DaemonClientError) -> Report
  ) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let id = try EnvironmentCommand.id(options, command: command)
    let report = try DaemonAccess(options).ask { client throws(DaemonClientError) in
      try await ask(client, id, options)
    }
    if options.has("--json") {
      try Output.write(json: report)
    } else {
      try Output.write(ReportText(report, wholeIn: "--json"))
    }
    return report.ok ? 0 : 3
  }

  private static let table: [Options.Option] = [.init("--json", nil, "print the report as JSON"), DaemonAccess.option]

  private static let endTable =
    [Options.Option("--failed", nil, "The program or test failed: keep its recording beside the cassette.")] + table

  private static let showHelp = """
    usage: diorama env report [--json] [ID]

    Prints an environment's report so far.

    \(Options.describe(table))
    Exit status: 3 the environment failed (an unmatched request, a missing string).

    """

  private static let endHelp = """
    usage: diorama env delete [--failed] [--json] [ID]

    Ends an environment: closes its ports, saves its recording and prints its
    report.

    \(Options.describe(endTable))
    Exit status: 3 the environment failed (an unmatched request, a missing string);
    66 no such environment.

    """
}
