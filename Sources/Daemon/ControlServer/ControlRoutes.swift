import Basics
import ControlAPI
import EnvironmentConfiguration
import Fleet
import HTTPMessages
import HTTPServer
import LaunchContract

extension RouteTable {
  static let id = Parameter(name: "id", place: .path, schema: Schemas.identifier, note: "The environment's id.")
  static let gone: [Int: String] = [404: "no such environment", 410: "the environment has ended"]
  static let noRoom =
    "the state cannot be stored, for example because the disk is full; nothing has changed "
    + "unless the detail says otherwise"

  static let environments = [
    Route(
      method: "POST", path: "/v1/environments", operation: "provisionEnvironment",
      summary: "Provisions an environment. It is ready and stored before the call returns.",
      body: RequestBody(schema: "ProvisioningRequest"),
      answers: [
        .json(
          201, "ProvisionedEnvironment", "The environment is ready.", headers: ["Location": "The environment's path."])
      ],
      problems: [
        409: "the cassette is being recorded by another environment or cannot be written, or the pool has too few "
          + "free ports",
        422:
          "the request is invalid: no such cassette, a broken cassette, no upstream to record from, or no such owner",
        429: "too many environments",
        503: "the system has no sockets left",
        507: noRoom,
      ],
      perform: { call in
        let made = try await call.operations.provision(try call.decode())
        return try .json(made, status: 201, headers: ["Location": "/v1/environments/\(made.id)"])
      }),
    Route(
      method: "GET", path: "/v1/environments", operation: "listEnvironments",
      summary: "Lists all environments, oldest first, without contracts.",
      answers: [.json(200, "EnvironmentList", "The environments.")],
      perform: { call in try .json(call.operations.environments()) }),
    Route(
      method: "GET", path: "/v1/environments/{id}", operation: "showEnvironment",
      summary: "Returns an environment with its contract.", parameters: [id],
      answers: [.json(200, "ProvisionedEnvironment", "The environment's current state.")], problems: gone,
      perform: { call in try .json(try call.operations.environment(call.id)) }),
    Route(
      method: "PATCH", path: "/v1/environments/{id}", operation: "patchEnvironment",
      summary: "Changes toggles, values, clock and mode atomically while apps run.", parameters: [id],
      body: RequestBody(schema: "EnvironmentPatch", mediaTypes: ["application/json", "application/merge-patch+json"]),
      answers: [.json(200, "Revision", "All following apps have applied the change.")],
      problems: gone.merging([
        409: "an app did not apply it in time, or the environment is ending", 422: "the change is invalid",
        429: "too many calls wait", 507: noRoom,
      ]) { $1 },
      perform: { call in try .json(try await call.operations.patch(call.id, try call.decode())) }),
    Route(
      method: "POST", path: "/v1/environments/{id}/clock", operation: "moveClock",
      summary: "Waits for sleepers, moves the clock, and returns once every app has applied the change.",
      parameters: [id],
      body: RequestBody(schema: "ClockMoveRequest"),
      answers: [.json(200, "ClockMoveAnswer", "The clock has moved.")],
      problems: gone.merging([
        409: "too few sleepers registered in time, an app did not apply it in time, or the environment is ending",
        422: "the clock cannot move as requested", 429: "too many calls wait", 507: noRoom,
      ]) { $1 },
      perform: { call in try .json(try await call.operations.moveClock(call.id, try call.decode())) }),
    Route(
      method: "POST", path: "/v1/environments/{id}/strings", operation: "drawString",
      summary: "Draws the next random value of a key, for programs without the library.", parameters: [id],
      body: RequestBody(schema: "StringRequest"),
      answers: [.json(200, "StringAnswer", "The value and its ordinal.")],
      problems: gone.merging([
        400: "the request is invalid", 409: "the value is not recorded, or the environment is ending",
        507: "the value cannot be recorded or stored, for example because the disk is full",
      ]) { $1 },
      perform: { call in try await call.operations.strings(call.id, body: call.body) }),
    Route(
      method: "DELETE", path: "/v1/environments/{id}", operation: "endEnvironment",
      summary: "Ends an environment and returns its report, once its ports and files are released.",
      parameters: [
        id,
        Parameter(
          name: "failed", place: .query, schema: .boolean,
          note: "Whether the program or test failed, so that its recording does not become the cassette "
            + "(default: false)."),
        Parameter(
          name: "expectRequests", place: .query, schema: .boolean,
          note: "Whether an environment with upstreams fails if no request has reached it (default: false)."),
      ],
      answers: [
        .json(200, "Report", "The final report. Its failures include a cassette that could not be written.")
      ],
      problems: gone,
      perform: { call in
        let hasFailed = call.parameters.bool("failed") ?? false
        let expectsRequests = call.parameters.bool("expectRequests") ?? false
        return try .json(
          try await call.operations.end(call.id, hasSucceeded: !hasFailed, expectsRequests: expectsRequests))
      }),
  ]
}

