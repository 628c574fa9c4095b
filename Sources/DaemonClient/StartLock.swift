import Basics
import Dispatch
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The lock for starting the daemon of a state folder. One process holds it at a time, until this object is released or
/// the process ends.
final class StartLock: Sendable {
  /// The state shared by the waiting thread and its caller.
  private enum Wait {
    case going
    /// 0, or an `errno`.
    case over(Int32)
    /// The caller has given up.
    case abandoned
  }

  private let descriptor: Int32
  /// False once the abandoned waiting thread owns it.
  private let descriptorIsOurs = Guarded(true)

  /// Acquires the lock, blocking the thread.
  ///
  /// - Parameters:
  ///   - home: the daemon's state folder, created if missing.
  ///   - patience: the maximum time to wait.
  /// - Throws: ``DaemonClientError`` if the lock cannot be acquired.
  init(_ home: DaemonHome, patience: Duration) throws(DaemonClientError) {
    try Self.makeFolder(home)
    let path = home.folder + "/start.lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("cannot open \(path)", home) }
    self.descriptor = descriptor
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    guard let code = Self.wait(for: descriptor, patience) else {
      // The waiting thread closes it.
      descriptorIsOurs.withLock { $0 = false }
      throw DaemonClientError(
        .notStarted,
        "another program has been starting the daemon of \(home.folder) for \(patience); check which one holds \(path)")
    }
    errno = code
    guard code == 0 else { throw Self.failure("cannot lock \(path)", home) }
  }

  deinit { if descriptorIsOurs.withLock({ $0 }) { close(descriptor) } }

  /// Waits in flock(2), which has no timeout, on a thread that is abandoned at the time limit.
  ///
  /// - Returns: 0 or an `errno`; nil at the time limit, after which the thread owns the descriptor.
  private static func wait(for descriptor: Int32, _ patience: Duration) -> Int32? {
    let wait = Guarded(Wait.going)
    let isOver = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
      var code: Int32 = 0
      repeat { code = flock(descriptor, LOCK_EX) == 0 ? 0 : errno } while code == EINTR
      let isWanted = wait.withLock { wait in
        if case .abandoned = wait { return false }
        wait = .over(code)
        return true
      }
      if isWanted { isOver.signal() } else { close(descriptor) }
    }
    _ = isOver.wait(timeout: .now() + patience / .seconds(1))
    return wait.withLock { wait in
      if case .over(let code) = wait { return code }
      wait = .abandoned
      return nil
    }
  }

  private static func makeFolder(_ home: DaemonHome) throws(DaemonClientError) {
    guard access(home.folder, F_OK) != 0 else { return }
    do {
      // Private from the start.
      try FileManager.default.createDirectory(
        atPath: home.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw DaemonClientError(
        .notStarted, "cannot create the state folder \(home.folder); set DIORAMA_HOME to a writable folder")
    }
  }

  private static func failure(_ what: String, _ home: DaemonHome) -> DaemonClientError {
    DaemonClientError(
      .notStarted, "\(what): \(String(cString: strerror(errno))); set DIORAMA_HOME to a folder of your own")
  }
}
