#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Reads files of `/proc`, which have no size beforehand.
enum ProcFile {
  /// The whole of it: tables are longer than what one read gives.
  ///
  /// - Returns: nil where it cannot be read.
  static func read(_ path: String) -> [UInt8]? {
    let descriptor = open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var bytes: [UInt8] = []
    var capacity = 4096
    while true {
      var last = 0
      // Bytes are never put in one by one: in a debug build threads that do so at once wait for one another in the
      // runtime, for a minute at times.
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
