#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The process that owns a lease: its ID and start time, since IDs are reused.
package struct PortOwner: Hashable, Sendable, Codable {
  /// The process ID.
  package let pid: Int32
  /// Clock ticks since boot (field 22 of `/proc/PID/stat`; microseconds since 1970 on Darwin).
  package let startTime: UInt64

  /// Looks up a running process.
  ///
  /// Nil if there is none. A zombie, which has ended and only waits to be reaped, counts as gone.
  package init?(pid: Int32) {
    guard pid > 0, let startTime = Self.startTime(of: pid) else { return nil }
    self.pid = pid
    self.startTime = startTime
  }

  /// Whether it still runs and its ID has not been reused.
  package var isAlive: Bool { Self.startTime(of: pid) == startTime }

  /// Its name, for messages.
  var name: String? {
    #if canImport(Darwin)
      return nil
    #else
      guard isAlive, let bytes = ProcFile.read("/proc/\(pid)/comm") else { return nil }
      // Programs choose their own names: drop characters that would break a line.
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

  /// Parses `/proc/PID/stat`. The second field, the name in parentheses, may contain any characters.
  static func startTime(fromStat stat: [UInt8]) -> UInt64? {
    guard let parenthesis = stat.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = stat[(parenthesis + 1)...].split(separator: UInt8(ascii: " "), maxSplits: 20)
    // Starts at field 3, the state.
    guard fields.count > 19, let state = fields[0].first, state != UInt8(ascii: "Z"), state != UInt8(ascii: "X") else {
      return nil
    }
    return UInt64(String(decoding: fields[19], as: UTF8.self))
  }
}

/// Reads files of `/proc`, whose size is not known in advance.
enum ProcFile {
  /// Reads the whole file; tables are longer than one read returns.
  ///
  /// - Returns: nil if it cannot be read.
  static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var capacity = 4096
    while true {
      var last = 0
      // Never append single bytes: in a debug build, threads that do so at the same time contend in the runtime, sometimes
      // for a minute.
      let longer = [UInt8](unsafeUninitializedCapacity: capacity) { buffer, count in
        guard let start = buffer.baseAddress else { return }
        bytes.withUnsafeBufferPointer { if let from = $0.baseAddress { start.update(from: from, count: $0.count) } }
        count = bytes.count
        repeat {
          #if canImport(Darwin)
            last = Darwin.read(descriptor, start + count, capacity - count)
          #else
            last = Glibc.read(descriptor, start + count, capacity - count)
          #endif
          count += max(0, last)
        } while count < capacity && (last > 0 || last < 0 && errno == EINTR)
      }
      guard last >= 0 else { return nil }
      bytes = longer
      if last == 0 { return bytes }
      capacity *= 2
    }
  }
}
