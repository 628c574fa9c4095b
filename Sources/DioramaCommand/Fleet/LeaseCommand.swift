import Basics
import ControlAPI
import DaemonClient
import EnvironmentConfiguration
import EnvironmentService
import Foundation

/// `diorama lease`: leases resources of pools.
enum LeaseCommand {
  private static func lease(_ options: Options, terminal: Terminal) throws -> Int32 {
    if options.has("--shell"), options.has("--json") {
      throw CodedError(usage: "--shell and --json cannot be combined", command: "lease")
    }
    let access = DaemonAccess(options)
    let owner = try OwnerOptions(options, isRemote: try access.remote != nil, command: "lease")
    let request = LeaseRequest(
      id: UUID().uuidString.lowercased(), resources: try resources(options),
      waitSeconds: try wait(options), owner: owner.owner, ttlSeconds: owner.seconds)
    let lease = try terminal.waiting(for: request.described) { () throws(DaemonClientError) in
      try access.ask(starting: true) { client throws(DaemonClientError) in try await client.lease(request) }
    }
    Output.outliveReaders()
    do {
      if options.has("--json") {
        try Output.write(json: lease)
      } else if options.has("--shell") {
        var variables = ["DIORAMA_LEASE": lease.id]
        for (label, resource) in lease.resources { variables.merge(resource.variables(label)) { $1 } }
        let lines = variables.sorted { $0.key < $1.key }.compactMap { ShellWord.export($0.key, $0.value) }
        try Output.write(raw: lines.map { $0 + "\n" }.joined())
      } else {
        let rows = lease.resources.sorted { $0.key < $1.key }.map { label, resource in
          [
            label, resource.name,
            resource.attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }.joined(separator: " "),
          ]
        }
        try Output.write(lines: ["lease \(lease.id)"])
        try Output.write(Table(header: ["", "resource", "attributes"], rows: rows, rightAligned: []), orIfEmpty: "")
      }
    } catch {
      // The caller never learned of it.
      try? access.ask { client throws(DaemonClientError) in try await client.endLease(lease.id) }
      throw error
    }
    return 0
  }

  private static func wait(_ options: Options) throws(CodedError) -> Double? {
    guard let text = options.value("--wait") else { return nil }
    guard let seconds = Double(text), 0...86_400 ~= seconds else {
      throw CodedError(usage: "--wait takes seconds from 0 to 86400, not '\(text)'", command: "lease")
    }
    return seconds
  }

  private static func resources(_ options: Options) throws(CodedError) -> [String: ResourceQuery] {
    var resources = try ResourceQuery.queries(options, command: "lease")
    var attributes: [String: String] = [:]
    for text in options.all("--where") {
      let (name, value) = try pair(text, option: "--where", form: "ATTRIBUTE=VALUE", command: "lease")
      attributes[name] = value
    }
    if let pool = options.value("--pool") {
      guard resources[pool] == nil else {
        throw CodedError(usage: "--pool \(pool) and --resource \(pool) would have the same name", command: "lease")
      }
      resources[pool] = ResourceQuery(pool: pool, where: attributes)
    } else if !attributes.isEmpty {
      throw CodedError(usage: "--where needs --pool", command: "lease")
    }
    guard !resources.isEmpty else {
      throw CodedError(usage: "nothing to lease; name a pool with --pool POOL", command: "lease")
    }
    return resources
  }

  private static let table: [Options.Option] =
    [
      .init("--pool", "POOL", "the pool to lease a resource from"),
      .init("--where", "ATTRIBUTE=VALUE", "with --pool: an attribute that it must have; repeatable"),
      .init(
        "--resource", "NAME=POOL[,ATTRIBUTE=VALUE]",
        "a resource with a name for its variables; repeatable, for several resources, all or none"),
      .init("--wait", "SECONDS", "how long to wait for a free one (default: 60)"),
    ] + OwnerOptions.table + [
      .init("--shell", nil, "print export lines for eval, with secrets"),
      .init("--json", nil, "print JSON, with secrets"), DaemonAccess.option,
    ]

  static let command = Command(
    "lease", "lease test accounts and other resources of pools",
    usage: [
      "lease --pool POOL [--where ATTRIBUTE=VALUE] [--wait SECONDS] [--owner PID | --ttl SECONDS]", "lease list",
      "lease release ID …",
    ],
    about: """
      Leases free resources of pools (diorama pool) and prints them. No other request
      gets them until the lease ends: when its owner exits, when its time to live
      expires, or with diorama lease release. The default owner is the calling process, such
      as the shell of a script. If that ends too early (timeout, xargs, a pipe), use
      --owner PID (in a script: --owner $$) or --ttl SECONDS.

      Waits while all are leased. Requests for the same resources are served in order
      of arrival, across all machines. Secrets are printed by --shell and --json.
      """, options: table,
    notes: """
      Exit status: 64 usage; 66 no such pool or resource; 69 no daemon, or its
      database is unreachable; 75 none became free in time.

        eval "$(diorama lease --pool patients --owner $$ --shell)"
        ./login-test "$DIORAMA_RESOURCE_PATIENTS" "$DIORAMA_RESOURCE_PATIENTS_PASSWORD"
        diorama lease release "$DIORAMA_LEASE"
      """, subcommands: [LeaseTable.command, LeaseRelease.command], run: lease)
}

extension LeaseRequest {
  /// That it waits, and for what.
  fileprivate var described: String {
    let what = resources.values.map(\.described).sorted().joined(separator: ", ")
    return "waiting for \(what), up to \(Int(patience)) s; see diorama lease list"
  }
}