extension RouteTable {
  static let journals = [
    Route(
      method: "GET", path: "/v1/environments/{id}/journal", operation: "readJournal",
      summary: "Returns a page of the journal, or with Accept: text/event-stream all entries as they occur.",
      parameters: [
        id,
        Parameter(
          name: "after", place: .query, schema: .count, note: "The number of the last known entry; 0 if none."),
        Parameter(
          name: "limit", place: .query, schema: .integer(1...1000), note: "Entries per page (default: 100)."
        ),
        Parameter(
          name: "Last-Event-ID", place: .header, schema: .count,
          note: "Takes precedence over after. Clients send it when they resume a stream."),
      ],
      answers: [
        Answer(
          status: 200,
          note:
            "Entries in order. In a stream, each event named entry holds one entry as JSON; comments keep the "
            + "connection alive; and after the last entry of an ended environment comes an event named end: {last, "
            + "report}, the number of that entry and the path of the report. Resume a stream that ends without it.",
          content: ["application/json": .reference("JournalPage"), "text/event-stream": .words])
      ],
      problems: gone.merging([429: "too many calls wait"]) { $1 },
      perform: { call in
        let after = call.parameters.int("after") ?? 0
        let limit = call.parameters.int("limit") ?? 100
        guard ServerSentEvent.isAskedFor(call.headers) else {
          return try .json(try call.operations.journal(call.id, after: after, limit: limit))
        }
        let last = call.parameters.int("Last-Event-ID") ?? after
        return try JournalStream(call, after: last).response()
      }),
    Route(
      method: "GET", path: "/v1/environments/{id}/report", operation: "readReport",
      summary: "Returns the report so far.", parameters: [id],
      answers: [.json(200, "Report", "The report so far, or the final report of an environment that ended recently.")],
      problems: [404: "no such environment, or its report has been discarded"],
      perform: { call in try .json(try call.operations.report(call.id)) }),
  ]
}

extension RouteTable {
  static let ports = [
    Route(
      method: "POST", path: "/v1/ports", operation: "leasePorts", summary: "Leases free ports, all or none.",
      body: RequestBody(schema: "PortsRequest"),
      answers: [.json(201, "PortList", "The leases.")],
      problems: [
        409: "the pool has too few free ports", 422: "the lease is invalid",
        503: "the system has no sockets left", 507: "the leases cannot be stored, so none was made",
      ],
      perform: { call in try .json(try await call.operations.leasePorts(try call.decode()), status: 201) }),
    Route(
      method: "GET", path: "/v1/ports", operation: "listPorts", summary: "Lists all leases by port.",
      answers: [.json(200, "PortList", "The leases.")],
      perform: { call in try .json(call.operations.ports()) }),
    Route(
      method: "DELETE", path: "/v1/ports/{port}", operation: "releasePort", summary: "Releases a port.",
      parameters: [Parameter(name: "port", place: .path, schema: Schemas.port, note: "The port.")],
      answers: [Answer(status: 204, note: "The port is free.", content: [:])],
      problems: [
        404: "the port is not leased", 409: "the port belongs to an environment and is released with it",
        507: "the change cannot be stored, so the port stays leased",
      ],
      perform: { call in
        try await call.operations.releasePort(UInt16(call.parameters.int("port") ?? 0))
        return Response(status: 204)
      }),
  ]
}

