import Dispatch
import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The right to start the daemon of a state folder: one process has it at a time, and loses it
/// with its end.
///
/// It is given up with this object.
final class StartLock: Sendable {
  /// What has come of the wait: the thread that gets the lock and the one that wants it tell each other.
  private enum Wait {
    case going
    /// 0, or why it failed.
    case over(Int32)
    /// Nobody wants it any more.
    case abandoned
  }

  private let descriptor: Int32
  /// False once the thread that waits in vain has it.
  private let descriptorIsOurs = Guarded(true)

  /// Waits for it; on a thread that may wait.
  ///
  /// - Parameters:
  ///   - home: whose daemon it is; the folder is made where there is none.
  ///   - patience: how long.
  /// - Throws: ``DaemonClientError``.
  init(_ home: DaemonHome, patience: Duration) throws(DaemonClientError) {
    try Self.makeFolder(home)
    let path = home.folder + "/start.lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw Self.failure("cannot open \(path)", home) }
    self.descriptor = descriptor
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return }
    guard let code = Self.wait(for: descriptor, patience) else {
      // Whoever waits for it still closes it.
      descriptorIsOurs.withLock { $0 = false }
      throw DaemonClientError(
        .notStarted,
        "another program has been starting the daemon of \(home.folder) for \(patience); see what holds \(path)")
    }
    errno = code
    guard code == 0 else { throw Self.failure("cannot lock \(path)", home) }
  }

  deinit { if descriptorIsOurs.withLock({ $0 }) { close(descriptor) } }

  /// Waits in flock(2), which has no time limit, on a thread that is left alone when the time is over.
  ///
  /// - Returns: 0, or why it failed; nil when the time is over: the descriptor is the thread's then.
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
      // Nobody else's business from its first moment on.
      try FileManager.default.createDirectory(
        atPath: home.folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw DaemonClientError(
        .notStarted, "cannot make the state folder \(home.folder); set DIORAMA_HOME to a folder that you may write")
    }
  }

  private static func failure(_ what: String, _ home: DaemonHome) -> DaemonClientError {
    DaemonClientError(
      .notStarted, "\(what): \(String(cString: strerror(errno))); set DIORAMA_HOME to a folder of your own")
  }
}
