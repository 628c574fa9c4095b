#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The signals that a daemon takes, on the thread that has nothing else to do.
package struct Signals: Sendable {
  private static let taken = [SIGTERM, SIGINT, SIGUSR1]

  /// Blocks them.
  ///
  /// Before any thread is made, so that all have them blocked.
  package init() {
    // A terminal that is closed, or a client that leaves, is no reason to end.
    signal(SIGHUP, SIG_IGN)
    signal(SIGPIPE, SIG_IGN)
    var set = Self.set
    pthread_sigmask(SIG_BLOCK, &set, nil)
  }

  /// Waits for the next of them.
  package func next() -> Int32 {
    var set = Self.set
    var number: Int32 = 0
    while sigwait(&set, &number) != 0 {}
    return number
  }

  /// Ends the wait as if somebody had asked for the end.
  package static func end() { kill(getpid(), SIGTERM) }

  private static var set: sigset_t {
    var set = sigset_t()
    sigemptyset(&set)
    for number in taken { sigaddset(&set, number) }
    return set
  }
}
