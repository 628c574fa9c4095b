import CMicroHTTPD
import HTTPMessages
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The thread that accepts connections, learns that clients have left, and ends those who send too slowly.
final class AcceptLoop {
  private static let sweepInterval = 500
  /// Refused clients whose last bytes are awaited, so that they get to read their 503.
  private static let mostRefused = 128
  private static let refusedMilliseconds = 2000

  private let core: ServerCore
  private var lastSweep = Clock.milliseconds()
  /// By descriptor, since when.
  private var refused: [Int32: Int] = [:]
  private var partialHeads: PartialHeads
  /// Held so that there is a descriptor left to refuse a client with when there are no more.
  private var reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)

  init(core: ServerCore) {
    self.core = core
    partialHeads = PartialHeads(epoll: core.epoll)
  }

  deinit {
    if reserve >= 0 { close(reserve) }
  }

  func run() {
    var signals = sigset_t()
    sigfillset(&signals)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    diorama_name_thread("http-accept")
    var tokens = [UInt64](repeating: 0, count: 64)
    var events = [UInt32](repeating: 0, count: 64)
    while !core.isLoopEnding {
      let count = Int(diorama_epoll_wait(core.epoll, &tokens, &events, 64, Int32(timeout())))
      for index in 0..<max(0, count) { handle(Token(rawValue: tokens[index]), events[index]) }
      let now = Clock.milliseconds()
      if now - lastSweep >= Self.sweepInterval { sweep(now) }
      tellDeadline(now)
    }
    for descriptor in refused.keys { close(descriptor) }
  }

  private func timeout() -> Int {
    let now = Clock.milliseconds()
    let (isIdle, deadline) = core.registry.withLock { registry in
      (registry.connections.isEmpty, registry.onEmpty == nil ? nil : registry.onEmptyDeadline)
    }
    var timeout = isIdle && refused.isEmpty ? -1 : max(0, lastSweep + Self.sweepInterval - now)
    if let deadline {
      let left = max(0, deadline - now)
      timeout = timeout < 0 ? left : min(timeout, left)
    }
    return timeout
  }

  private func handle(_ token: Token, _ events: UInt32) {
    switch token {
    case .wake: core.clearWake()
    case .listener(let id): accept(id)
    case .connection(_, let descriptor):
      guard let connection = core.connection(at: descriptor), connection.token == token.rawValue else { return }
      if events & diorama_epoll_has_left != 0 { return connection.abandon() }
      core.registry.withLock { registry in
        guard registry.connections[descriptor] === connection else { return }
        partialHeads.bytesArrived(on: connection)
      }
    case .refused(let descriptor):
      if !Socket.drop(descriptor) { forget(descriptor) }
    }
  }

  // MARK: Accepting

  private func accept(_ id: UInt32) {
    // A bound, so that one busy listener does not starve the others.
    for _ in 0..<64 {
      var address = SocketAddress()
      guard let (descriptor, handler) = acceptOne(id, &address) else { return }
      let peer = address.isUnix ? Socket.peer(of: descriptor) : nil
      let connection = core.registry.withLock { registry -> Connection? in
        guard registry.phase == .running, registry.connections.count < core.configuration.maximumConnections else {
          return nil
        }
        let token = Token.connection(number: registry.nextConnection(), descriptor: descriptor)
        let connection = Connection(
          descriptor: descriptor, token: token.rawValue, worker: registry.idlestWorker, peer: peer, handler: handler,
          core: core)
        registry.add(connection)
        return connection
      }
      if let connection {
        core.adopt(connection, address)
      } else {
        refuse(descriptor)
      }
    }
  }

  private func acceptOne(_ id: UInt32, _ address: inout SocketAddress) -> (Int32, any RequestHandler)? {
    var isOutOfDescriptors = false
    let accepted = core.registry.withLock { registry -> (Int32, any RequestHandler)? in
      guard let listener = registry.listeners[id] else { return nil }
      let descriptor = Self.accept(listener.socket.descriptor, &address)
      if descriptor < 0 { isOutOfDescriptors = errno == EMFILE || errno == ENFILE }
      return descriptor < 0 ? nil : (descriptor, listener.handler)
    }
    if isOutOfDescriptors { refuseWithReserve(id) }
    return accepted
  }

  private static func accept(_ listener: Int32, _ address: inout SocketAddress) -> Int32 {
    address.withPointer { accept4(listener, $0, &$1, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)) }
  }

  private func refuse(_ descriptor: Int32) {
    Refusal.tooManyConnections.send(to: descriptor)
    if refused.count >= Self.mostRefused, let oldest = refused.min(by: { $0.value < $1.value }) { forget(oldest.key) }
    let token = Token.refused(descriptor: descriptor)
    guard diorama_epoll_add(core.epoll, descriptor, diorama_epoll_in, token.rawValue) == 0 else {
      close(descriptor)
      return
    }
    refused[descriptor] = Clock.milliseconds()
  }

  private func forget(_ descriptor: Int32) {
    guard refused.removeValue(forKey: descriptor) != nil else { return }
    _ = diorama_epoll_remove(core.epoll, descriptor)
    close(descriptor)
  }

  /// Without this the listener would be ready, and this thread busy, until somebody closes a descriptor.
  private func refuseWithReserve(_ id: UInt32) {
    if reserve >= 0 { close(reserve) }
    core.registry.withLock { registry in
      guard let listener = registry.listeners[id] else { return }
      var address = SocketAddress()
      let descriptor = Self.accept(listener.socket.descriptor, &address)
      guard descriptor >= 0 else { return }
      Refusal.tooManyConnections.send(to: descriptor)
      close(descriptor)
    }
    reserve = open("/dev/null", O_RDONLY | O_CLOEXEC)
  }

  // MARK: Time

  private func sweep(_ now: Int) {
    lastSweep = now
    let limit = core.configuration.headSeconds * 1000
    for (descriptor, since) in refused where now - since > Self.refusedMilliseconds { forget(descriptor) }
    core.registry.withLock { registry in
      partialHeads.forgetGone { registry.connections[$0]?.token }
      for (descriptor, connection) in registry.connections {
        let waiting = connection.waitingSince.load(ordering: .relaxed)
        let since = waiting < 0 ? partialHeads.begun(on: connection, after: -waiting, now: now) : waiting
        if waiting >= 0 { partialHeads.forget(descriptor) }
        if let since, since > 0, now - since > limit { Socket.end(descriptor) }
      }
    }
  }

  private func tellDeadline(_ now: Int) {
    let waiter = core.registry.withLock { registry in
      registry.onEmpty != nil && now >= registry.onEmptyDeadline ? registry.onEmpty.take() : nil
    }
    if let waiter { core.resume(waiter) }
  }
}