extension RouteTable {
  static let leases = [
    Route(
      method: "POST", path: "/v1/leases", operation: "leaseResources",
      summary: "Leases resources of pools, all or none, and waits for them.", body: RequestBody(schema: "LeaseRequest"),
      answers: [.json(201, "ResourceLease", "The lease, with secrets.")],
      problems: [
        404: "no such pool, or no resource that fits", 409: "no resource is free in time",
        422: "the request is invalid, or the secrets cannot be decrypted", 429: "too many calls wait",
        503: "the fleet's database is unreachable or fails",
      ],
      perform: { call in try .json(try await call.operations.lease(try call.decode()), status: 201) }),
    Route(
      method: "GET", path: "/v1/leases", operation: "listLeases",
      summary:
        "Lists leased resources and waiting requests of all hosts, in the order of the requests, without secrets.",
      answers: [.json(200, "LeaseList", "The leases.")],
      problems: [503: "the fleet's database fails"],
      perform: { call in try .json(try await call.operations.leases()) }),
    Route(
      method: "DELETE", path: "/v1/leases/{id}", operation: "endLease",
      summary: "Returns leased resources, or withdraws a waiting request.",
      parameters: [Parameter(name: "id", place: .path, schema: Schemas.identifier, note: "The lease's id.")],
      answers: [Answer(status: 204, note: "The lease has ended.", content: [:])],
      problems: [
        404: "no such lease", 409: "the lease belongs to an environment and ends with it",
        503: "the fleet's database is unreachable; the lease ends when it is back",
      ],
      perform: { call in
        try await call.operations.endLease(call.id)
        return Response(status: 204)
      }),
  ]

  private static let pool = Parameter(name: "pool", place: .path, schema: Schemas.poolName, note: "The pool's name.")
  private static func poolProblems(_ more: [Int: String] = [:]) -> [Int: String] {
    more.merging([503: "the fleet's database is unreachable or fails"]) { $1 }
  }

  /// The pools, which only programs on the daemon's machine may manage.
  static let pools = [
    Route(
      method: "POST", path: "/v1/pools", operation: "createPool", summary: "Creates an empty pool of resources.",
      isLocal: true, body: RequestBody(schema: "PoolSettings"),
      answers: [Answer(status: 204, note: "The pool exists.", content: [:])],
      problems: poolProblems([422: "the name is taken"]),
      perform: { call in
        let pool: PoolSettings = try call.decode()
        try await call.fleet.perform { database throws(CodedError) in try database.createPool(pool) }
        return Response(status: 204)
      }),
    Route(
      method: "GET", path: "/v1/pools", operation: "listPools",
      summary: "Lists the pools, with the number of their resources in each state.", isLocal: true,
      answers: [.json(200, "PoolList", "The pools by name.")], problems: poolProblems(),
      perform: { call in
        try .json(
          PoolList(pools: try await call.fleet.perform { database throws(CodedError) in try database.pools() }))
      }),
    Route(
      method: "DELETE", path: "/v1/pools/{pool}", operation: "removePool",
      summary: "Removes a pool with its resources. None may be leased.", isLocal: true, parameters: [pool],
      answers: [Answer(status: 204, note: "The pool is gone.", content: [:])],
      problems: poolProblems([404: "no such pool", 422: "resources are leased"]),
      perform: { call in
        let pool = call.pool
        try await call.fleet.perform { database throws(CodedError) in try database.removePool(pool) }
        return Response(status: 204)
      }),
    Route(
      method: "GET", path: "/v1/pools/{pool}/resources", operation: "listResources",
      summary: "Lists the resources of a pool by name, with their states, without secrets.", isLocal: true,
      parameters: [pool], answers: [.json(200, "PoolResources", "The resources.")],
      problems: poolProblems([404: "no such pool"]),
      perform: { call in
        let pool = call.pool
        return try .json(
          PoolResources(
            resources: try await call.fleet.perform { database throws(CodedError) in try database.resources(of: pool) })
        )
      }),
    Route(
      method: "POST", path: "/v1/pools/{pool}/resources", operation: "importResources",
      summary: "Adds resources, or replaces the attributes and secrets of those that exist; all or none.",
      isLocal: true, parameters: [pool], body: RequestBody(schema: "ResourceImport"),
      answers: [.json(200, "ImportResult", "How many there were.")],
      problems: poolProblems([404: "no such pool", 422: "a resource is invalid, or there is no key for secrets"]),
      perform: { call in
        let pool = call.pool
        let given: PoolResources = try call.decode()
        let (added, replaced) = try await call.fleet.perform { database throws(CodedError) in
          try database.importResources(given.resources, into: pool)
        }
        return try .json(ImportResult(added: added, replaced: replaced))
      }),
    Route(
      method: "PATCH", path: "/v1/pools/{pool}/resources/{resource}", operation: "changeResource",
      summary: "Takes a resource out of use, or puts a retired or quarantined one back.", isLocal: true,
      parameters: [
        pool,
        Parameter(name: "resource", place: .path, schema: Schemas.resourceName, note: "The resource's name."),
      ],
      body: RequestBody(schema: "ResourcePatch", mediaTypes: ["application/json", "application/merge-patch+json"]),
      answers: [Answer(status: 204, note: "The resource is changed.", content: [:])],
      problems: poolProblems([404: "no such pool or resource"]),
      perform: { call in
        let (pool, resource) = (call.pool, call.parameters["resource"] ?? "")
        let patch: ResourcePatch = try call.decode()
        try await call.fleet.perform { database throws(CodedError) in
          try database.change(resource, of: pool, isRetired: patch.retired)
        }
        return Response(status: 204)
      }),
  ]
}

