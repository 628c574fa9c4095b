import Basics

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The sole right to write a cassette's partial file and to make something of it.
///
/// It goes with the descriptor, so that a killed recording blocks nobody, and it is held until the recording is sealed:
/// nobody else begins in between.
final class PartialLock: Sendable {
  let location: CassetteLocation
  /// The partial file, open for appending.
  let descriptor: Int32

  private init(location: CassetteLocation, descriptor: Int32) {
    self.location = location
    self.descriptor = descriptor
  }

  deinit {
    // Not only closed: a child that is being started has the descriptor, too, until it is another program.
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }

  /// Locks the partial file that is there.
  ///
  /// - Returns: nil when there is none.
  /// - Throws: a ``CodedError`` `cannotWrite` when another recording holds it.
  static func existing(_ location: CassetteLocation) throws(CodedError) -> PartialLock? {
    while true {
      guard access(location.partial, F_OK) == 0 else { return nil }
      if let lock = try take(location, creating: false) { return lock }
    }
  }

  /// Locks the partial file, making one where there is none.
  ///
  /// - Throws: a ``CodedError`` `cannotWrite` when another recording holds it or the folder cannot be written.
  static func making(_ location: CassetteLocation) throws(CodedError) -> PartialLock {
    while true {
      if let lock = try take(location, creating: true) { return lock }
    }
  }

  /// Nil when the file has been sealed and removed by another in the middle of this.
  private static func take(_ location: CassetteLocation, creating: Bool) throws(CodedError) -> PartialLock? {
    let path = location.partial
    let descriptor: Int32
    do throws(CodedError) {
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
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw CodedError(
        .cannotWrite, "\(location.har) is being recorded by another process; wait for it or record another cassette")
    }
    // What has been locked must still be what the name stands for.
    var named = stat()
    guard stat(path, &named) == 0, opened.st_ino == named.st_ino,
      opened.st_dev == named.st_dev
    else { return nil }
    return lock
  }
}
