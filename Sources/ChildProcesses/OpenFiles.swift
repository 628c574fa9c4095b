import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The limit of open files of this process.
package enum OpenFiles {
  /// More than any machine needs.
  private static let wanted: rlim_t = 1 << 20
  /// The soft limit with which this process was started; 0 while it is unchanged.
  private static let original = Atomic<UInt64>(0)
  private static let lock = NSLock()

  #if canImport(Darwin)
    private static let resource = RLIMIT_NOFILE
  #else
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #endif

  /// Raises the soft limit to the hard one: each environment needs ports, and each connection a descriptor.
  ///
  /// Children started by ``Spawn`` get the original limit, which programs that use select(2) rely on.
  package static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0, limit.rlim_cur < min(limit.rlim_max, wanted) else { return }
    _ = original.compareExchange(expected: 0, desired: UInt64(limit.rlim_cur), ordering: .relaxed)
    limit.rlim_cur = min(limit.rlim_max, wanted)
    setrlimit(resource, &limit)
  }

  /// Starts a child with this process's original limit.
  ///
  /// posix_spawn(3) cannot set limits, so this process has the lower limit meanwhile. If it has too many descriptors open
  /// for that, the child gets the higher one.
  static func withOriginalLimit<Result>(_ start: () -> Result) -> Result {
    lock.lock()
    defer { lock.unlock() }
    var limit = rlimit()
    let original = rlim_t(original.load(ordering: .relaxed))
    let next = dup(0)
    if next >= 0 { close(next) }
    guard original > 0, next >= 0, rlim_t(next) < original / 2, getrlimit(resource, &limit) == 0 else { return start() }
    let raised = limit
    limit.rlim_cur = original
    setrlimit(resource, &limit)
    defer { withUnsafePointer(to: raised) { _ = setrlimit(resource, $0) } }
    return start()
  }

  /// The maximum number of connections to the control API: most of the descriptors, since its clients may be many and
  /// idle for long.
  package static var controlConnections: Int { connections(fifths: 3) }

  /// The maximum number of connections of all environments together. The same number remains for ports and files.
  package static var environmentConnections: Int { connections(fifths: 1) }

  private static func connections(fifths: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 4096 }
    return max(256, min(20_000, Int(clamping: limit.rlim_cur) / 5 * fifths))
  }
}
