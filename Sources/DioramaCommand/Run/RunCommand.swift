import ControlAPI
import Basics
import ChildProcesses
import Dispatch
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract
import PortLeases
import Transforms

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// `diorama run`: provisions an environment in this process and runs a command inside it.
enum RunCommand {
  static func run(_ parsed: Options, terminal: Terminal) throws -> Int32 {
    let inherited = ProcessInfo.processInfo.environment
    var options = try RunOptions(parsed, environment: inherited)
    let command = RawWords.lastArguments(options.command.count)
    try Spawn.check(command.first ?? [], path: inherited["PATH"])

    var supervisor = Supervisor()
    // Isolation copies the system's certificates.
    let folder = try TemporaryFolder.make(inMemory: options.specification.isolation != nil)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // Created first, so that the guard also removes the folder if this process is killed.
    let guardian = try Guard(removing: folder)
    // Retained to the end, since a port is reserved as long as its value exists.
    let ports = try reserve(options.ports) { () throws(CodedError) in try PortReservation() }
    let sockets = try reserve(options.listen) { () throws(CodedError) in try ListeningSocket() }
    for (name, reservation) in ports { options.specification.ports[name] = reservation.port }
    for (name, socket) in sockets { options.specification.ports[name] = socket.port }
    let reportFiles = try ReportFiles(parsed)

    let service = try EnvironmentService()
    let lease = try RunLease(&options.specification, terminal: terminal)
    // Also if the environment cannot be provisioned.
    defer { lease?.end(terminal) }
    let what = "opening \(options.specification.cassette.map(\.har) ?? "the environment")"
    let specification = options.specification
    let environment = try terminal.progress(what) { try service.provision(specification) }
    let isolation = try specification.isolation.map { _ in
      try CommandIsolation(try LocalIsolation(environment), folder: folder, inherited: inherited)
    }
    if !options.isQuiet {
      for note in environment.notes + (isolation?.notes ?? []) { terminal.line(note) }
      // The texts of stubs have times of the clock, whatever the command does.
      let hasStubs = specification.stubs != nil || specification.collections != nil || specification.openAPI != nil
      let isClockSet = parsed.has("--clock") || parsed.has("--start")
      if isClockSet, environment.clock.kind != .system, isolation == nil, !hasStubs {
        terminal.line(
          "only programs that use the library see the clock of --clock and --start; --isolate shows it to every program"
        )
      }
    }

    let variables = try variables(options, environment, folder: folder)
    let spawn = { (more: [String: String], removed: Set<String>) in
      Self.spawn(options, command, variables.merging(more) { $1 }, without: removed, sockets: sockets.map(\.value))
    }
    let result = Result { () throws(NotStarted) in
      guard let isolation else {
        return try supervisor.run(spawn([:], []), timeout: options.timeout, watching: guardian)
      }
      return try isolation.run(with: &supervisor, timeout: options.timeout, watching: guardian, spawn: spawn)
    }
    guardian.dismiss()
    let outcome: Supervisor.Outcome
    let hasStarted: Bool
    switch result {
    case .success(let success):
      (outcome, hasStarted) = (success, true)
    case .failure(let error):
      terminal.error(error.message)
      environment.fail(error.message)
      (outcome, hasStarted) = (Supervisor.Outcome(status: error.status, isTimedOut: false), false)
    }
    if outcome.isTimedOut, let timeout = options.timeout {
      environment.fail(Self.timeoutFailure(timeout, isClockFrozen: isolation?.isClockFrozen == true))
    }
    if lease?.isLost == true { environment.fail(ResourceLease.lost(again: "the command")) }
    var (report, sealed) = terminal.progress("saving the recording") {
      blocking {
        await isolation?.stop()
        await service.stop()
        return await environment.end(hasSucceeded: outcome.status == 0, expectsRequests: hasStarted)
      }
    }
    report.commandStatus = outcome.status
    report.variables = environment.variables.namingEnvironment
    withExtendedLifetime((ports, sockets)) {}
    // If the command was not started, the error has been printed.
    if hasStarted {
      let text = ReportText(
        report, cassette: specification.cassette.map { "\($0).har" }, wholeIn: ReportText.reportOption)
      if !options.isQuiet {
        terminal.report(text)
      } else if let failure = text.failure {
        terminal.error(failure)
      }
    }
    let status = exitStatus(outcome, report: report, sealed: sealed, environment: environment)
    do { try reportFiles.write(report, hasFailed: false) } catch {
      terminal.error(error.message)
      return status == 0 ? error.kind.rawValue : status
    }
    return status
  }

  /// Describes that a command did not end in time.
  ///
  /// - Parameters:
  ///   - timeout: the time limit in seconds.
  ///   - isClockFrozen: whether its programs have a clock that stands still.
  /// - Returns: the line for the report.
  static func timeoutFailure(_ timeout: Double, isClockFrozen: Bool) -> String {
    "the command was stopped after \(timeout) s; raise --timeout"
      + (isClockFrozen ? "; if it waits for the time of day to pass, use --clock ticking" : "")
  }

