#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A file's metadata, which shows whether the file has changed.
struct FileStamp: Equatable, Sendable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  private let modified: Int
  /// When the file or its metadata last changed (ctime), in nanoseconds since 1970. Programs cannot set it.
  private let changed: Int

  /// Reads a file's metadata; nil if it does not exist or is not accessible.
  ///
  /// - Parameter path: the file's path; links are followed.
  init?(_ path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    device = UInt64(truncatingIfNeeded: status.st_dev)
    inode = UInt64(status.st_ino)
    size = Int64(status.st_size)
    #if canImport(Darwin)
      modified = Self.nanoseconds(status.st_mtimespec)
      changed = Self.nanoseconds(status.st_ctimespec)
    #else
      modified = Self.nanoseconds(status.st_mtim)
      changed = Self.nanoseconds(status.st_ctim)
    #endif
  }

  /// Whether any later change would show in the stamp.
  ///
  /// File systems store time coarsely, in kernel ticks or whole seconds: two changes within a tick look the same.
  ///
  /// - Parameter time: the current time in nanoseconds since 1970.
  /// - Returns: true if the file last changed long enough ago.
  func isSettled(at time: Int) -> Bool {
    let tick = changed % 1_000_000_000 == 0 ? 3_000_000_000 : 100_000_000
    return changed < time - tick
  }

  /// The current time in nanoseconds since 1970, from the clock that stamps files.
  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
  }

  private static func nanoseconds(_ time: timespec) -> Int { time.tv_sec * 1_000_000_000 + time.tv_nsec }
}
