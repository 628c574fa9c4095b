import Basics
import ChildProcesses
import ControlAPI
import Foundation
import RunComparison

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One run of `diorama verify`: `diorama run` in a process of its own, with its output in files.
struct ReplayRun: Sendable {
  /// The result.
  struct Outcome: Sendable {
    var conditions: RunPlan.Conditions
    var trace: Trace
    var report: Report
    var seconds: Double
    /// The larger size of standard output and error in bytes.
    var outputSize: Int
  }

  let conditions: RunPlan.Conditions
  /// The arguments of `diorama` up to `--`, without those for the journal and the report, and the command with `--`.
  let options: [String]
  let command: [[UInt8]]
  /// The folder for its files.
  let folder: String
  let signals: ForwardedSignals

  /// Runs the command to its end, on the calling thread, whose scheduling it changes.
  ///
  /// - Returns: what happened.
  /// - Throws: a ``CodedError`` if the environment could not be provisioned, with the status of `diorama run`.
  func finish() throws -> Outcome {
    let folder = "\(folder)/\(conditions.run)"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    // Kills the run if this process is killed; the run itself has a guard for its command.
    let guardian = try Guard(removing: folder)
    defer { guardian.dismiss() }
    let files = (output: "\(folder)/output", errors: "\(folder)/errors")
    for file in [files.output, files.errors] { try Data().write(to: URL(fileURLWithPath: file)) }
    let (journal, reportFile) = ("\(folder)/journal.ndjson", "\(folder)/report.json")
    let added = ["run", "--quiet", "--journal", journal, "--journal-requests", "--report", reportFile]
    var spawn = Spawn(
      arguments: ([Bundle.main.executablePath ?? CommandLine.arguments[0]] + added + options).map { Array($0.utf8) }
        + command,
      environment: InheritedVariables.all(overridden: [:]))
    spawn.ownGroup = true
    spawn.blockedSignals = signals.original
    spawn.files = [
      .open("/dev/null", flags: O_RDONLY, as: 0), .open(files.output, flags: O_WRONLY, as: 1),
      .open(files.errors, flags: O_WRONLY, as: 2),
    ]
    // What the system refuses is left out of the result.
    var conditions = conditions
    if let processor = conditions.processor { conditions.processor = Scheduling.useOneProcessor(processor) }
    if conditions.nice > 0, !Scheduling.lowerPriority(to: conditions.nice) { conditions.nice = 0 }

    let started = Date().timeIntervalSince1970
    let pid = try spawn.start()
    guardian.watch(group: pid)
    signals.add(pid)
    var raw: Int32 = 0
    while waitpid(pid, &raw, 0) < 0, errno == EINTR {}
    signals.remove(pid)
    let ended = Date().timeIntervalSince1970
    let last = Self.lastProcess

    let status = WaitStatus(raw).shellStatus
    let errors = Self.read(files.errors)
    guard let data = FileManager.default.contents(atPath: reportFile) else {
      // Without a report, all that was printed is the error of `diorama run`.
      let text = String(decoding: errors.bytes, as: UTF8.self).split(separator: "\n").last.map(String.init) ?? ""
      let problem = text.hasPrefix("diorama: ") ? String(text.dropFirst(9)) : text
      throw RunFailure(
        status: status,
        message: "run \(conditions.run) did not start: "
          + (problem.isEmpty ? "diorama run ended with status \(status)" : problem))
    }
    let report = try JSONDecoder().decode(Report.self, from: data)
    let output = Self.read(files.output)
    let facts = Trace.Facts(
      run: conditions.run, time: started...max(started, ended),
      processes: last.flatMap { $0 > Int(pid) ? Int(pid) + 1...$0 : nil })
    return Outcome(
      conditions: conditions,
      trace: Trace(
        facts: facts, journal: try Trace.entries(of: FileManager.default.contents(atPath: journal) ?? Data()),
        report: report, status: status, output: output.bytes, errors: errors.bytes),
      report: report, seconds: ended - started, outputSize: max(output.size, errors.size))
  }

  /// The beginning of a file, and its size.
  private static func read(_ path: String) -> (bytes: [UInt8], size: Int) {
    guard let file = FileHandle(forReadingAtPath: path) else { return ([], 0) }
    let bytes = [UInt8]((try? file.read(upToCount: Trace.outputLimit)) ?? Data())
    return (bytes, (try? file.seekToEnd()).map { Int($0) } ?? bytes.count)
  }

  /// The ID that the system assigned last; nil if it does not tell.
  private static var lastProcess: Int? {
    // The last field of proc_loadavg(5).
    guard let text = try? String(contentsOfFile: "/proc/loadavg", encoding: .utf8) else { return nil }
    return text.split { $0.isWhitespace }.last.flatMap { Int($0) }
  }
}

/// A run that has no trace, because its environment was not provisioned.
struct RunFailure: Error {
  /// The exit status of `diorama run`.
  let status: Int32
  let message: String
}

/// Forwards signals that end a command to all runs, so that they end before this process does.
final class ForwardedSignals: Sendable {
  private struct State {
    var running: Set<pid_t> = []
    var received: Int32?
  }

  /// The signal mask of this process before, for the runs.
  let original: sigset_t
  private let state = Guarded(State())

  /// Blocks the signals. Create it before any thread, so that all threads inherit the mask.
  init() {
    var signals = sigset_t()
    sigemptyset(&signals)
    for signal in [SIGINT, SIGTERM, SIGHUP, SIGQUIT] { sigaddset(&signals, signal) }
    var mask = sigset_t()
    pthread_sigmask(SIG_BLOCK, &signals, &mask)
    original = mask
    Thread.detachNewThread { [self, signals] in
      var signals = signals
      while true {
        var signal: Int32 = 0
        guard sigwait(&signals, &signal) == 0 else { continue }
        let running = state.withLock { state in
          state.received = signal
          return state.running
        }
        for pid in running { kill(pid, signal) }
      }
    }
  }

  /// The last signal received; nil for none.
  var received: Int32? { state.withLock { $0.received } }

  func add(_ pid: pid_t) {
    let received = state.withLock { state in
      state.running.insert(pid)
      return state.received
    }
    if let received { kill(pid, received) }
  }

  func remove(_ pid: pid_t) { _ = state.withLock { $0.running.remove(pid) } }
}
