// For the flags of recv(2), which a release build does not find otherwise.
import CEpoll
import Glibc
import HTTPMessages
import HTTPServer

/// The way to another interceptor, for connections that are handled there.
///
/// Each connection gets a connection of its own, which begins with an HTTP upgrade (RFC 9110, 7.8) that says where the
/// program wanted to connect to.
package struct Tunnel: Sendable {
  /// The time for the other side to accept a connection.
  private static let limit = Duration.seconds(20)
  /// The maximum size of the head of its answer.
  private static let headLimit = 16_384

  private let target: RelayTarget
  private let request: @Sendable (Destination) -> [UInt8]

  /// - Parameters:
  ///   - target: the server of the other interceptor.
  ///   - request: makes the request for an upgrade, which has no body.
  package init(to target: RelayTarget, request: @escaping @Sendable (Destination) -> [UInt8]) {
    self.target = target
    self.request = request
  }

  /// Connects. Blocks the thread.
  ///
  /// - Parameter destination: where the program wanted to connect to.
  /// - Returns: a non-blocking socket, which the caller owns.
  func connect(to destination: Destination) -> Result<Int32, Dialler.Failure> {
    let result = Dialler.connect(to: target, limit: Self.limit)
    guard case .success(let descriptor) = result else { return result }
    var isOn: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) & ~O_NONBLOCK)
    var time = timeval(tv_sec: Int(Self.limit.components.seconds), tv_usec: 0)
    for option in [SO_SNDTIMEO, SO_RCVTIMEO] {
      setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
    }
    if let cause = upgrade(descriptor, destination) {
      close(descriptor)
      return .failure(.init(cause: cause))
    }
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    return result
  }

  /// - Returns: why the other side does not accept the connection; nil if it does.
  private func upgrade(_ descriptor: Int32, _ destination: Destination) -> String? {
    let request = request(destination)
    guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      return "the environment does not respond: \(String(cString: strerror(errno)))"
    }
    var head: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while head.count < Self.headLimit {
      // What follows the head stays in the socket.
      let count = recv(descriptor, &buffer, buffer.count, Int32(MSG_PEEK))
      guard count > 0 else {
        return "the environment does not respond: "
          + (count == 0 ? "it closed the connection" : String(cString: strerror(errno)))
      }
      let known = head.count
      head += buffer[..<count]
      guard let end = head.firstRange(of: [13, 10, 13, 10]) else {
        recv(descriptor, &buffer, count, 0)
        continue
      }
      recv(descriptor, &buffer, end.upperBound - known, 0)
      if head.starts(with: "HTTP/1.1 101".utf8) { return nil }
      let line = String(decoding: head.prefix { $0 != 13 }, as: UTF8.self)
      return "the environment refused the connection: \(line)"
    }
    return "the environment's answer is too long"
  }
}

/// An upgraded connection as a channel whose directions end separately.
final class TunnelChannel: HalfClosableChannel, @unchecked Sendable {
  private let channel: any DuplexChannel
  let hasFailed = false
  var onClose: (@Sendable () -> Void)?

  /// - Parameter channel: a socket, which this owns.
  init(_ channel: any DuplexChannel) { self.channel = channel }

  var descriptor: Int32 { channel.descriptor }

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? { channel.read(into: buffer) }

  func write(_ bytes: UnsafeRawBufferPointer) -> Int? { channel.write(bytes) }

  func endWriting() -> Bool {
    shutdown(descriptor, Int32(SHUT_WR))
    return true
  }

  func close() {
    onClose?()
    channel.close()
  }
}
