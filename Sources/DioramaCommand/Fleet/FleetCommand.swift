import Basics
import ControlAPI
import DaemonClient
import EnvironmentService
import Foundation

/// `diorama fleet`: what happens and happened on all hosts that share a store.
enum FleetCommand {
  static let command = Command(
    "fleet", "show current and past runs on all hosts", usage: ["fleet SUBCOMMAND …"],
    about: """
      The daemons that share a store (diorama serve --store) keep a history of their
      environments: which ran, what failed with which miss, and which interactions of
      cassettes were used. It has no bodies, and is deleted after 30 days (historyDays
      in the daemon's configuration). A daemon without --store has a history of its own.
      """, subcommands: [FleetList.command, FleetShow.command, FleetTail.command, FleetStats.command])

  fileprivate static let json = Options.Option("--json", nil, "print JSON")

  fileprivate static func days(_ options: Options, command: String) throws(CodedError) -> Int {
    try options.number("--days", 1...3650, command: command) ?? 7
  }

  /// A run on one line.
  fileprivate static func line(_ run: FleetRun) -> [String] {
    let result =
      run.isLost == true ? "lost" : run.ok.map { $0 ? "ok" : "FAILED" } ?? "running"
    return [
      run.id, run.host, result, run.mode, run.seconds.map { String(format: "%.2f s", $0) } ?? "-",
      run.requests.map(String.init) ?? "-", run.name,
    ]
  }

  /// Why a run failed, one line each.
  fileprivate static func reasons(_ run: FleetRun) -> [String] {
    run.misses.map { miss in
      "not recorded: \(miss.method) \(miss.url)"
        + (miss.causes.isEmpty ? "" : ": \(miss.causes.joined(separator: ", "))")
    } + run.failures + run.contract.map { "contract: \($0)" }
  }
}

/// `diorama fleet list`: lists running or ended environments of all hosts.
enum FleetList {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let limit = try options.number("--limit", 1...1000, command: "fleet list")
    guard limit == nil || options.has("--ended") else {
      throw CodedError(usage: "--limit needs --ended", command: "fleet list")
    }
    let list = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in
      try await client.runs(areEnded: options.has("--ended"), limit: limit ?? 50)
    }
    if let dropped = list.dropped {
      terminal.line(
        "this host dropped \(dropped) events of the history; the log of its daemon says why"
      )
    }
    if options.has("--json") {
      try Output.write(json: list)
    } else {
      try Output.write(
        Table(
          header: ["run", "host", "result", "mode", "time", "requests", "test"], rows: list.runs.map(FleetCommand.line),
          rightAligned: [4, 5]), orIfEmpty: options.has("--ended") ? "nothing has ended" : "nothing is running")
    }
    return 0
  }

  static let command = Command(
    "fleet list", "list environments of all hosts", usage: ["fleet list [--ended [--limit N]] [--json]"],
    about: "Lists the environments that are running on any host; with --ended, the last ones that have ended.",
    options: [
      .init("--ended", nil, "list environments that have ended"),
      .init("--limit", "N", "how many of these (default: 50)"), FleetCommand.json, DaemonAccess.option,
    ], run: run)
}

/// `diorama fleet show`: shows a run of any host.
enum FleetShow {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let words = options.operands + (options.rest ?? [])
    guard words.count == 1, !words[0].isEmpty else {
      throw CodedError(usage: "give the id of one run, as diorama fleet list --ended prints it", command: "fleet show")
    }
    let run = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in try await client.run(words[0])
    }
    if options.has("--json") {
      try Output.write(json: run)
      return 0
    }
    let facts: [(String, String?)] = [
      ("test", run.name), ("host", run.host), ("mode", run.mode), ("cassette", run.cassette),
      ("recorded", run.recordedAt), ("started", run.startedAt), ("ended", run.endedAt),
      ("resources", run.resources?.joined(separator: "; ")), ("result", FleetCommand.line(run)[2]),
      ("requests", run.requests.map(String.init)),
    ]
    try Output.write(
      lines: facts.compactMap { name, value in value.map { "\(name): \($0)" } }
        + FleetCommand.reasons(run).map { "  \($0)" })
    return 0
  }

  static let command = Command(
    "fleet show", "show a run of any host", usage: ["fleet show [--json] RUN"],
    about: "Shows what is known of a run: its test, host, cassette and result, and why it failed.",
    options: [FleetCommand.json, DaemonAccess.option], notes: "Exit status: 66 no such run; 69 no daemon.",
    operands: .words, run: run)
}