  /// The command's exit status, unless the command succeeded but the environment failed.
  private static func exitStatus(
    _ outcome: Supervisor.Outcome, report: Report, sealed: Result<CassetteSealer.Outcome?, CodedError>,
    environment: Environment
  ) -> Int32 {
    guard outcome.status == 0 else { return outcome.status }
    if case .failure(let error) = sealed { return error.kind.rawValue }
    if let failure = environment.recordingFailure { return failure.kind.rawValue }
    return report.ok ? 0 : 3
  }

  private static func variables(
    _ options: RunOptions, _ environment: Environment, folder: String
  ) throws(CodedError) -> [String: String] {
    var variables = environment.variables
    variables.merge(
      ConfigurationOptions.proxyVariables(
        variables["DIORAMA_PROXY"], options.isProxy, environment.upstreams.map(\.origin),
        ProcessInfo.processInfo.environment)
    ) { $1 }
    variables["DIORAMA_CONTRACT"] = try ContractWriter.deliver(environment.contract, folder: folder).value
    return variables
  }

  private static func spawn(
    _ options: RunOptions, _ command: [[UInt8]], _ variables: [String: String], without removed: Set<String>,
    sockets: [ListeningSocket]
  ) -> Spawn {
    var variables = variables
    var arguments = command
    var files: [Spawn.FileAction] = []
    if !sockets.isEmpty {
      // sd_listen_fds(3): descriptors start at 3, and only the shell knows the value for LISTEN_PID before exec.
      variables["LISTEN_FDS"] = String(sockets.count)
      variables["LISTEN_FDNAMES"] = options.listen.joined(separator: ":")
      arguments = ["/bin/sh", "-c", "LISTEN_PID=$$ exec \"$@\"", "diorama"].map { Array($0.utf8) } + arguments
      files = sockets.enumerated().map { .pass($1.descriptor, as: Int32(3 + $0)) }
    }
    var spawn = Spawn(
      arguments: arguments, environment: InheritedVariables.all(overridden: variables, without: removed))
    spawn.files = files
    return spawn
  }

  private static func reserve<Reservation>(
    _ names: [String], _ make: () throws(CodedError) -> Reservation
  ) throws(CodedError) -> [(key: String, value: Reservation)] {
    var reserved: [(key: String, value: Reservation)] = []
    for name in names {
      reserved.append((name, try make()))
    }
    return reserved
  }
}

/// Blocks this thread until asynchronous work is complete. Use it only on a command's main thread.
func blocking<Value: Sendable>(_ work: @escaping @Sendable () async -> Value) -> Value {
  let semaphore = DispatchSemaphore(value: 0)
  let result = Guarded<Value?>(nil)
  Task.detached {
    let value = await work()
    result.withLock { $0 = value }
    semaphore.signal()
  }
  while true {
    semaphore.wait()
    if let value = result.withLock({ $0 }) { return value }
  }
}

/// Runs the command in the foreground as a shell does: forwards signals, hands over the terminal, stops and continues,
/// and applies the time limit.
///
/// The command has its own process group. Keyboard signals reach the group that owns the terminal
/// (``CommandTerminal``), the command's or ours; signals that reach us are forwarded. Either way, the command gets each
/// signal once.
struct Supervisor {
  /// The end of the command.
  struct Outcome {
    /// The exit status; 128 plus the signal if a signal killed the command.
    var status: Int32
    /// Whether the time limit was exceeded.
    var isTimedOut: Bool
  }

