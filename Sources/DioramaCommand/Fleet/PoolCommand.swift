import Basics
import ControlAPI
import DaemonClient
import Foundation
import LaunchContract

/// `diorama pool`: pools of scarce resources, such as test accounts.
enum PoolCommand {
  static let command = Command(
    "pool", "manage pools of test accounts and other resources", usage: ["pool SUBCOMMAND …"],
    about: """
      A pool has resources that can serve one test at a time: test accounts, devices,
      phone numbers. Tests lease them with the setting "resources", commands
      with diorama lease. The daemons of several machines share their pools with
      diorama serve --store.
      """,
    notes: """
        diorama pool create patients
        diorama pool import patients patients.csv
        diorama lease --pool patients --where plan=premium
      """,
    subcommands: [
      PoolCreate.command, PoolImport.command, PoolTable.command, PoolShow.command,
      ResourceChange.retire.command, ResourceChange.restore.command, PoolDelete.command,
    ])

  fileprivate static let state = DaemonAccess.option
  fileprivate static let json = Options.Option("--json", nil, "print JSON")

  /// The words that the arguments give.
  fileprivate static func words(
    _ options: Options, _ names: String..., command: String, orMore: Bool = false
  ) throws(CodedError) -> [String] {
    let words = options.operands + (options.rest ?? [])
    guard words.count >= names.count, !words.contains("") else {
      let missing = names[min(words.count, names.count - 1)]
      throw CodedError(usage: "missing \(missing)", command: command)
    }
    guard orMore || words.count == names.count else {
      throw CodedError(usage: "unexpected argument '\(words[names.count])'", command: command)
    }
    return words
  }
}

/// `diorama pool create`: creates a pool.
enum PoolCreate {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let name = try PoolCommand.words(options, "NAME", command: "pool create")[0]
    let most = try options.number("--max-failures", 1...1000, command: "pool create")
    guard most == nil || options.has("--clean") else {
      throw CodedError(usage: "--max-failures needs --clean", command: "pool create")
    }
    let pool = PoolSettings(name: name, cleans: options.has("--clean") ? true : nil, maximumFailures: most)
    try DaemonAccess(local: options).ask(starting: true) { client throws(DaemonClientError) in
      try await client.createPool(pool)
    }
    return 0
  }

  static let command = Command(
    "pool create", "create a pool", usage: ["pool create [--clean [--max-failures N]] NAME"],
    about: """
      Creates an empty pool. Starts a daemon if none is running.

      With --clean, a returned resource is leased again only once a clean-up command
      has succeeded. Set the command in the configuration of a daemon
      (diorama serve --config), under the name of the pool:

        {"cleanUp": {"patients": ["/usr/local/bin/reset-patient"]}}

      It gets the resource as JSON on standard input. After it has failed a few times
      in a row, the resource is quarantined; diorama pool restore puts it back.
      """,
    options: [
      .init("--clean", nil, "lease returned resources again only after a clean-up command"),
      .init("--max-failures", "N", "with --clean: after how many failures to quarantine a resource (default: 3)"),
      PoolCommand.state,
    ], notes: "Exit status: 64 usage, or the name is taken; 69 no daemon, or its database is unreachable.",
    operands: .words,
    run: run)
}

/// `diorama pool import`: adds resources to a pool.
enum PoolImport {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let words = try PoolCommand.words(options, "POOL", "FILE", command: "pool import")
    let (pool, path) = (words[0], words[1])
    let name = path == "-" ? "standard input" : path
    let data: Data
    do throws(CodedError) {
      data =
        path == "-"
        ? try StandardInput.read(atMost: 64 << 20)
        : try InputFile(path, acceptsPipes: true).read(atMost: 64 << 20)
    } catch {
      throw CodedError(.inputOutput, "cannot read \(name): \(error.problem)")
    }
    let file = try ResourceFile(Array(data), name: name)
    let result = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in
      try await client.importResources(file.resources, into: pool)
    }
    if options.has("--json") {
      try Output.write(json: result)
    } else {
      let (attributes, secrets) = file.columns
      for name in file.suspicious {
        terminal.line(
          "'\(name)' is an attribute, which pool show prints; if it is secret, name the column secret:\(name) and import again"
        )
      }
      func list(_ names: [String]) -> String { names.isEmpty ? "none" : names.joined(separator: ", ") }
      try Output.write(lines: [
        "added \(result.added), replaced \(result.replaced); attributes: \(list(attributes)); secrets: \(list(secrets))"
      ])
    }
    return 0
  }

  static let command = Command(
    "pool import", "add resources to a pool", usage: ["pool import [--json] POOL FILE"],
    about: """
      Adds the resources of a CSV or JSON file to a pool, or replaces the attributes
      and secrets of those that it has already; all or none. FILE - is standard input.

      The first line of CSV names the columns: name, and attributes by which tests
      choose. Columns secret:NAME hold passwords and the like, which are stored
      encrypted, and given only to the holder of the lease:

        name,plan,secret:password
        anna,premium,s3cret
        ben,free,t0psecret

      The same as JSON:

        [{"name": "anna", "attributes": {"plan": "premium"},
          "secrets": {"password": "s3cret"}}, …]
      """, options: [PoolCommand.json, PoolCommand.state],
    notes:
      "Exit status: 64 usage; 65 the file is not valid; 66 no such pool; 69 no daemon; 74 the file cannot be read.",
    operands: .words, run: run)
}