extension RouteTable {
  private static let awayProblem = [503: "the fleet's database is unreachable, or no history is kept"]
  private static let daysParameter = Parameter(
    name: "days", place: .query, schema: .integer(1...3650), note: "The days that count, with today (default: 7).")

  /// The history of all hosts, which only programs on the daemon's machine may read.
  static let fleet = [
    Route(
      method: "GET", path: "/v1/fleet/runs", operation: "listRuns",
      summary: "Lists the environments of all hosts: running ones, or those that have ended.", isLocal: true,
      parameters: [
        Parameter(
          name: "ended", place: .query, schema: .boolean, note: "Whether to list ended ones (default: false)."),
        Parameter(
          name: "after", place: .query, schema: .instant,
          note: "With ended: those that ended later, in order (default: the last ones)."),
        Parameter(
          name: "limit", place: .query, schema: .integer(1...1000), note: "How many ended ones at most (default: 50)."),
      ],
      answers: [.json(200, "FleetRunList", "The runs.")], problems: awayProblem,
      perform: { call in
        let history = try call.history
        let isEnded = call.parameters.bool("ended") ?? false
        let runs = try await DaemonError.ofFleet { () async throws(CodedError) in
          isEnded
            ? try await history.ended(after: call.parameters["after"], limit: call.parameters.int("limit") ?? 50)
            : try await history.running()
        }
        let dropped = history.dropped
        return try .json(FleetRunList(runs: runs, dropped: dropped == 0 ? nil : dropped))
      }),
    Route(
      method: "GET", path: "/v1/fleet/runs/{id}", operation: "showRun", summary: "Returns a run of any host.",
      isLocal: true, parameters: [id], answers: [.json(200, "FleetRun", "The run.")],
      problems: awayProblem.merging([404: "no such run"]) { $1 },
      perform: { call in
        let history = try call.history
        guard let run = try await DaemonError.ofFleet({ () async throws(CodedError) in try await history.run(call.id) })
        else {
          throw DaemonError(404, "No such run", "no run '\(call.id)'; list them with: diorama fleet list --ended")
        }
        return try .json(run)
      }),
    Route(
      method: "GET", path: "/v1/fleet/runs/{id}/journal", operation: "readRunJournal",
      summary: "Returns journal entries of a run of any host.", isLocal: true,
      parameters: [
        id, Parameter(name: "after", place: .query, schema: .count, note: "The number of the last known entry."),
        Parameter(
          name: "limit", place: .query, schema: .integer(1...1000), note: "Entries per page (default: 100)."),
      ],
      answers: [.json(200, "FleetJournal", "The entries; none for an unknown run.")], problems: awayProblem,
      perform: { call in
        let history = try call.history
        return try .json(
          try await DaemonError.ofFleet { () async throws(CodedError) in
            try await history.journal(
              of: call.id, after: call.parameters.int("after") ?? 0, limit: call.parameters.int("limit") ?? 100)
          })
      }),
    Route(
      method: "GET", path: "/v1/fleet/stats", operation: "fleetStatistics",
      summary: "Returns what the runs of all hosts tell: flaky and slow tests, unused cassettes, contracts that drift.",
      isLocal: true, parameters: [daysParameter], answers: [.json(200, "FleetStatistics", "The statistics.")],
      problems: awayProblem,
      perform: { call in
        let history = try call.history
        return try .json(
          try await DaemonError.ofFleet { () async throws(CodedError) in
            try await history.statistics(days: call.parameters.int("days") ?? 7)
          })
      }),
    Route(
      method: "GET", path: "/v1/fleet/usage", operation: "cassetteUsage",
      summary: "Returns which interactions of a recording no successful replay on any host has used.", isLocal: true,
      parameters: [
        Parameter(name: "file", place: .query, schema: .line(1...1000), note: "The name of the cassette's HAR file."),
        Parameter(name: "recordedAt", place: .query, schema: .instant, note: "When it was recorded."), daysParameter,
      ],
      answers: [.json(200, "FleetCassette", "The usage.")],
      problems: awayProblem.merging([404: "no such replay is known"]) { $1 },
      perform: { call in
        let history = try call.history
        let file = call.parameters["file"] ?? ""
        guard
          let usage = try await DaemonError.ofFleet({ () async throws(CodedError) in
            try await history.usage(
              of: file, recordedAt: call.parameters["recordedAt"] ?? "", days: call.parameters.int("days") ?? 7)
          })
        else {
          throw DaemonError(
            404, "No such replay",
            "the fleet's history has no successful replay of this recording of \(file) in these days; replays by diorama run are "
              + "not part of it")
        }
        return try .json(usage)
      }),
  ]
}

