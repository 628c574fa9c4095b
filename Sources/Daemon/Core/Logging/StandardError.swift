#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Where the log goes.
package enum StandardError {
  /// Writes a line whole, or drops it where nobody reads: a full pipe must not stop the daemon.
  package static func write(_ line: [UInt8]) {
    var ready = pollfd(fd: 2, events: Int16(POLLOUT), revents: 0)
    guard poll(&ready, 1, 0) == 1, ready.revents & Int16(POLLOUT) != 0 else { return }
    // One call a line, so that lines of several threads do not mix.
    _ = line.withUnsafeBytes { Self.write(2, $0) }
  }

  private static func write(_ descriptor: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.write(descriptor, bytes.baseAddress, bytes.count)
    #else
      Glibc.write(descriptor, bytes.baseAddress, bytes.count)
    #endif
  }
}