/// `diorama pool list`: lists pools.
enum PoolTable {
  private static let states = ["free", "leased", "dirty", "cleaning", "quarantined", "retired"]

  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let pools = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in try await client.pools() }
    if options.has("--json") {
      try Output.write(json: PoolList(pools: pools))
      return 0
    }
    let rows = pools.map { pool in
      [pool.name] + states.map { String(pool.states[$0] ?? 0) } + [pool.cleans ? "after clean-up" : "at once"]
    }
    try Output.write(
      Table(header: ["pool"] + states + ["leased again"], rows: rows, rightAligned: Set(1...states.count)),
      orIfEmpty: "no pools; create one with: diorama pool create NAME")
    return 0
  }

  static let command = Command(
    "pool list", "list pools", usage: ["pool list [--json]"],
    about: "Lists the pools, with the number of their resources in each state.",
    options: [PoolCommand.json, PoolCommand.state], run: run)
}

/// `diorama pool show`: lists the resources of a pool.
enum PoolShow {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let pool = try PoolCommand.words(options, "POOL", command: "pool show")[0]
    let resources = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in
      try await client.resources(of: pool)
    }
    if options.has("--json") {
      try Output.write(json: PoolResources(resources: resources))
      return 0
    }
    let rows = resources.map { resource in
      let attributes = (resource.attributes ?? [:]).sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
      let holder = [resource.host.map { "on \($0)" }, resource.environment.map { "environment \($0)" }]
      return [
        resource.name, attributes.joined(separator: " "), resource.state ?? "", String(resource.fence ?? 0),
        resource.reason ?? holder.compactMap(\.self).joined(separator: ", "),
      ]
    }
    try Output.write(
      Table(header: ["resource", "attributes", "state", "fence", "details"], rows: rows, rightAligned: [3]),
      orIfEmpty: "no resources; add some with: diorama pool import \(pool) FILE")
    return 0
  }

  static let command = Command(
    "pool show", "list the resources of a pool", usage: ["pool show [--json] POOL"],
    about: """
      Lists the resources of a pool with their attributes and states, and who has
      leased them. Secrets are not shown. The fence grows with each lease.
      """, options: [PoolCommand.json, PoolCommand.state], notes: "Exit status: 66 no such pool; 69 no daemon.",
    operands: .words, run: run)
}

/// `diorama pool retire` and `diorama pool restore`.
struct ResourceChange: Sendable {
  static let retire = ResourceChange(isRetired: true)
  static let restore = ResourceChange(isRetired: false)

  fileprivate let isRetired: Bool

  private var name: String { isRetired ? "pool retire" : "pool restore" }

  private func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let words = try PoolCommand.words(options, "POOL", "RESOURCE", command: name, orMore: true)
    let access = DaemonAccess(local: options)
    var status: Int32 = 0
    for resource in words.dropFirst() {
      do throws(DaemonClientError) {
        try access.ask { [isRetired] client throws(DaemonClientError) in
          try await client.change(resource, of: words[0], ResourcePatch(retired: isRetired))
        }
      } catch {
        // Changes the others, too, unless there is no daemon.
        guard case .refused = error.kind else { throw error }
        terminal.error(error.message)
        status = status == 0 ? error.exitStatus : status
      }
    }
    return status
  }

  var command: Command {
    Command(
      name, isRetired ? "take resources out of use" : "put resources back into use",
      usage: ["\(name) POOL RESOURCE …"],
      about: isRetired
        ? """
        Takes resources out of use: they are not leased any more. One that is leased
        stays with its holder until the lease ends.
        """
        : """
        Puts retired and quarantined resources back into use. In a pool with clean-up,
        they are cleaned first.
        """, options: [PoolCommand.state],
      notes: "Exit status: 66 no such resource; the others are changed. 69 no daemon.",
      operands: .words, run: run)
  }
}

/// `diorama pool delete`: deletes a pool.
enum PoolDelete {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let pool = try PoolCommand.words(options, "POOL", command: "pool delete")[0]
    try DaemonAccess(local: options).ask { client throws(DaemonClientError) in try await client.removePool(pool) }
    return 0
  }

  static let command = Command(
    "pool delete", "delete a pool", usage: ["pool delete POOL"],
    about: "Deletes a pool with its resources. None of them may be leased.", options: [PoolCommand.state],
    notes: "Exit status: 64 resources are leased; 66 no such pool; 69 no daemon.", operands: .words, run: run)
}
