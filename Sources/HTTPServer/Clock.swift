#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The time by which connections are judged: monotonic, cheap to ask for, a few milliseconds coarse.
enum Clock {
  static func milliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }
}
