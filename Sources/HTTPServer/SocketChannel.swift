package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  // For the flags of recv(2), which a release build does not find otherwise.
  import CMicroHTTPD
  import Glibc
#endif

/// A ``DuplexChannel`` whose directions end separately.
package protocol HalfClosableChannel: DuplexChannel {
  /// Ends the sending side, after the bytes written.
  ///
  /// - Returns: false if there is no room yet: call it again when the descriptor is writable.
  func endWriting() -> Bool

  /// Whether the connection has ended with an error, such as a reset.
  var hasFailed: Bool { get }

  /// Called by ``close()`` before the descriptor is closed. Set it before the channel is shared.
  var onClose: (@Sendable () -> Void)? { get set }
}

/// A stream socket, used from one thread at a time.
package final class SocketChannel: HalfClosableChannel, @unchecked Sendable {
  package let descriptor: Int32
  package private(set) var hasFailed = false
  package var onClose: (@Sendable () -> Void)?

  /// - Parameter descriptor: a non-blocking socket, which the channel owns.
  package init(_ descriptor: Int32) { self.descriptor = descriptor }

  package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
    if count > 0 { return count }
    if count < 0, errno == EAGAIN || errno == EINTR { return 0 }
    if count < 0 { hasFailed = true }
    return nil
  }

  package func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    let count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL))
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EINTR ? 0 : nil
  }

  package func endWriting() -> Bool {
    shutdown(descriptor, Int32(SHUT_WR))
    return true
  }

  package func close() {
    onClose?()
    Socket.close(descriptor)
  }

  /// Makes closing a TCP connection reset it (socket(7), SO_LINGER with a time of 0).
  package static func resetWhenClosed(_ descriptor: Int32) {
    var linger = linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<linger>.size))
  }

  /// A connected pair of Unix stream sockets, non-blocking and not inherited; nil if no descriptors are left.
  package static func pair() -> (Int32, Int32)? {
    var ends: [Int32] = [-1, -1]
    let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    return socketpair(AF_UNIX, kind, 0, &ends) == 0 ? (ends[0], ends[1]) : nil
  }
}
