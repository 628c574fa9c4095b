import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The folder in which one daemon keeps its state: only its owner can enter it, and only one daemon has it at a time.
///
/// The lock is the system's (flock(2)): it goes with the process, however that ends, and the file `lock` stays. In it
/// stands the daemon's process id, for whoever is refused.
package final class StateFolder: Sendable {
  package let path: String
  private let lock: Int32

  /// Makes the folder where there is none, with those above it, and locks it.
  ///
  /// - Parameter path: an absolute path.
  /// - Throws: ``StoreError``: of kind `inUse` while another daemon has it, `notPermitted` when it belongs to somebody
  ///   else, or is open to others and has something in it. Nothing in it is changed then.
  package init(_ path: String) throws(StoreError) {
    self.path = path
    try Self.makeFolder(path)
    try Self.makePrivate(path)
    lock = try Self.lock(in: path)
  }

  deinit {
    // Nobody is to take the number for that of a daemon that runs.
    ftruncate(lock, 0)
    // A child that is about to be started still has the descriptor for a moment, and with it the lock.
    flock(lock, LOCK_UN)
    close(lock)
  }

  /// Whether it is still what stands at its path: it can be removed, and made anew by another daemon, while this one has
  /// its files open.
  package var isThere: Bool {
    var opened = stat()
    var named = stat()
    return fstat(lock, &opened) == 0 && stat(self.path(of: "lock"), &named) == 0 && opened.st_ino == named.st_ino
      && opened.st_dev == named.st_dev
  }

  /// A path in it.
  package func path(of name: String) -> String { "\(path)/\(name)" }

  private static func makeFolder(_ path: String) throws(StoreError) {
    guard mkdir(path, 0o700) != 0 else { return }
    switch errno {
    case EEXIST: return
    case ENOENT:
      let parent = (path as NSString).deletingLastPathComponent
      guard !parent.isEmpty, parent != path else { throw failure(path, "cannot be made") }
      try makeFolder(parent)
      guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw failure(path, "cannot be made") }
    default: throw failure(path, "cannot be made")
    }
  }

  private static func makePrivate(_ path: String) throws(StoreError) {
    let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    guard descriptor >= 0 else { throw failure(path, "cannot be opened") }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure(path, "cannot be looked at") }
    guard status.st_uid == geteuid() else {
      throw StoreError(
        "the state folder '\(path)' belongs to user \(status.st_uid), not to you (\(geteuid())); choose one of your own "
          + "with --state or DIORAMA_HOME", kind: .notPermitted)
    }
    guard status.st_mode & 0o077 != 0 else { return }
    guard isEmpty(path), fchmod(descriptor, 0o700) == 0 else {
      throw StoreError(
        "the state folder '\(path)' is open to other users (mode \(String(status.st_mode & 0o777, radix: 8))); look "
          + "whether all in it is yours, then run: chmod 700 '\(path)'", kind: .notPermitted)
    }
  }

  private static func isEmpty(_ path: String) -> Bool {
    (try? FileManager.default.contentsOfDirectory(atPath: path))?.isEmpty ?? false
  }

  private static func lock(in path: String) throws(StoreError) -> Int32 {
    let file = "\(path)/lock"
    let descriptor = open(file, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw failure(path, "cannot be written to") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let isInUse = errno == EWOULDBLOCK
      let error = isInUse ? inUse(path, pid: pid(in: descriptor)) : failure(path, "cannot be locked")
      close(descriptor)
      throw error
    }
    let text = "\(getpid())\n"
    guard ftruncate(descriptor, 0) == 0, pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count else {
      let error = failure(path, "cannot be written to")
      close(descriptor)
      throw error
    }
    return descriptor
  }

  /// Nil while the other one has only just locked it.
  private static func pid(in descriptor: Int32) -> Int32? {
    var text = [UInt8](repeating: 0, count: 16)
    let count = pread(descriptor, &text, text.count, 0)
    return Int32(String(decoding: text.prefix(max(0, count)).prefix { $0 != 0x0A }, as: UTF8.self))
  }

  private static func inUse(_ path: String, pid: Int32?) -> StoreError {
    StoreError(
      "the state folder '\(path)' is in use by another daemon\(pid.map { ", process \($0)" } ?? ""); stop that one with "
        + "'diorama serve --stop', or choose another folder with --state", kind: .inUse(pid: pid))
  }

  private static func failure(_ path: String, _ what: String) -> StoreError {
    let code = errno
    let kind: StoreError.Kind =
      switch code {
      case ENOSPC, EDQUOT: .full
      case EIO: .other
      // Whatever else it is, it cannot be a state folder.
      default: .notPermitted
      }
    return StoreError(
      "the state folder '\(path)' \(what): \(String(cString: strerror(code))); "
        + (kind == .full ? "make room on that disk" : "choose another one with --state or DIORAMA_HOME"), kind: kind)
  }
}
