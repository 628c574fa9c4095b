import CMicroHTTPD

/// Finds connections on which a request head has begun after a response, but is not complete.
///
/// libmicrohttpd reports nothing until the head is complete. Over TCP, the kernel knows when the last bytes arrived.
/// Over a Unix socket it does not, so the accept loop asks for one notification of the next bytes once a connection is
/// idle.
///
/// Used by the accept loop's thread only, for registered connections.
struct PartialHeads {
  private struct Watch {
    let token: UInt64
    /// The time of the response after which it watches.
    let answer: Int
    var hasBytes = false
  }

  private let epoll: Int32
  /// By descriptor: when a partial head was first seen.
  private var begun: [Int32: (token: UInt64, since: Int)] = [:]
  private var watches: [Int32: Watch] = [:]

  init(epoll: Int32) {
    self.epoll = epoll
  }

  /// Checks a connection that has sent a response and is waiting for the next request.
  ///
  /// - Parameters:
  ///   - connection: the connection.
  ///   - answer: the time of the response, in milliseconds.
  ///   - now: the current time, in milliseconds.
  /// - Returns: when the partial head was first seen; nil if no bytes have arrived.
  mutating func begun(on connection: Connection, after answer: Int, now: Int) -> Int? {
    // The kernel's clock for this has a resolution of about 10 ms.
    guard now > answer + 20, hasBytes(connection, after: answer, now) else {
      begun[connection.descriptor] = nil
      return nil
    }
    let since = begun[connection.descriptor]?.since ?? now
    begun[connection.descriptor] = (connection.token, since)
    return since
  }

  /// Bytes have arrived on a connection over a Unix socket.
  mutating func bytesArrived(on connection: Connection) {
    let descriptor = connection.descriptor
    guard watches[descriptor]?.token == connection.token else { return }
    watches[descriptor]?.hasBytes = true
    _ = diorama_epoll_change(epoll, descriptor, diorama_epoll_peer_left, connection.token)
  }

  mutating func forget(_ descriptor: Int32) {
    if begun[descriptor] != nil { begun[descriptor] = nil }
  }

  /// Forgets connections whose descriptor has been reused.
  mutating func forgetGone(_ current: (Int32) -> UInt64?) {
    begun = begun.filter { current($0.key) == $0.value.token }
    watches = watches.filter { current($0.key) == $0.value.token }
  }

  private mutating func hasBytes(_ connection: Connection, after answer: Int, _ now: Int) -> Bool {
    guard connection.isUnix else {
      let elapsed = Int(diorama_milliseconds_since_data(connection.descriptor))
      return elapsed >= 0 && now - elapsed > answer + 20
    }
    if let watch = watches[connection.descriptor], watch.token == connection.token, watch.answer == answer {
      return watch.hasBytes
    }
    watches[connection.descriptor] = Watch(token: connection.token, answer: answer)
    _ = diorama_epoll_change(
      epoll, connection.descriptor, diorama_epoll_in | diorama_epoll_peer_left, connection.token)
    return false
  }
}
