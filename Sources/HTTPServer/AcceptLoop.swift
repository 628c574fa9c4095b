import Basics
import CMicroHTTPD
import HTTPMessages
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The thread that accepts connections, detects disconnected clients and ends connections that send too slowly.
final class AcceptLoop {
  private static let sweepInterval = 500
  private static let fewConnections = 4

  private let core: ServerCore
  private var lastSweep = Clock.milliseconds()
  private var partialHeads: PartialHeads
  /// The lowest descriptor above those open at the start.
  private let firstDescriptor: Int
  /// Whether the last connection used the last free slot, so room must be made before the next.
  private var isTight = false

  init(core: ServerCore) {
    self.core = core
    partialHeads = PartialHeads(epoll: core.epoll)
    firstDescriptor = Int(core.epoll)
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
    }
  }

  private func timeout() -> Int {
    let isIdle = core.registry.withLock { $0.connections.isEmpty } && !core.isCrowded.load(ordering: .relaxed)
    return isIdle ? -1 : max(0, lastSweep + Self.sweepInterval - Clock.milliseconds())
  }

  private func handle(_ token: Token, _ events: UInt32) {
    switch token {
    case .wake:
      core.clearWake()
      acceptAgain()
    case .listener(let id): accept(id)
    case .connection(_, let descriptor):
      guard let connection = core.connection(at: descriptor), connection.token == token.rawValue else { return }
      if events & diorama_epoll_has_left != 0 { return connection.abandon() }
      core.registry.withLock { registry in
        guard registry.connections[descriptor] === connection else { return }
        partialHeads.bytesArrived(on: connection)
      }
    }
  }

  // MARK: Accepting

  private func accept(_ id: UInt32) {
    // Bounded, so a busy listener does not starve the others.
    for _ in 0..<64 {
      guard !isTight || hasRoom else { return acceptLater() }
      var address = SocketAddress()
      guard let (descriptor, handler) = acceptOne(id, &address) else { return }
      let peer = address.isUnix ? Socket.peer(of: descriptor) : nil
      let (connection, isFull) = core.registry.withLock { registry -> (Connection?, Bool) in
        guard registry.phase == .running else { return (nil, false) }
        let token = Token.connection(number: registry.nextConnection(), descriptor: descriptor)
        let connection = Connection(
          descriptor: descriptor, token: token.rawValue, worker: registry.idlestWorker, peer: peer,
          isUnix: address.isUnix, handler: handler, core: core)
        registry.add(connection)
        return (connection, registry.connections.count >= core.configuration.maximumConnections)
      }
      guard let connection else { return Socket.close(descriptor) }
      core.adopt(connection, address)
      // The system assigns the lowest free descriptor.
      isTight = isFull || Int(descriptor) >= descriptorCeiling
    }
  }

  private func acceptOne(_ id: UInt32, _ address: inout SocketAddress) -> (Int32, any RequestHandler)? {
    var isOutOfDescriptors = false
    let accepted = core.registry.withLock { registry -> (Int32, any RequestHandler)? in
      guard let listener = registry.listeners[id] else { return nil }
      let descriptor = Self.accept(listener.socket.descriptor, &address)
      if descriptor < 0 { isOutOfDescriptors = [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) }
      return descriptor < 0 ? nil : (descriptor, listener.handler)
    }
    if isOutOfDescriptors {
      acceptLater()
    } else if accepted == nil {
      // The backlog is empty. Until then, responses keep closing their connections, since clients wait.
      core.isCrowded.store(false, ordering: .relaxed)
    }
    return accepted
  }

  private static func accept(_ listener: Int32, _ address: inout SocketAddress) -> Int32 {
    address.withPointer { accept4(listener, $0, &$1, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)) }
  }

  // MARK: Making room

  /// Leaves clients in the listeners' backlogs until there is room. Until then, each response closes its connection.
  private func acceptLater() {
    core.isCrowded.store(true, ordering: .relaxed)
    watchListeners(for: 0)
    core.endIdleConnections()
  }

  private func acceptAgain() {
    guard core.isCrowded.load(ordering: .relaxed), hasRoom else { return }
    watchListeners(for: diorama_epoll_in)
    for id in core.registry.withLock({ Array($0.listeners.keys) }) { accept(id) }
  }

  private var hasRoom: Bool {
    let count = core.registry.withLock { $0.connections.count }
    guard count < core.configuration.maximumConnections else { return false }
    // The lowest free descriptor.
    let free = fcntl(core.epoll, F_DUPFD_CLOEXEC, 0)
    guard free >= 0 else { return false }
    close(free)
    // A few are always served, even if the rest of the process uses up the descriptors.
    return count < Self.fewConnections || Int(free) < descriptorCeiling
  }

  /// The first descriptor reserved for upstream connections and files.
  private var descriptorCeiling: Int {
    let limit = Socket.descriptorLimit
    // Each connection may need one to an upstream, plus some for the next requests.
    return limit - min(256, max(0, limit - firstDescriptor) * 3 / 4)
  }

  private func watchListeners(for events: UInt32) {
    core.registry.withLock { registry in
      for (id, listener) in registry.listeners {
        _ = diorama_epoll_change(core.epoll, listener.socket.descriptor, events, Token.listener(id).rawValue)
      }
    }
  }

  // MARK: Time

  private func sweep(_ now: Int) {
    lastSweep = now
    let limit = core.configuration.headSeconds * 1000
    if core.isCrowded.load(ordering: .relaxed) {
      core.endIdleConnections()
      acceptAgain()
    }
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
}
