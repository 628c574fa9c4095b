import ChildProcesses
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs the command in the foreground, as a shell would: signals, terminal, stopping and continuing, a time limit.
///
/// The command has a process group of its own. A signal from the keyboard reaches the group that has the terminal
/// (``CommandTerminal``), the command's or ours, and what reaches us is passed on: once, either way.
struct Supervisor {
  /// How the command ended.
  struct Outcome {
    /// Its exit status; 128 + the signal when it was killed by one.
    var status: Int32
    /// Whether we ended it because its time was up.
    var isTimedOut: Bool
  }

  /// Seconds between the request to end and the end, when the time is up.
  private static let grace = 5.0
  private static let forwarded = [SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGTSTP]

  private var watched = sigset_t()
  /// What was blocked before, and is in the command.
  private var original = sigset_t()
  /// Whether the command ignores SIGPIPE as we did before.
  private let pipeWasIgnored: Bool

  /// Blocks the signals that ``run(_:timeout:watching:)`` takes. Before any thread is made, so that all have them blocked.
  init() {
    sigemptyset(&watched)
    for signal in Self.forwarded + [SIGCHLD, SIGALRM] { sigaddset(&watched, signal) }
    pthread_sigmask(SIG_BLOCK, &watched, &original)
    // Whoever read our words may be gone before us; the recording is sealed all the same.
    var action = sigaction()
    sigaction(SIGPIPE, nil, &action)
    #if canImport(Darwin)
      let handler = action.__sigaction_u.__sa_handler
    #else
      let handler = action.__sigaction_handler.sa_handler
    #endif
    pipeWasIgnored = unsafeBitCast(handler, to: Int.self) == unsafeBitCast(SIG_IGN, to: Int.self)
    signal(SIGPIPE, SIG_IGN)
    // Some systems drop a signal whose default is to be ignored, blocked or not.
    signal(SIGCHLD) { _ in }
  }

  /// Runs the command to its end.
  ///
  /// - Parameters:
  ///   - spawn: the command.
  ///   - timeout: seconds after which it is asked to end (SIGTERM), and made to 5 s later.
  ///   - watching: the guard that is told its process group.
  /// - Returns: how it ended.
  /// - Throws: ``NotStarted`` when there is no such program or it cannot be run.
  mutating func run(_ spawn: Spawn, timeout: Double?, watching: Guard) throws(NotStarted) -> Outcome {
    var spawn = spawn
    spawn.ownGroup = true
    spawn.blockedSignals = original
    spawn.defaultSignals = pipeWasIgnored ? [] : [SIGPIPE]
    var terminal = CommandTerminal()
    spawn.terminal = terminal.atStart
    let pid: pid_t
    do throws(NotStarted) {
      pid = try spawn.start()
    } catch {
      if spawn.terminal != nil { terminal.keep() }
      throw error
    }
    terminal.handOver(to: pid)
    watching.watch(group: pid)
    if let timeout { Self.alarm(in: timeout) }
    var isTimedOut = false
    while true {
      var signal: Int32 = 0
      guard sigwait(&watched, &signal) == 0 else { continue }
      switch signal {
      case SIGCHLD, SIGTSTP:
        // Also before it is told to stop: one that has stopped for want of the terminal is continued, and a continued
        // process forgets what was to stop it.
        if let status = Self.change(of: pid, &terminal) {
          Self.alarm(in: 0)
          return Outcome(status: status.shellStatus, isTimedOut: isTimedOut)
        }
        if signal == SIGTSTP { kill(-pid, signal) }
      case SIGALRM:
        kill(-pid, isTimedOut ? SIGKILL : SIGTERM)
        // Whoever is stopped could not even end.
        kill(-pid, SIGCONT)
        isTimedOut = true
        Self.alarm(in: Self.grace)
      default:
        kill(-pid, signal)
      }
    }
  }

  /// The command may have stopped, or ended.
  ///
  /// - Returns: how it has ended; nil when it has not.
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

  /// The command was stopped: so are we, until we are continued, unless all it wants is the terminal.
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

  private static func alarm(in seconds: Double) {
    // Nothing at all would mean no alarm.
    let seconds = seconds == 0 ? 0 : max(seconds, 1e-6)
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
