import Basics
import ControlAPI
import DaemonClient
import EnvironmentService
import Foundation

/// `diorama port`: leases, lists and releases ports of the daemon.
enum PortCommand {
  private static func lease(_ options: Options, terminal: Terminal) throws -> Int32 {
    let access = DaemonAccess(options)
    let request = try request(options, isRemote: try access.remote != nil)
    let leases = try access.ask(starting: true) { client throws(DaemonClientError) in
      try await client.leasePorts(request)
    }
    Output.outliveReaders()
    do {
      if options.has("--json") {
        try Output.write(json: PortList(ports: leases))
      } else {
        try Output.write(lines: leases.map { "\($0.port)" })
      }
    } catch {
      // Returns the ports, since the caller never learned of them.
      for lease in leases { try? access.release(lease.port) }
      throw error
    }
    return 0
  }

  private static func request(_ options: Options, isRemote: Bool) throws(CodedError) -> PortsRequest {
    let names = options.all("--name")
    if names.contains("") { throw CodedError(usage: "--name must not be empty", command: "port") }
    var count = max(names.count, 1)
    if let number = try options.number("--count", 1...1000, command: "port") {
      guard names.count <= 1 || names.count == number else {
        throw CodedError(usage: "--count \(number) and \(names.count) names differ; leave out --count", command: "port")
      }
      count = number
    }
    // With one name for several ports, numbers the names.
    let numbered = names.first.map { name in (1...min(count, 65_536)).map { "\(name)-\($0)" } }
    let owner = try OwnerOptions(options, isRemote: isRemote, command: "port")
    return PortsRequest(
      count: count, names: names.count < count ? numbered : names.isEmpty ? nil : names, owner: owner.owner,
      ttlSeconds: owner.seconds, hold: options.has("--no-hold") ? false : nil)
  }

  private static let table: [Options.Option] =
    [
      .init("--name", "N", "a name for the port; repeat for several ports;\nwith --count: N-1, N-2 and so on"),
      .init("--count", "N", "how many ports (default: 1)"),
    ] + OwnerOptions.table + [
      .init("--no-hold", nil, "don't hold the port with a socket, for programs that bind without SO_REUSEADDR"),
      .init("--json", nil, "print JSON"), DaemonAccess.option,
    ]

  static let command = Command(
    "port", "lease free ports",
    usage: ["port [--name N] [--count N] [--owner PID | --ttl SECONDS]", "port list", "port release PORT …"],
    about: """
      Leases free ports of 127.0.0.1 and prints one a line. A port belongs to its
      owner until it is released, its time to live is over, or the owner has been gone
      for 30 s. The default owner is the calling process, such as the shell of a
      script. If that ends too early (timeout, xargs), use --owner PID (in a script:
      --owner $$) or --ttl SECONDS.

      Starts a daemon if none is running. That daemon exits when it is idle.
      """, options: table,
    notes: """
      Exit status: 64 usage; 66 port not leased; 69 no daemon or no free port; 74 I/O.

        port=$(diorama port --name web) && ./server --port "$port"
      """, subcommands: [PortTable.command, PortRelease.command], run: lease)
}

extension DaemonAccess {
  /// Releases a port.
  func release(_ port: Int) throws(DaemonClientError) {
    guard let number = UInt16(exactly: port) else { return }
    try ask { client throws(DaemonClientError) in try await client.releasePort(number) }
  }
}

/// `diorama port list`: lists leased ports.
enum PortTable {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let leases = try DaemonAccess(options).ask { client throws(DaemonClientError) in try await client.ports() }
    if options.has("--json") {
      try Output.write(json: PortList(ports: leases))
    } else {
      try Output.write(
        Table(header: ["port", "name", "owner", "since", "ends"], rows: leases.map(row), rightAligned: [0]),
        orIfEmpty: "no leased ports")
    }
    return 0
  }

  private static func row(_ lease: PortList.Lease) -> [String] {
    let owner =
      lease.environment.map { "environment \($0)" } ?? lease.owner.map { "process \($0.pid)" } ?? "none"
    return [
      String(lease.port), lease.name ?? "-", owner, lease.since ?? "-",
      lease.endsAt ?? (lease.environment == nil ? "with its owner" : "with its environment"),
    ]
  }

  static let command = Command(
    "port list", "list leased ports", usage: ["port list [--json]"],
    about: "Lists leased ports with their names, owners, and start and end times.",
    options: [.init("--json", nil, "print JSON"), DaemonAccess.option], run: run)
}

/// `diorama port release`: releases ports.
enum PortRelease {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let ports = try (options.operands + (options.rest ?? [])).map { word throws(CodedError) in
      guard let port = UInt16(word), port > 0 else {
        throw CodedError(usage: "'\(word)' is not a port from 1 to 65535", command: "port release")
      }
      return port
    }
    guard !ports.isEmpty else {
      throw CodedError(usage: "no port to release; give its number", command: "port release")
    }
    let access = DaemonAccess(options)
    var status: Int32 = 0
    for port in ports {
      do { try access.release(Int(port)) } catch {
        // Releases the other ports, too, unless there is no daemon.
        guard case .refused = error.kind else { throw error }
        terminal.error(error.message)
        status = status == 0 ? error.exitStatus : status
      }
    }
    return status
  }

  static let command = Command(
    "port release", "release leased ports", usage: ["port release PORT …"], about: "Releases leased ports.",
    options: [DaemonAccess.option], notes: "Exit status: 66 a port is not leased; the others are released.",
    operands: .words, run: run)
}