  /// The time from SIGTERM to SIGKILL after the time limit.
  private static let grace = Duration.seconds(5)
  /// How long a command has to end after SIGINT or SIGTERM before the user learns how to kill it.
  private static let patience = Duration.seconds(1)
  private static let forwarded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP]

  private var watched = sigset_t()
  /// The inherited signal mask, which the command gets.
  private var original = sigset_t()
  /// Whether SIGPIPE was ignored, as the command should inherit it.
  private let pipeWasIgnored: Bool

  /// Blocks the signals that ``run(_:timeout:watching:preparing:)`` handles. Call it before any thread is created, so
  /// that all threads inherit the mask.
  init() {
    sigemptyset(&watched)
    for signal in Self.forwarded + [SIGCHLD, SIGALRM] { sigaddset(&watched, signal) }
    pthread_sigmask(SIG_BLOCK, &watched, &original)
    // The reader of our output may exit first; the recording must still be saved.
    var action = sigaction()
    sigaction(SIGPIPE, nil, &action)
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    pipeWasIgnored = unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    signal(SIGPIPE, SIG_IGN)
    // Some systems discard ignored signals even if they are blocked.
    signal(SIGCHLD) { _ in }
  }

  /// Runs the command to its end.
  ///
  /// - Parameters:
  ///   - spawn: the command.
  ///   - timeout: the time limit in seconds. The command gets SIGTERM, and 5 s later SIGKILL.
  ///   - watching: the guard to inform of the process group.
  ///   - preparing: runs once the process is started, before signals are forwarded to it. If it throws, the process is
  ///     killed.
  /// - Returns: how the command ended.
  /// - Throws: ``NotStarted`` if the program doesn't exist or can't be run, or `preparing` throws.
  mutating func run(
    _ spawn: Spawn, timeout: Double?, watching: Guard, preparing: () throws(CodedError) -> Void = {}
  ) throws(NotStarted) -> Outcome {
    var spawn = spawn
    spawn.ownGroup = true
    spawn.blockedSignals = original
    spawn.defaultSignals = pipeWasIgnored ? [] : [SIGPIPE]
    var terminal = CommandTerminal()
    spawn.terminal = terminal.atStart
    let pid: pid_t
    do { pid = try spawn.start() } catch {
      if spawn.terminal != nil { terminal.keep() }
      throw error
    }
    terminal.handOver(to: pid)
    watching.watch(group: pid)
    do { try preparing() } catch {
      kill(-pid, SIGKILL)
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
      terminal.takeBack(from: pid)
      throw NotStarted(status: error.kind.rawValue, message: error.message)
    }
    var alarms = Alarms(limit: timeout.map { .now + .seconds($0) })
    alarms.arm()
    var isTimedOut = false
    var isWarned = false
    while true {
      var signal: Int32 = 0
      guard sigwait(&watched, &signal) == 0 else { continue }
      switch signal {
      case SIGCHLD, SIGTSTP:
        // Checks the state before forwarding SIGTSTP: a command stopped for lack of the terminal is continued, which
        // would discard a pending stop signal.
        if let status = Self.change(of: pid, &terminal) {
          Alarms().arm()
          return Outcome(status: status.shellStatus, isTimedOut: isTimedOut)
        }
        if signal == SIGTSTP { kill(-pid, signal) }
      case SIGALRM where alarms.takeWarning():
        isWarned = true
        alarms.arm()
        Terminal().line("waiting for the command to end; press Ctrl-C again to kill it")
      case SIGALRM:
        kill(-pid, isTimedOut ? SIGKILL : SIGTERM)
        // A stopped process can't handle SIGTERM.
        kill(-pid, SIGCONT)
        isTimedOut = true
        alarms.limit = .now + Self.grace
        alarms.arm()
      case SIGINT where isWarned, SIGTERM where isWarned:
        kill(-pid, SIGKILL)
      case SIGINT, SIGTERM:
        kill(-pid, signal)
        guard alarms.warning == nil else { continue }
        alarms.warning = .now + Self.patience
        alarms.arm()
      default:
        kill(-pid, signal)
      }
    }
  }

  /// Handles a state change of the command.
  ///
  /// - Returns: its exit status; nil if it hasn't ended.
  private static func change(of pid: pid_t, _ terminal: inout CommandTerminal) -> WaitStatus? {
    var raw: Int32 = 0
    guard waitpid(pid, &raw, WNOHANG | WUNTRACED) == pid else { return nil }
    let status = WaitStatus(raw)
    guard let cause = status.stopSignal else {
      terminal.takeBack(from: pid)
      return status
    }
    stop(with: pid, by: cause, &terminal)
    return nil
  }

  /// Stops this process with the command, and continues both; if the command only needs the terminal, hands it over.
  private static func stop(with pid: pid_t, by cause: Int32, _ terminal: inout CommandTerminal) {
    if cause == SIGTTIN || cause == SIGTTOU, terminal.ask(by: pid) {
      kill(-pid, SIGCONT)
      return
    }
    terminal.takeBack(from: pid)
    kill(getpid(), SIGSTOP)
    terminal.handOver(to: pid)
    kill(-pid, SIGCONT)
  }

  /// What SIGALRM is for. There is one timer.
  private struct Alarms {
    /// When the command is ended because of the time limit; nil for never.
    var limit: ContinuousClock.Instant?
    /// When to tell the user that the command has not ended; nil for never.
    var warning: ContinuousClock.Instant?

    /// Whether it is time for the warning, which is then no longer due.
    mutating func takeWarning() -> Bool {
      // The timer's clock may differ a little.
      guard let due = warning, due <= .now + .milliseconds(20) else { return false }
      warning = nil
      return true
    }

    /// Sets the timer to what is due first, or stops it.
    func arm() {
      // Zero would disable the timer.
      let seconds = [limit, warning].compactMap(\.self).min().map { max((($0 - .now) / .seconds(1)), 1e-6) } ?? 0
      var timer = itimerval()
      timer.it_value.tv_sec = Int(seconds)
      #if canImport(Darwin)
        timer.it_value.tv_usec = Int32((seconds - seconds.rounded(.down)) * 1e6)
        setitimer(ITIMER_REAL, &timer, nil)
      #else
        timer.it_value.tv_usec = Int((seconds - seconds.rounded(.down)) * 1e6)
        setitimer(__itimer_which_t(ITIMER_REAL.rawValue), &timer, nil)
      #endif
    }
  }
}
