import CMicroHTTPD

/// Finds connections on which a head has begun after an answer, and does not come to its end.
///
/// libmicrohttpd takes the bytes and says nothing until the head is whole. Over TCP the kernel knows when the last of
/// them came. Over a Unix socket it does not: there the accept loop asks to be told once of the next bytes, after a
/// connection has been found silent.
///
/// Only for the accept loop's thread, and for connections that are registered.
struct PartialHeads {
  private struct Watch {
    let token: UInt64
    /// The answer after which it watches.
    let answer: Int
    var hasBytes = false
  }

  private let epoll: Int32
  /// By descriptor, since when.
  private var begun: [Int32: (token: UInt64, since: Int)] = [:]
  private var watches: [Int32: Watch] = [:]

  init(epoll: Int32) {
    self.epoll = epoll
  }

  /// Looks at a connection that has been answered and whose next request is not there.
  ///
  /// - Parameters:
  ///   - connection: which.
  ///   - answer: when it was answered, in milliseconds.
  ///   - now: the time.
  /// - Returns: since when there has been a part of a head; nil while nothing has come.
  mutating func begun(on connection: Connection, after answer: Int, now: Int) -> Int? {
    // What the kernel counts in is as coarse as 10 ms.
    guard now > answer + 20, hasBytes(connection, after: answer, now) else {
      begun[connection.descriptor] = nil
      return nil
    }
    let since = begun[connection.descriptor]?.since ?? now
    begun[connection.descriptor] = (connection.token, since)
    return since
  }

  /// A connection over a Unix socket has bytes to read.
  mutating func bytesArrived(on connection: Connection) {
    let descriptor = connection.descriptor
    guard watches[descriptor]?.token == connection.token else { return }
    watches[descriptor]?.hasBytes = true
    _ = diorama_epoll_change(epoll, descriptor, diorama_epoll_peer_left, connection.token)
  }

  mutating func forget(_ descriptor: Int32) {
    if begun[descriptor] != nil { begun[descriptor] = nil }
  }

  /// Forgets those whose descriptor stands for another connection by now.
  mutating func forgetGone(_ current: (Int32) -> UInt64?) {
    begun = begun.filter { current($0.key) == $0.value.token }
    watches = watches.filter { current($0.key) == $0.value.token }
  }

  private mutating func hasBytes(_ connection: Connection, after answer: Int, _ now: Int) -> Bool {
    guard connection.peer != nil else {
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
