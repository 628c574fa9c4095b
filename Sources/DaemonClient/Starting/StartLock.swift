import Foundation

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
  private let descriptor: Int32

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
    let end = ContinuousClock.now + patience
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard errno == EWOULDBLOCK || errno == EINTR else { throw Self.failure("cannot lock \(path)", home) }
      guard ContinuousClock.now < end else {
        throw DaemonClientError(
          .notStarted,
          "another program has been starting the daemon of \(home.folder) for \(patience); "
            + "see what holds \(path)")
      }
      usleep(10_000)
    }
  }

  deinit { close(descriptor) }

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
