#if canImport(Darwin)
  import Darwin
#else
  import CPosixSpawn
  import Glibc
#endif

/// How the system schedules the calling thread, and the programs that it starts.
package enum Scheduling {
  /// Binds the calling thread to one of the processors that it may use.
  ///
  /// - Parameter index: which one, modulo their number.
  /// - Returns: the processor's number; nil if the system does not support it, or refuses.
  package static func useOneProcessor(_ index: Int) -> Int? {
    #if canImport(Darwin)
      return nil
    #else
      let number = diorama_use_one_processor(UInt32(truncatingIfNeeded: index))
      return number < 0 ? nil : Int(number)
    #endif
  }

  /// Lowers the priority of the calling thread. It cannot be raised again without privileges.
  ///
  /// - Parameter nice: the nice value, up to 19.
  /// - Returns: whether the system supports it for a thread.
  package static func lowerPriority(to nice: Int) -> Bool {
    #if canImport(Darwin)
      // setpriority(2) would change the whole process there.
      return false
    #else
      // On Linux, PRIO_PROCESS with 0 means the calling thread.
      return setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, Int32(nice)) == 0
    #endif
  }
}
