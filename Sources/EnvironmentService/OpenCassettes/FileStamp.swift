#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// What the system says of a file, by which one can tell whether it is still the same.
struct FileStamp: Equatable, Sendable {
  private let device: UInt64
  private let inode: UInt64
  private let size: Int64
  private let modified: Int
  /// When anything of it was last changed, in nanoseconds since 1970: a time that no program can set.
  private let changed: Int

  /// Looks at a file; nil where there is none, or none that may be looked at.
  ///
  /// - Parameter path: of the file; a link is followed.
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

  /// Whether every change from a time on shows in the stamp.
  ///
  /// File systems keep time coarsely, by ticks of the kernel or by whole seconds: two changes in one tick look the
  /// same.
  ///
  /// - Parameter time: in nanoseconds since 1970.
  /// - Returns: true for a file that was last changed long enough before.
  func isSettled(at time: Int) -> Bool {
    let tick = changed % 1_000_000_000 == 0 ? 3_000_000_000 : 100_000_000
    return changed < time - tick
  }

  /// The time by which files are stamped, in nanoseconds since 1970.
  static func now() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return nanoseconds(time)
  }

  private static func nanoseconds(_ time: timespec) -> Int { time.tv_sec * 1_000_000_000 + time.tv_nsec }
}
