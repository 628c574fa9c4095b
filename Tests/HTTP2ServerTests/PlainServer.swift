import Basics
import EventLoops
import Glibc
import HTTPMessages
import HTTPServer

/// Serves HTTP/2 with prior knowledge on a free port of 127.0.0.1, for tests.
final class PlainServer: Sendable {
  let port: UInt16
  private let loop: EventLoop
  private let acceptor: Acceptor
  private let place: EventPlace

  /// - Parameters:
  ///   - handler: answers the requests.
  ///   - limits: limits of each connection.
  ///   - port: the port; 0 for a free one.
  ///   - sendBuffer: the size of the sockets' send buffers in bytes; nil for the system's.
  /// - Throws: ``CodedError`` if the system refuses a socket or a thread.
  init(
    _ handler: any RequestHandler, limits: HTTP2Limits = .init(), port: UInt16 = 0, sendBuffer: Int32? = nil
  ) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue), 0)
    var on: Int32 = 1
    setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isBound = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 1024) == 0 && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isBound else { throw CodedError(.inputOutput, "cannot listen: \(String(cString: strerror(errno)))") }
    self.port = UInt16(bigEndian: address.sin_port)
    loop = try EventLoop(named: "http2-test")
    acceptor = Acceptor(descriptor, handler, limits, sendBuffer)
    place = loop.add(acceptor)
    acceptor.place = place
    loop.watch(descriptor, for: .reading, at: place)
    try loop.start()
  }

  deinit { loop.stop() }

  /// The number of open connections.
  var connectionCount: Int { acceptor.connections.withLock { $0.count } }

  /// Stops accepting and lets requests finish.
  func drain(grace: Duration) {
    for connection in acceptor.connections.withLock({ Array($0.values) }) { connection.stop(grace: grace) }
  }

  /// Ends the loop and with it all connections.
  func stop() { loop.stop() }

  private final class Acceptor: EventSource, @unchecked Sendable {
    let connections = Guarded<[UInt64: HTTP2Connection]>([:])
    private let descriptor: Int32
    private let handler: any RequestHandler
    private let limits: HTTP2Limits
    private let sendBuffer: Int32?
    var place: EventPlace?
    private var last: UInt64 = 0

    init(_ descriptor: Int32, _ handler: any RequestHandler, _ limits: HTTP2Limits, _ sendBuffer: Int32?) {
      self.descriptor = descriptor
      self.handler = handler
      self.limits = limits
      self.sendBuffer = sendBuffer
    }

    func isReady(_ descriptor: Int32, for readiness: Readiness) {}

    func turn(now: UInt64) -> UInt64? {
      while let place {
        let client = accept(descriptor, nil, nil)
        guard client >= 0 else { break }
        _ = fcntl(client, F_SETFD, FD_CLOEXEC)
        var on: Int32 = 1
        setsockopt(client, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
        if var sendBuffer { setsockopt(client, SOL_SOCKET, SO_SNDBUF, &sendBuffer, 4) }
        last += 1
        let number = last
        let channel = SocketChannel(client)
        let connection = try? HTTP2Connection(
          channel, handler: handler, connection: number, limits: limits, on: place.loop,
          closed: { self.connections.withLock { $0[number] = nil } })
        if let connection { connections.withLock { $0[number] = connection } } else { channel.close() }
      }
      return nil
    }

    func loopEnds() { close(descriptor) }
  }
}
