import ControlAPI
import DaemonClient
import Foundation

/// `diorama env list`: what lives in the daemon.
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
          environment.owner.map { "process \($0.pid)" } ?? "nobody", environment.createdAt,
          environment.endsAt ?? "with its owner",
        ]
      }
      let header = ["id", "name", "state", "mode", "port", "owner", "created", "ends"]
      try Output.write(Table(header: header, rows: rows, rightAligned: [4]), orWhereEmpty: "there is no environment")
    }
    return 0
  }

  private static let table: [Options.Option] = [.init("--json", nil, "as JSON"), DaemonAccess.option]

  private static let help = """
    usage: diorama env list [--json]

    Shows the environments that live in the daemon.

    \(Options.describe(table))
    """
}
