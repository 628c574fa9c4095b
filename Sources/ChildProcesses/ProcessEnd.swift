#if canImport(Darwin)
  import Darwin
#else
  import CPosixSpawn
  import Glibc
#endif

/// Waits for the end of a process, which need not be a child.
///
/// ```swift
/// let end = ProcessEnd(of: pid)
/// kill(pid, SIGTERM)
/// guard end.wait(for: .seconds(120)) else { … }
/// ```
package final class ProcessEnd: Sendable {
  private let pid: Int32
  /// A pidfd on Linux, a kqueue on Darwin; negative if the system provides none.
  private let descriptor: Int32
  private let wasThere: Bool

  /// Refers to the process that has this ID now, not to one that gets it later.
  package init(of pid: Int32) {
    self.pid = pid
    #if canImport(Darwin)
      descriptor = kqueue()
      var event = kevent(
        ident: UInt(pid), filter: Int16(EVFILT_PROC), flags: UInt16(EV_ADD | EV_ONESHOT), fflags: NOTE_EXIT, data: 0,
        udata: nil)
      wasThere = descriptor < 0 || kevent(descriptor, &event, 1, nil, 0, nil) == 0 || errno != ESRCH
    #else
      descriptor = diorama_pidfd_open(pid)
      wasThere = descriptor >= 0 || errno != ESRCH
    #endif
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// Waits, blocking the thread.
  ///
  /// - Parameter patience: the maximum time to wait.
  /// - Returns: whether the process has ended.
  package func wait(for patience: Duration) -> Bool {
    guard wasThere else { return true }
    let end = ContinuousClock.now + patience
    while true {
      let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
      // Without a descriptor, poll the process.
      let pause = descriptor >= 0 ? 60_000 : 50
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      if poll(&entry, 1, Int32(max(0, min(left.rounded(.up), Double(pause))))) > 0 { return true }
      if descriptor < 0, kill(pid, 0) != 0, errno == ESRCH { return true }
      guard left > 0 else { return false }
    }
  }
}
