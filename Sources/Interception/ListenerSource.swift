import CEpoll
import EventLoops
import Glibc
import HTTPServer

/// Accepts connections, and finds out where they were meant to go.
///
/// Used by its loop's thread only.
final class ListenerSource: EventSource {
  /// Nanoseconds between attempts while there is no room for another connection.
  private static let pause: UInt64 = 20_000_000

  private let listener: Int32
  private let core: InterceptorCore
  private let destination: @Sendable (Int32) -> Destination?
  private var place: EventPlace?
  private var isFull = false

  /// - Parameters:
  ///   - listener: a listening TCP socket, which this closes when the loop ends.
  ///   - core: the interceptor.
  ///   - destination: where an accepted connection was meant to go, or nil to close it.
  init(_ listener: Int32, _ core: InterceptorCore, _ destination: @escaping @Sendable (Int32) -> Destination?) {
    self.destination = destination
    self.listener = listener
    self.core = core
    _ = fcntl(listener, F_SETFD, FD_CLOEXEC)
    _ = fcntl(listener, F_SETFL, fcntl(listener, F_GETFL) | O_NONBLOCK)
  }

  /// Begins to accept; called on the loop's thread, or before the loop starts.
  func start(on loop: EventLoop) {
    let place = loop.add(self)
    self.place = place
    loop.watch(listener, for: .reading, at: place)
  }

  func isReady(_ descriptor: Int32, for readiness: Readiness) {}

  func turn(now: UInt64) -> UInt64? {
    guard let place else { return nil }
    // Bounded, so that questions for addresses get their turn; the rest is reported again.
    for _ in 0..<64 {
      guard let admission = Admission(core) else { return wait(now, place) }
      let descriptor = accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
      guard descriptor >= 0 else {
        if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) {
          if !isFull {
            core.delegate.noticed(
              .failed("cannot accept a connection: \(String(cString: strerror(errno))); raise 'ulimit -n'"))
          }
          return wait(now, place)
        }
        break
      }
      var isOn: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &isOn, socklen_t(MemoryLayout<Int32>.size))
      guard var destination = destination(descriptor) else {
        close(descriptor)
        continue
      }
      if destination.name == nil { destination.name = core.names.name(of: destination.address) }
      admission.worker.adopt(descriptor, destination, admission)
    }
    if isFull {
      isFull = false
      place.loop.watch(listener, for: .reading, at: place)
    }
    return nil
  }

  /// Leaves clients in the backlog for a moment.
  private func wait(_ now: UInt64, _ place: EventPlace) -> UInt64 {
    isFull = true
    core.makeRoom()
    place.loop.forget(listener)
    return now + Self.pause
  }

  func loopEnds() {
    close(listener)
  }
}

extension Destination {
  /// The local address of an accepted connection.
  ///
  /// - Parameter descriptor: the connection, of IPv4 or IPv6.
  package init(localAddressOf descriptor: Int32) { self.init(descriptor, isPeer: false) }

  /// The client's address of an accepted connection.
  ///
  /// - Parameter descriptor: the connection, of IPv4 or IPv6.
  package init(peerAddressOf descriptor: Int32) { self.init(descriptor, isPeer: true) }

  private init(_ descriptor: Int32, isPeer: Bool) {
    var storage = sockaddr_storage()
    var length = socklen_t(MemoryLayout<sockaddr_storage>.size)
    let isKnown = withUnsafeMutablePointer(to: &storage) { storage in
      storage.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        (isPeer ? getpeername(descriptor, $0, &length) : getsockname(descriptor, $0, &length)) == 0
      }
    }
    guard isKnown else {
      self.init(address: "0.0.0.0", port: 0)
      return
    }
    self = withUnsafeBytes(of: storage) { bytes in
      var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
      if Int32(storage.ss_family) == AF_INET {
        let address = bytes.load(as: sockaddr_in.self)
        return Destination(
          address: IPv4.text(UInt32(bigEndian: address.sin_addr.s_addr)), port: UInt16(bigEndian: address.sin_port))
      }
      var address = bytes.load(as: sockaddr_in6.self)
      let port = UInt16(bigEndian: address.sin6_port)
      let number = withUnsafeBytes(of: address.sin6_addr) { Array($0) }
      // IPv4 addresses on a dual-stack socket (RFC 4291, 2.5.5.2).
      if number.starts(with: [UInt8](repeating: 0, count: 10) + [255, 255]) {
        return Destination(address: IPv4.text(number.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }), port: port)
      }
      inet_ntop(AF_INET6, &address.sin6_addr, &text, socklen_t(text.count))
      return Destination(address: text.withUnsafeBufferPointer { String(cString: $0.baseAddress!) }, port: port)
    }
  }
}
