import ChildProcesses

extension TestApplication {
  /// What has become of the application's process.
  public enum State: Sendable, Equatable {
    /// It has not been launched.
    case notRunning
    /// It runs.
    case running
    /// It ended by itself, with this exit status.
    case exited(Int32)
    /// A signal ended it: a crash, `terminate()` or somebody else.
    case killed(signal: Int32)

    init(_ status: WaitStatus) {
      if let signal = status.signal {
        self = .killed(signal: signal)
      } else {
        self = .exited(status.shellStatus)
      }
    }

    /// As it stands in a sentence: `it is running`.
    var text: String {
      switch self {
      case .notRunning: "it is not running"
      case .running: "it is running"
      case .exited(let status): "it exited with status \(status)"
      case .killed(let signal): "it was killed by signal \(signal)\(Self.names[signal].map { " (\($0))" } ?? "")"
      }
    }

    /// Whether it is over because something in it broke.
    var isCrash: Bool {
      if case .killed = self { true } else { false }
    }

    // The same numbers on Linux and on Apple's platforms.
    private static let names: [Int32: String] = [
      1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL",
      11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    ]
  }
}