extension ResourceQuery {
  /// Such as `patients plan=premium`.
  var described: String {
    ([pool] + attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }).joined(separator: " ")
  }

  /// Reads `--resource NAME=POOL[,ATTRIBUTE=VALUE]`.
  static func queries(_ options: Options, command: String) throws(CodedError) -> [String: ResourceQuery] {
    var queries: [String: ResourceQuery] = [:]
    for text in options.all("--resource") {
      let (name, given) = try pair(
        text, option: "--resource", form: "NAME=POOL[,ATTRIBUTE=VALUE]", command: command)
      var parts = given.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
      var query = ResourceQuery(pool: parts.removeFirst())
      for part in parts {
        let (attribute, value) = try pair(
          part, option: "--resource \(name)", form: "ATTRIBUTE=VALUE", command: command)
        query.attributes[attribute] = value
      }
      guard queries.updateValue(query, forKey: name) == nil else {
        throw CodedError(usage: "--resource \(name) is given twice; remove one", command: command)
      }
    }
    return queries
  }
}

/// The resources of `diorama run`, which a daemon leases.
struct RunLease {
  private let id: String
  private let access: DaemonAccess

  /// Leases what an environment needs; nil if it needs nothing.
  ///
  /// - Parameters:
  ///   - specification: the environment, which gets the resources.
  ///   - terminal: shows that it waits.
  /// - Throws: `DaemonClientError` if the resources do not exist, or are not free in time.
  init?(_ specification: inout EnvironmentSpecification, terminal: Terminal) throws {
    let needed = try specification.resourcesToLease()
    guard !needed.isEmpty else { return nil }
    access = DaemonAccess()
    // A daemon on another machine cannot watch this process.
    let isRemote = try access.remote != nil
    let request = LeaseRequest(
      id: UUID().uuidString.lowercased(), resources: needed,
      owner: isRemote ? nil : Owner(pid: ProcessInfo.processInfo.processIdentifier),
      ttlSeconds: isRemote ? GitHubWorkflow.longestJob : nil)
    let lease = try terminal.waiting(for: request.described) {
      [access] () throws(DaemonClientError) in
      try access.ask(starting: true) { client throws(DaemonClientError) in try await client.lease(request) }
    }
    id = lease.id
    specification.leased = lease.resources
  }

  /// Whether another test may have the resources now. A daemon that does not answer keeps its leases.
  var isLost: Bool {
    let list = try? access.ask { client throws(DaemonClientError) in try await client.leases() }
    if let seconds = list?.store?.uncertainSeconds {
      Terminal().line(
        "the fleet's database has been unreachable for \(Int(seconds)) s, so another test may have had the resources")
    }
    return list?.holds(id) == false
  }

  /// Returns the resources.
  func end(_ terminal: Terminal) {
    do throws(DaemonClientError) {
      try access.ask { [id] client throws(DaemonClientError) in try await client.endLease(id) }
    } catch {
      // Otherwise it has ended.
      guard error.exitStatus != CodedError.Kind.noCassette.rawValue else { return }
      terminal.line(
        "cannot return the resources: \(error.message); the daemon will return them after this process has ended")
    }
  }
}

/// `diorama lease list`: lists leases of resources.
enum LeaseTable {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let list = try DaemonAccess(options).ask { client throws(DaemonClientError) in try await client.leases() }
    if let away = list.store?.away {
      terminal.line("the database is unreachable, so only leases of this host are listed: \(away)")
    }
    if options.has("--json") {
      try Output.write(json: list)
      return 0
    }
    let rows = list.leases.map { lease in
      let resources = lease.resources.values.map { "\($0.pool)/\($0.name)" }.sorted().joined(separator: " ")
      let owner =
        lease.environment.map { "environment \($0)" } ?? lease.owner.map { "process \($0.pid)" } ?? "none"
      return [
        lease.id, lease.state,
        resources.isEmpty
          ? (lease.requested ?? [:]).values.map(\.described).sorted().joined(separator: ", ") : resources,
        lease.host ?? "-", owner, lease.since,
        lease.endsAt ?? (lease.environment == nil ? "with its owner" : "with its environment"),
      ]
    }
    try Output.write(
      Table(
        header: ["lease", "state", "resources", "host", "owner", "since", "ends"], rows: rows, rightAligned: []),
      orIfEmpty: "no leased resources")
    return 0
  }

  static let command = Command(
    "lease list", "list leased resources", usage: ["lease list [--json]"],
    about: """
      Lists leased resources and waiting requests of all hosts, in the order of the
      requests.
      """, options: [.init("--json", nil, "print JSON"), DaemonAccess.option], run: run)
}

/// `diorama lease release`: returns leased resources.
enum LeaseRelease {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let ids = options.operands + (options.rest ?? [])
    guard !ids.isEmpty, !ids.contains("") else {
      throw CodedError(usage: "no lease to release; give its id", command: "lease release")
    }
    let access = DaemonAccess(options)
    var status: Int32 = 0
    for id in ids {
      do throws(DaemonClientError) {
        try access.ask { client throws(DaemonClientError) in try await client.endLease(id) }
      } catch {
        // Releases the others, too, unless there is no daemon.
        guard case .refused = error.kind else { throw error }
        terminal.error(error.message)
        status = status == 0 ? error.exitStatus : status
      }
    }
    return status
  }

  static let command = Command(
    "lease release", "return leased resources", usage: ["lease release ID …"],
    about: "Returns leased resources. A waiting request is withdrawn.", options: [DaemonAccess.option],
    notes: "Exit status: 66 no such lease; the others are released. 69 no daemon.", operands: .words, run: run)
}