/// `diorama fleet tail`: follows what happens on all hosts.
enum FleetTail {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let words = options.operands + (options.rest ?? [])
    guard words.count <= 1 else {
      throw CodedError(usage: "unexpected argument '\(words[1])'", command: "fleet tail")
    }
    let access = DaemonAccess(local: options)
    if let id = words.first { return try follow(id, access, isJSON: options.has("--json")) }
    // By the database's clock.
    let newest = try access.ask { client throws(DaemonClientError) in try await client.runs(areEnded: true, limit: 1) }
    let start = newest.runs.first?.endedAt.flatMap(RFC3339.parse) ?? Date(timeIntervalSince1970: 0)
    var (last, printed) = (start, [String: Date]())
    while true {
      // The end of a run may be written late: a minute is read again.
      var after = max(start, last.addingTimeInterval(-60))
      var isMore = true
      while isMore {
        let runs = try access.ask { [after] client throws(DaemonClientError) in
          try await client.runs(areEnded: true, after: RFC3339.format(after, exactly: true), limit: 1000).runs
        }
        for run in runs {
          after = run.endedAt.flatMap(RFC3339.parse) ?? after
          guard printed.updateValue(after, forKey: run.id) == nil else { continue }
          if options.has("--json") {
            try Output.write(
              raw: String(decoding: try JSON.encode(run), as: UTF8.self).escapedJSONForTerminal + "\n")
          } else {
            try Output.write(
              lines: [([run.endedAt ?? ""] + FleetCommand.line(run)).joined(separator: "  ")]
                + FleetCommand.reasons(run).map { "  \($0)" })
          }
        }
        isMore = runs.count == 1000
      }
      last = max(last, after)
      printed = printed.filter { $0.value > last.addingTimeInterval(-120) }
      Thread.sleep(forTimeInterval: 1)
    }
  }

  private static func follow(_ id: String, _ access: DaemonAccess, isJSON: Bool) throws -> Int32 {
    var last = 0
    while true {
      // Asked first, so that nothing after it is missed.
      let run = try access.ask { client throws(DaemonClientError) in try await client.run(id) }
      while true {
        let entries = try access.ask { [last] client throws(DaemonClientError) in
          try await client.journal(ofRun: id, after: last)
        }
        for entry in entries {
          if isJSON {
            try Output.write(raw: String(decoding: try JSON.encode(entry), as: UTF8.self).escapedJSONForTerminal + "\n")
          } else {
            let words = [entry.time, entry.kind, String(entry.status), entry.method, entry.url]
            try Output.write(lines: [words.joined(separator: "  ") + (entry.detail.map { "  \($0)" } ?? "")])
          }
        }
        guard let end = entries.last else { break }
        last = end.number
      }
      if run.endedAt != nil { return run.ok == true ? 0 : 3 }
      Thread.sleep(forTimeInterval: 1)
    }
  }

  static let command = Command(
    "fleet tail", "follow what happens on all hosts", usage: ["fleet tail [--json] [RUN]"],
    about: """
      Prints each run on any host as it ends, until interrupted. With RUN, prints the
      journal of that run until it ends.
      """, options: [FleetCommand.json, DaemonAccess.option],
    notes: "Exit status with RUN: 0 it succeeded; 3 it failed; 66 no such run; 69 no daemon.", operands: .words,
    run: run)
}

/// `diorama fleet stats`: what the runs of all hosts tell.
enum FleetStats {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let days = try FleetCommand.days(options, command: "fleet stats")
    let stats = try DaemonAccess(local: options).ask { client throws(DaemonClientError) in
      try await client.fleetStatistics(days: days)
    }
    if options.has("--json") {
      try Output.write(json: stats)
      return 0
    }
    var lines = [
      "\(counted(stats.days, "day")): \(counted(stats.runs, "run")) on \(counted(stats.hosts, "host")), \(stats.failed) failed, "
        + counted(stats.entries, "request")
    ]
    func section(_ title: String, _ rows: [String]) {
      if !rows.isEmpty { lines += ["", title] + rows.map { "  \($0)" } }
    }
    section(
      "flaky (different results with the same recording):",
      stats.flaky.flatMap { flaky in
        ["\(flaky.name): \(flaky.failed) of \(flaky.runs) runs, last \(flaky.last.endedAt ?? "") on \(flaky.last.host)"]
          + FleetCommand.reasons(flaky.last).prefix(3).map { "  \($0)" }
      })
    section(
      "slowest:",
      stats.slowest.map {
        String(
          format: "%@: %.2f s at most, %.2f s on average of %d", $0.name, $0.longestSeconds, $0.meanSeconds, $0.runs)
      })
    section(
      "cassettes no longer used:",
      stats.abandoned.map { "\($0.cassette), last used \($0.lastUsedAt)" })
    section(
      "interactions that no run has used (diorama cassette prune PATH --from-fleet DAYS removes them):",
      stats.partlyUsed.map {
        "\($0.cassette): \($0.unused.count) of \($0.interactions), in \(counted($0.runs, "run")): "
          + $0.unused.prefix(10).map(String.init).joined(separator: ", ") + ($0.unused.count > 10 ? ", …" : "")
      })
    section(
      "violate their OpenAPI document:",
      stats.drift.flatMap { drift in
        ["\(drift.name): \(drift.runs) runs"] + drift.violations.prefix(3).map { "  \($0)" }
      })
    try Output.write(lines: lines)
    return 0
  }

  static let command = Command(
    "fleet stats", "show flaky and slow tests, and unused recordings", usage: ["fleet stats [--days N] [--json]"],
    about: """
      Analyzes the runs of all hosts: tests that replay the same recording with
      different outcomes, the slowest tests, cassettes and interactions that nothing
      uses, and tests that violate their OpenAPI document.
      """,
    options: [
      .init("--days", "N", "the number of days to include, counting today (default: 7)"), FleetCommand.json,
      DaemonAccess.option,
    ], run: run)
}
