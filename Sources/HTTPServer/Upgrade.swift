import CMicroHTTPD
import EventLoops
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension Connection {
  /// The connection has left HTTP; the socket is ours until it is given back.
  func upgraded(received: [UInt8], _ socket: Int32, _ handle: OpaquePointer) {
    let channel = UpgradedSocket(descriptor: socket, handle: handle, place: place)
    guard let takeover = request.pointee.call?.takeTakeover() else { return channel.close() }
    takeover(channel, received)
  }
}

/// The socket of an upgraded connection.
private final class UpgradedSocket: DuplexChannel, @unchecked Sendable {
  let descriptor: Int32
  private let handle: OpaquePointer
  private let place: EventPlace

  init(descriptor: Int32, handle: OpaquePointer, place: EventPlace) {
    self.descriptor = descriptor
    self.handle = handle
    self.place = place
  }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    let count = recv(descriptor, buffer.baseAddress, buffer.count, Int32(MSG_DONTWAIT))
    if count > 0 { return count }
    return count < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : nil
  }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    let count = send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT))
    if count >= 0 { return count }
    return errno == EAGAIN || errno == EINTR ? 0 : nil
  }

  func close() {
    // Unread bytes would reset the connection and could lose the bytes sent last.
    Socket.end(descriptor)
    _ = diorama_upgrade_close(handle)
    place.wake()
  }
}
