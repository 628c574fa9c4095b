import ControlAPI
import DaemonClient
import Foundation

/// `diorama port list`: who has which port.
enum PortTable {
  static func run(_ arguments: [String]) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "port list")
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    try options.refuseWords(command: "port list")
    let leases = try DaemonAccess(options).ask { client throws(DaemonClientError) in try await client.ports() }
    if options.has("--json") {
      try Output.write(json: PortList(ports: leases))
    } else {
      try Output.write(
        Table(header: ["port", "name", "owner", "since", "ends"], rows: leases.map(row), rightAligned: [0]),
        orWhereEmpty: "no port is leased")
    }
    return 0
  }

  private static func row(_ lease: PortList.Lease) -> [String] {
    let owner =
      lease.environment.map { "environment \($0)" } ?? lease.owner.map { "process \($0.pid)" } ?? "nobody"
    return [
      String(lease.port), lease.name ?? "-", owner, lease.since ?? "-",
      lease.endsAt ?? (lease.environment == nil ? "with its owner" : "with its environment"),
    ]
  }

  private static let table: [Options.Option] = [.init("--json", nil, "as JSON"), DaemonAccess.option]

  private static let help = """
    usage: diorama port list [--json]

    Shows the ports that are leased: what for, whose they are, since when and until when.

    \(Options.describe(table))
    """
}
