#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import CEpoll
#endif

/// How the process's allocator treats memory that was freed.
enum Memory {
  /// Limits the arenas of glibc to as many as the server has threads; to be called before threads are made.
  ///
  /// By default there are eight for each processor, and each keeps memory that the others cannot use.
  static func limitArenas() {
    #if canImport(Glibc)
      mallopt(M_ARENA_MAX, 4)
    #endif
  }

  /// Returns free memory to the system, which takes some milliseconds. glibc keeps nearly all of it for later use.
  static func giveBack() {
    #if canImport(Darwin)
      malloc_zone_pressure_relief(nil, 0)
    #elseif canImport(Glibc)
      malloc_trim(0)
    #endif
  }
}
