#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The time that loops go by: nanoseconds of the monotonic clock.
package func monotonicNanoseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
