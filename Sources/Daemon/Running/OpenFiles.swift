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

  /// How many connections the control API may have: most of what there is, since its clients may be many and say
  /// nothing for long.
  static var controlConnections: Int { connections(fifths: 3) }

  /// How many connections all environments together may have. As many descriptors are left for ports and files.
  static var environmentConnections: Int { connections(fifths: 1) }

  private static func connections(fifths: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(resource, &limit) == 0 else { return 4096 }
    return max(256, min(20_000, Int(clamping: limit.rlim_cur) / 5 * fifths))
  }
}
