import Basics
import ControlAPI
import DaemonClient
import EnvironmentService
import Foundation
import LaunchContract

/// `diorama env`: environments in the daemon, for any program on the machine.
enum EnvironmentCommand {
  static let command = Command(
    "env", "manage environments in the daemon, for any program", usage: ["env SUBCOMMAND …"],
    about: """
      The environment is given by its id (default: DIORAMA_ENVIRONMENT, which
      create --shell sets).
      """,
    subcommands: [
      EnvironmentCreate.command, EnvironmentTable.command, EnvironmentShow.command, EnvironmentUpdate.command,
      EnvironmentEnter.command, EnvironmentRequests.command, EnvironmentReport.show, EnvironmentReport.end,
    ])

  /// The environment to use: an argument, or `DIORAMA_ENVIRONMENT`.
  static func id(_ options: Options, command: String) throws(CodedError) -> String {
    let words = options.operands + (options.rest ?? [])
    guard words.count <= 1 else { throw CodedError(usage: "unexpected argument '\(words[1])'", command: command) }
    if let id = words.first ?? ProcessInfo.processInfo.environment["DIORAMA_ENVIRONMENT"], !id.isEmpty { return id }
    throw CodedError(usage: "no environment; give its id, or set DIORAMA_ENVIRONMENT", command: command)
  }
}

/// `diorama env show`: prints an environment.
enum EnvironmentShow {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
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
      "  control   "
        + (environment.contract?.document?.control?.url ?? "http://127.0.0.1:\(environment.port)/__diorama"),
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

  static let command = Command(
    "env show", "show an environment's cassette, endpoints and ports", usage: ["env show [--json] [ID]"],
    about: "Prints an environment's cassette, endpoints, ports, owner and end.",
    options: [.init("--json", nil, "print JSON, including the contract and its token"), DaemonAccess.option],
    operands: .words, run: run)
}

/// `diorama env list`: lists the environments in the daemon.
enum EnvironmentTable {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
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

  static let command = Command(
    "env list", "list the environments in the daemon", usage: ["env list [--json]"],
    about: "Lists the environments in the daemon.",
    options: [.init("--json", nil, "print JSON"), DaemonAccess.option], run: run)
}

/// `diorama env report` and `diorama env delete`.
enum EnvironmentReport {
  private static func run(
    _ options: Options, command: String,
    _ ask: @escaping @Sendable (DaemonClient, String) async throws(DaemonClientError) -> Report
  ) throws -> Int32 {
    let id = try EnvironmentCommand.id(options, command: command)
    let files = try ReportFiles(options)
    let report = try DaemonAccess(options).ask { client throws(DaemonClientError) in
      try await ask(client, id)
    }
    if options.has("--json") {
      try Output.write(json: report)
    } else {
      try Output.write(ReportText(report, wholeIn: "--json"))
    }
    try files.write(report, hasFailed: options.has("--failed"))
    return report.ok ? 0 : 3
  }

  private static let table: [Options.Option] = [.init("--json", nil, "print the report as JSON"), DaemonAccess.option]

  static let show = Command(
    "env report", "print an environment's report so far", usage: ["env report [--json] [ID]"],
    about: "Prints an environment's report so far.", options: table,
    notes: "Exit status: 3 the environment failed (an unmatched request, a missing string).", operands: .words
  ) { options, _ in
    try run(options, command: "env report") { client, id throws(DaemonClientError) in
      try await client.report(id, as: Report.self)
    }
  }

  static let end = Command(
    "env delete", "end an environment and print its report", usage: ["env delete [option …] [ID]"],
    about: """
      Ends an environment: closes its ports, saves its recording and prints its
      report.
      """,
    options: [
      .init("--failed", nil, "the program or test failed: keep its recording beside the cassette"),
      .init("--expect-requests", nil, "fail if no request has reached an environment with upstreams"),
    ] + ReportFiles.table + table,
    notes: """
      Exit status: 3 the environment failed (an unmatched request, a missing string);
      66 no such environment.
      """,
    operands: .words
  ) { options, _ in
    let hasSucceeded = !options.has("--failed")
    let expectsRequests = options.has("--expect-requests")
    return try run(options, command: "env delete") { client, id throws(DaemonClientError) in
      try await client.end(id, hasSucceeded: hasSucceeded, expectsRequests: expectsRequests, as: Report.self)
    }
  }
}
