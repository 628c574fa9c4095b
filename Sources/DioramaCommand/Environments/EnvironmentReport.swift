import DaemonClient
import EnvironmentService
import Foundation

/// `diorama env report` and `diorama env delete`: what an environment comes to, so far or in the end.
enum EnvironmentReport {
  /// So far.
  static func show(_ arguments: [String]) throws -> Int32 {
    try run(arguments, command: "env report", help: showHelp) { client, id throws(DaemonClientError) in
      try await client.report(id, as: Report.self)
    }
  }

  /// Ends it.
  static func end(_ arguments: [String]) throws -> Int32 {
    try run(arguments, command: "env delete", help: endHelp) { client, id throws(DaemonClientError) in
      try await client.end(id, as: Report.self)
    }
  }

  private static func run(
    _ arguments: [String], command: String, help: String,
    _ ask: @escaping @Sendable (DaemonClient, String) async throws(DaemonClientError) -> Report
  ) throws -> Int32 {
    let options = try Options(arguments, table: table, command: command)
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    let id = try EnvironmentCommand.id(options, command: command)
    let report = try DaemonAccess(options).ask { client throws(DaemonClientError) in try await ask(client, id) }
    if options.has("--json") {
      try Output.write(json: report)
    } else {
      try Output.write(ReportText(report, wholeIn: "--json"))
    }
    return report.ok ? 0 : 3
  }

  private static let table: [Options.Option] = [.init("--json", nil, "the report as JSON"), DaemonAccess.option]

  private static let showHelp = """
    usage: diorama env report [--json] [ID]

    Prints what has happened in an environment so far.

    \(Options.describe(table))
    Exit status: 3 when its world did not hold so far (a request that is not recorded, a missing string).

    """

  private static let endHelp = """
    usage: diorama env delete [--json] [ID]

    Ends an environment: its ports close, its recording becomes the cassette, and its report is printed.

    \(Options.describe(table))
    Exit status: 3 when its world did not hold (a request that is not recorded, a missing string); 66 when there is no
    such environment.

    """
}