extension DaemonError {
  fileprivate static func ofFleet<Value>(
    _ body: () async throws(CodedError) -> Value
  ) async throws(DaemonError) -> Value {
    do { return try await body() } catch { throw DaemonError(ofFleet: error) }
  }
}

extension Call {
  /// What happens on all hosts.
  fileprivate var history: FleetHistory {
    get throws(DaemonError) {
      guard let history = try fleet.history else {
        throw DaemonError(503, "No history", "this daemon keeps no history; set historyDays in its configuration")
      }
      return history
    }
  }

  fileprivate var pool: String { parameters["pool"] ?? "" }

  /// The pools of resources.
  fileprivate var fleet: FleetService {
    get throws(DaemonError) {
      guard let fleet = server.fleet else { throw EnvironmentManager.noFleet }
      return fleet
    }
  }
}

extension RouteTable {
  /// The tokens of programs on other machines, which only programs on the daemon's machine may manage.
  static let tokens = [
    Route(
      method: "POST", path: "/v1/tokens", operation: "createToken",
      summary: "Creates a token for a program on another machine. It is shown only here.", isLocal: true,
      body: RequestBody(schema: "TokenRequest"), answers: [.json(201, "CreatedToken", "The token.")],
      problems: [409: "the name is taken, or there are too many tokens", 507: "the token cannot be stored"],
      perform: { call in
        let request: TokenRequest = try call.decode()
        let token = try call.tokens.create(request.name)
        return try .json(CreatedToken(name: request.name, token: token, remote: call.server.remote), status: 201)
      }),
    Route(
      method: "GET", path: "/v1/tokens", operation: "listTokens",
      summary: "Lists the tokens of programs on other machines, oldest first, without the tokens themselves.",
      isLocal: true, answers: [.json(200, "TokenList", "The tokens.")],
      perform: { call in try .json(try call.tokens.list) }),
    Route(
      method: "DELETE", path: "/v1/tokens/{name}", operation: "revokeToken",
      summary: "Revokes a token at once, and ends the environments and leases made with it.", isLocal: true,
      parameters: [
        Parameter(name: "name", place: .path, schema: Schemas.tokenName, note: "The token's name.")
      ],
      answers: [Answer(status: 204, note: "The token is revoked.", content: [:])],
      problems: [404: "no such token", 507: "the change cannot be stored, so the token stays valid"],
      perform: { call in
        let client = try call.tokens.revoke(call.parameters["name"] ?? "")
        await call.operations.endAll(of: client.id)
        return Response(status: 204)
      }),
  ]
}

