#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The process for which a port is leased: its id and when it started, since ids recur.
package struct PortOwner: Hashable, Sendable, Codable {
  /// The process id.
  package let pid: Int32
  /// Clock ticks since boot (field 22 of `/proc/PID/stat`; microseconds since 1970 on Darwin).
  package let startTime: UInt64

  /// Looks a running process up.
  ///
  /// Nil where there is none: a process that has ended and is only waited for (a zombie) is gone.
  package init?(pid: Int32) {
    guard pid > 0, let startTime = Self.startTime(of: pid) else { return nil }
    self.pid = pid
    self.startTime = startTime
  }

  /// Whether it runs still, and is not another process with the same id.
  package var isAlive: Bool { Self.startTime(of: pid) == startTime }

  /// What it is called, for messages.
  var name: String? {
    #if canImport(Darwin)
      return nil
    #else
      guard isAlive, let bytes = ProcFile.read("/proc/\(pid)/comm") else { return nil }
      // A program chooses its name: what would break a line is left out.
      let scalars = String(decoding: bytes, as: UTF8.self).unicodeScalars.filter {
        $0.properties.generalCategory != .control
      }
      return scalars.isEmpty ? nil : String(String.UnicodeScalarView(scalars))
    #endif
  }

  #if canImport(Darwin)
    private static func startTime(of pid: Int32) -> UInt64? {
      var info = kinfo_proc()
      var size = MemoryLayout<kinfo_proc>.size
      var path = [CTL_KERN, KERN_PROC, KERN_PROC_PID, pid]
      guard sysctl(&path, 4, &info, &size, nil, 0) == 0, size > 0, Int32(info.kp_proc.p_stat) != SZOMB else {
        return nil
      }
      let start = info.kp_proc.p_starttime
      return UInt64(start.tv_sec) * 1_000_000 + UInt64(start.tv_usec)
    }
  #else
    private static func startTime(of pid: Int32) -> UInt64? {
      ProcFile.read("/proc/\(pid)/stat").flatMap(startTime(fromStat:))
    }
  #endif

  /// Reads `/proc/PID/stat`; the second field, the name in parentheses, may hold anything.
  static func startTime(fromStat stat: [UInt8]) -> UInt64? {
    guard let parenthesis = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = stat[(parenthesis + 1)...].split(separator: UInt8(ascii: " "), maxSplits: 20)
    // From field 3, the state, on.
    guard fields.count > 19, let state = fields[0].first, state != UInt8(ascii: "Z"), state != UInt8(ascii: "X") else {
      return nil
    }
    return UInt64(String(decoding: fields[19], as: UTF8.self))
  }
}
