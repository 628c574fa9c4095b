import ControlAPI
import DaemonClient
import EnvironmentService
import Foundation

/// `diorama port`: leases ports of the daemon, shows who has which, and gives them back.
enum PortCommand {
  static func run(_ arguments: [String], terminal: Terminal) throws -> Int32 {
    switch arguments.first {
    case "list": return try PortTable.run(Array(arguments.dropFirst()))
    case "release": return try PortRelease.run(Array(arguments.dropFirst()), terminal: terminal)
    case "help":
      try Output.write(raw: help)
      return 0
    case let word? where !word.hasPrefix("-"):
      throw UsageError(
        "port has no verb '\(word)'" + suggestion(for: word, among: ["list", "release"])
          + "; without one it leases ports", command: "port")
    default: return try lease(arguments)
    }
  }

  private static func lease(_ arguments: [String]) throws -> Int32 {
    let options = try Options(arguments, table: table, command: "port")
    if options.has("--help") {
      try Output.write(raw: help)
      return 0
    }
    try options.refuseWords(command: "port")
    let request = try request(options)
    let access = DaemonAccess(options)
    let leases = try access.ask(starting: true) { client throws(DaemonClientError) in
      try await client.leasePorts(request)
    }
    do {
      if options.has("--json") {
        try Output.write(json: PortList(ports: leases))
      } else {
        try Output.write(lines: leases.map { "\($0.port)" })
      }
    } catch {
      // Nobody knows that he has them.
      for lease in leases { try? access.release(lease.port) }
      throw error
    }
    return 0
  }

  private static func request(_ options: Options) throws(UsageError) -> PortsRequest {
    let names = options.all("--name")
    if names.contains("") { throw UsageError("--name needs a name", command: "port") }
    var count = max(names.count, 1)
    if let text = options.value("--count") {
      guard let number = Int(text), number > 0 else {
        throw UsageError("--count takes a whole number from 1, not '\(text)'", command: "port")
      }
      guard names.count <= 1 || names.count == number else {
        throw UsageError("--count \(number) does not go with \(names.count) names", command: "port")
      }
      count = number
    }
    // Each of several has a name of its own.
    let numbered = names.first.map { name in (1...min(count, 65_536)).map { "\(name)-\($0)" } }
    let owner = try OwnerOptions(options, command: "port")
    return PortsRequest(
      count: count, names: names.count < count ? numbered : names.isEmpty ? nil : names, owner: owner.owner,
      ttlSeconds: owner.seconds, hold: options.has("--no-hold") ? false : nil)
  }

  private static let table: [Options.Option] =
    [
      .init("--name", "N", "what the port is for; repeatable, a port for each;\nwith --count: N-1, N-2 and so on"),
      .init("--count", "N", "how many (default 1)"),
    ] + OwnerOptions.table + [
      .init("--no-hold", nil, "no socket keeps others out: for programs that bind without SO_REUSEADDR"),
      .init("--json", nil, "as JSON"), DaemonAccess.option,
    ]

  private static let help = """
    usage: diorama port [--name N] [--count N] [--owner PID | --ttl SECONDS]
           diorama port list
           diorama port release PORT …

    Leases free ports of 127.0.0.1 and prints one a line. Nobody else gets them until they are released, their time is
    over, or their owner has been gone for 30 s: without an owner it is the process that called this command, such as the
    shell that runs a script. Where that ends too early (timeout, xargs), say --owner PID, in a script --owner $$, or
    --ttl SECONDS.

    A daemon is started where none runs, and leaves again when it has nothing to do.

    \(Options.describe(table))
    Exit status: 64 usage, 66 the port is not leased, 69 no daemon or no port left, 74 I/O.

      port=$(diorama port --name web) && ./server --port "$port"

    """
}

extension Options {
  /// For a command that takes options only.
  func refuseWords(command: String) throws(UsageError) {
    if let extra = operands.first ?? rest?.first {
      throw UsageError("'\(extra)' is one word too many", command: command)
    }
  }
}

extension DaemonAccess {
  /// Gives a port back.
  func release(_ port: Int) throws(DaemonClientError) {
    guard let number = UInt16(exactly: port) else { return }
    try ask { client throws(DaemonClientError) in try await client.releasePort(number) }
  }
}