extension Call {
  /// The tokens of programs on other machines.
  fileprivate var tokens: TokenBook {
    get throws(DaemonError) {
      guard let tokens = server.tokens else {
        throw DaemonError(404, "No tokens", "this server keeps no tokens; use a daemon: diorama serve")
      }
      return tokens
    }
  }
}

extension RouteTable {
  static let daemon = [
    Route(
      method: "GET", path: "/v1/health", operation: "health", summary: "Reports that the daemon is running.",
      isOpen: true,
      answers: [.json(200, "Health", "The daemon's version and process id.")],
      perform: { call in try .json(call.server.health) }),
    Route(
      method: "GET", path: "/openapi.json", operation: "description", summary: "Returns this document.", isOpen: true,
      answers: [
        Answer(status: 200, note: "OpenAPI 3.1.", content: ["application/json": .map(Schemas.anyName, to: .anything)])
      ],
      perform: { call in
        try .json(OpenAPI.document(version: call.server.health.version, bodyLimit: call.server.bodyLimit))
      }),
    Route(
      method: "GET", path: "/metrics", operation: "metrics", summary: "Returns metrics for Prometheus.", isLocal: true,
      answers: [
        Answer(status: 200, note: "Metrics in the text exposition format.", content: [MetricsPage.mediaType: .words])
      ],
      perform: { call in
        Response(
          status: 200, headers: ["Content-Type": MetricsPage.mediaType, "Cache-Control": "no-store"],
          body: .bytes(Array(MetricsPage(call.server).text.utf8)))
      }),
  ]
}

/// The body that a route expects.
struct RequestBody: Sendable {
  /// The name of its schema.
  let schema: String
  var mediaTypes = ["application/json"]

  /// Reads the body and checks it against its schema.
  ///
  /// - Parameters:
  ///   - request: the request.
  ///   - limit: the maximum size in bytes.
  /// - Returns: the bytes.
  /// - Throws: ``DaemonError``: 415 for another type, 413 if the body is too long, 400 if it doesn't fit the schema.
  func read(from request: Request, upTo limit: Int) async throws -> [UInt8] {
    try checkType(request.headers)
    let bytes: [UInt8]
    do {
      bytes = try await request.body.collect(upTo: limit)
    } catch is BodyTooLarge {
      throw DaemonError(413, "Body too long", "the body has more than \(limit) bytes; send less")
    }
    let value: JSON
    do { value = try JSON.parse(bytes) } catch {
      throw DaemonError(400, "Invalid body", bytes.isEmpty ? "the body is empty; send {}" : "not JSON: \(error)")
    }
    if let problem = Schemas.named(schema).problem(with: value) {
      throw DaemonError(400, "Invalid body", problem)
    }
    return bytes
  }

  /// Web pages can send forms and plain text cross-origin without a preflight, so the type check is a security measure.
  private func checkType(_ headers: Headers) throws(DaemonError) {
    let values = headers.all("Content-Type")
    let parts = (values.first ?? "").split(separator: ";").map { Self.trimmed($0).lowercased() }
    let isUTF8 = parts.dropFirst().allSatisfy { !$0.hasPrefix("charset=") || $0.contains("utf-8") }
    guard values.count == 1, let type = parts.first, mediaTypes.contains(type), isUTF8,
      headers["Content-Encoding"] == nil
    else {
      throw DaemonError(
        415, "Unsupported body type", "send the body with Content-Type: \(mediaTypes.joined(separator: " or "))",
        headers: ["Accept": mediaTypes.joined(separator: ", ")])
    }
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
