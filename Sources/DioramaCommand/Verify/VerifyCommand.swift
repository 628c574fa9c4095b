import Basics
import ChildProcesses
import ControlAPI
import EnvironmentConfiguration
import EnvironmentService
import Foundation
import LaunchContract
import RunComparison

/// `diorama verify`: replays a command several times, and compares what the runs did.
enum VerifyCommand {
  private static let name = "verify"

  /// The options of this command itself; all others are those of `diorama run`.
  private static let ownOptions: [Options.Option] = [
    .init("--runs", "N", "How many runs, from 2 to 100 (default: 5).", in: .basics),
    .init(
      "--stress", nil, "Run on one processor, at low priority, and beside busy threads, differently in each run.",
      in: .basics),
    .init("--mode", "MODE", "replay (default) or mock.", in: .basics, choices: ["replay", "mock"]),
    .init("--ignore-header", "NAME", "Do not compare this header field of requests; repeatable.", in: .basics),
    .init("--ignore-output", nil, "Do not compare standard output and error.", in: .basics),
    .init("--json", nil, "Print the result as JSON."),
    .init("--report", "FILE", "Write the result as JSON."),
    .init("--html", "FILE", "Write the result as a page to read."),
  ]

  private static let runOptions = RunCommand.table.filter { option in
    !["--journal", "--journal-requests", "--report", "--junit", "--quiet", "--mode"].contains(option.name)
  }

  private static func run(_ parsed: Options, terminal: Terminal) throws -> Int32 {
    let variables = ProcessInfo.processInfo.environment
    let count = try parsed.number("--runs", 2...100, command: name) ?? 5
    var replayed = variables
    // Which mode the variable asks for does not matter: this command replays.
    replayed["DIORAMA_MODE"] = nil
    let mode = try parsed.choice("--mode", from: ["replay", "mock"], command: name)
    let options = try RunOptions(parsed, environment: replayed, of: name)
    let command = RawWords.lastArguments(options.command.count + 1)
    try Spawn.check(command.dropFirst().first ?? [], path: variables["PATH"])
    let files = try Files(parsed)

    // Before any thread.
    let signals = ForwardedSignals()
    let folder = try TemporaryFolder.make()
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let guardian = try Guard(removing: folder)
    defer { guardian.dismiss() }

    // Endpoints at fixed ports can be used by one run at a time.
    let hasFixedPorts = options.specification.mainPort != nil || !(options.specification.endpointPorts ?? [:]).isEmpty
    let plan = RunPlan(runs: count, isStressed: parsed.has("--stress"), isSequential: hasFixedPorts)
    let arguments = passed(
      parsed, mode: mode ?? (options.specification.mode == .mock ? "mock" : "replay"), options.specification.clock)
    let outcomes: [ReplayRun.Outcome]
    do {
      outcomes = try terminal.progress("running") { (progress) throws -> [ReplayRun.Outcome] in
        var outcomes: [ReplayRun.Outcome] = []
        for group in plan.groups {
          progress.show(outcomes.count + 1, of: count)
          let runs = group.map {
            ReplayRun(conditions: $0, options: arguments, command: command, folder: folder, signals: signals)
          }
          outcomes += try Self.run(runs)
          if signals.received != nil { break }
        }
        return outcomes
      }
    } catch let failure as RunFailure {
      if let signal = signals.received { return 128 + signal }
      terminal.error(failure.message)
      return failure.status
    }
    if let signal = signals.received { return 128 + signal }

    let comparison = TraceComparison(
      outcomes.map(\.trace), ignoredHeaders: parsed.all("--ignore-header"),
      comparesOutput: !parsed.has("--ignore-output"), interface: .command(settings(of: outcomes, options)))
    let result = VerifyResult(
      command: options.command.map(ShellWord.quoted).joined(separator: " "), outcomes: outcomes, comparison: comparison)
    if parsed.has("--json") { try Output.write(json: result) }
    terminal.lines { result.lines($0) }
    do { try files.write(result) } catch let error as CodedError {
      terminal.error(error.message)
      return result.exitStatus == 0 ? error.kind.rawValue : result.exitStatus
    }
    return result.exitStatus
  }

  /// Runs at once, each on its own thread, since a run changes how its thread is scheduled.
  private static func run(_ runs: [ReplayRun]) throws -> [ReplayRun.Outcome] {
    let busy = runs.contains { $0.conditions.isBusy } ? BusyThreads(ProcessInfo.processInfo.activeProcessorCount) : nil
    defer { busy?.stop() }
    let results = Guarded<[Int: Result<ReplayRun.Outcome, any Error>]>([:])
    let all = DispatchGroup()
    for run in runs {
      all.enter()
      Thread.detachNewThread {
        let result = Result { try run.finish() }
        results.withLock { $0[run.conditions.run] = result }
        all.leave()
      }
    }
    all.wait()
    return try results.withLock { $0 }.sorted { $0.key < $1.key }.map { try $0.value.get() }
  }

  /// The arguments for `diorama run`.
  private static func passed(
    _ parsed: Options, mode: String, _ clock: EnvironmentSpecification.Clock
  ) -> [String] {
    // Without a recording date, each run would begin at another time.
    let beginsNow = mode == "mock" && clock.start == nil && clock.kind != "system"
    return ["--mode", mode] + (beginsNow ? ["--start", RFC3339.format(Date())] : [])
      + runOptions.flatMap { option in
        parsed.all(option.name).flatMap {
          option.isValueOptional
            ? ["\(option.name)=\($0)"] : option.value == nil ? [option.name] : [option.name, $0]
        }
      }
  }

  /// What the runs were isolated with.
  private static func settings(of outcomes: [ReplayRun.Outcome], _ options: RunOptions) -> DifferenceKind.Settings {
    let report = outcomes.first?.report
    return .init(
      isolation: report?.isolation?.kind, clock: report?.clock.kind ?? "frozen",
      isRandom: options.specification.isolation?.random == true)
  }

  /// The files of `--report` and `--html`, opened before the runs.
  private struct Files {
    private let report: ReportFile?
    private let page: ReportFile?

    init(_ options: Options) throws(CodedError) {
      report = try options.value("--report").map { path throws(CodedError) in try ReportFile(path, of: "--report") }
      page = try options.value("--html").map { path throws(CodedError) in try ReportFile(path, of: "--html") }
    }

    func write(_ result: VerifyResult) throws {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try report?.write(try encoder.encode(result) + [0x0A])
      try page?.write(Data(VerifyPage(result: result).html.utf8))
    }
  }

  static let command = Command(
    name, "find out whether a test is deterministic",
    usage: ["verify [--runs N] [--stress] [option …] -- COMMAND [ARG …]"],
    about: """
      Replays COMMAND several times as diorama run does, some runs at once, and
      compares what they did: requests, strings, toggles, output and exit status.
      Reports the first difference, what it looks like, and how to fix it. Record
      the cassette first, with diorama run.

        diorama verify --cassette Cassettes/login -- ./login-test
        diorama verify --runs 10 --stress --cassette Cassettes/login -- ./login-test
      """, options: ownOptions + runOptions,
    notes: """
      The runs share the current folder, and read nothing from standard input. The
      order of two requests is compared only if it decides what is answered. The
      ports and ids that Diorama chooses for a run are not compared.

      Exit status: 0 all runs did the same and succeeded; 3 they differ; if all
      failed in the same way, that of diorama run.
      """, operands: .commandLine, run: run)
}
