import ControlAPI
import DaemonClient
import Foundation

/// `diorama env show`: one environment.
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
      "  owner     " + (environment.owner.map { "process \($0.pid)" } ?? "nobody"),
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
    .init("--json", nil, "as JSON, with all that a program needs to live in it, its token too"), DaemonAccess.option,
  ]

  private static let help = """
    usage: diorama env show [--json] [ID]

    Shows an environment: its cassette, where its backends and ports are, whose it is and when it ends.

    \(Options.describe(table))
    """
}
