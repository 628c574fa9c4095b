import Basics

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The exclusive right to write a cassette's partial file and to save it as the cassette.
///
/// The lock belongs to the descriptor, so it ends with a killed recording. It is held until the cassette is saved, so
/// that no other recording begins in between.
final class PartialLock: Sendable {
  let location: CassetteLocation
  /// The partial file, open for appending.
  let descriptor: Int32

  private init(location: CassetteLocation, descriptor: Int32) {
    self.location = location
    self.descriptor = descriptor
  }

  deinit {
    // Closing is not enough: a child process that is being started shares the descriptor until exec.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Locks an existing partial file.
  ///
  /// - Returns: nil if there is none.
  /// - Throws: a ``CodedError`` of kind `cannotWrite` if another recording holds the lock.
  static func existing(_ location: CassetteLocation) throws(CodedError) -> PartialLock? {
    while true {
      guard access(location.partial, F_OK) == 0 else { return nil }
      if let lock = try take(location, creating: false) { return lock }
    }
  }

  /// Locks the partial file, creating it if needed.
  ///
  /// - Throws: a ``CodedError`` of kind `cannotWrite` if another recording holds the lock, or the folder is not
  ///   writable.
  static func making(_ location: CassetteLocation) throws(CodedError) -> PartialLock {
    while true {
      if let lock = try take(location, creating: true) { return lock }
    }
  }

  /// Whether a process holds the lock; nil if there is no partial file.
  static func isHeld(_ location: CassetteLocation) -> Bool? {
    let descriptor = open(location.partial, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC)
    guard descriptor >= 0 else { return errno == ENOENT ? nil : false }
    defer { close(descriptor) }
    // A shared lock fails only if a recording holds the exclusive one.
    guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else { return false }
    return errno == EWOULDBLOCK
  }

  /// Returns nil if another process saved the cassette and removed the file meanwhile.
  private static func take(_ location: CassetteLocation, creating: Bool) throws(CodedError) -> PartialLock? {
    let path = location.partial
    let descriptor: Int32
    do {
      descriptor = try FileWriting.open(
        path, O_RDWR | O_APPEND | O_NOFOLLOW | O_NONBLOCK | (creating ? O_CREAT : 0), mode: 0o600)
    } catch {
      if !creating, access(path, F_OK) != 0 { return nil }
      throw error
    }
    let lock = PartialLock(location: location, descriptor: descriptor)
    var opened = stat()
    guard fstat(descriptor, &opened) == 0, opened.st_mode & S_IFMT == S_IFREG else {
      throw CodedError(.broken, "\(path) is not a regular file; remove it")
    }
    // A recording also excludes a shared lock. A brief look by ``isHeld(_:)`` doesn't, so try again after one.
    while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
      guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else {
        throw CodedError(
          .cannotWrite, "\(location.har) is being recorded by another process; wait for it or record another cassette")
      }
    }
    // Make sure that the path still refers to the locked file.
    var named = stat()
    guard stat(path, &named) == 0, opened.st_ino == named.st_ino,
      opened.st_dev == named.st_dev
    else { return nil }
    return lock
  }
}
