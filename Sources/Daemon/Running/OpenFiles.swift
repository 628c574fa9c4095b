#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// How many files this process may have open.
enum OpenFiles {
  /// More than that nobody asks of one machine.
  private static let wanted: rlim_t = 1 << 20

  #if canImport(Darwin)
    private static let resource = RLIMIT_NOFILE
  #else
    private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
  #endif

  /// Takes all that the system lets us have: each environment has ports, each connection a descriptor.
  static func raiseLimit() {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return }
    limit.rlim_cur = min(limit.rlim_max, wanted)
    setrlimit(resource, &limit)
  }

  /// How many connections one server may have: there is one for environments and one for the control API, and ports
  /// and files need descriptors, too.
  static var connections: Int {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 4096 }
    return max(256, min(20_000, Int(clamping: limit.rlim_cur) / 3))
  }
}
