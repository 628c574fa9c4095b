import CMicroHTTPD
import Dispatch
import EventLoops
import HTTPMessages
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The server itself, as its threads share it; ``HTTPServer`` is the handle on it.
final class ServerCore: @unchecked Sendable {
  let configuration: HTTPServer.Configuration
  /// Set when the server stops: every answer from now on ends its connection.
  let isDraining = Atomic(false)
  /// Set while clients wait to be accepted for want of room: answers end their connections, and a connection that ends
  /// wakes the accept loop.
  let isCrowded = Atomic(false)
  /// The accept loop's set; connections are in it too, to learn that their client has left.
  let epoll: Int32
  let registry: Guarded<Registry>

  /// For what waits, or wakes those who wait.
  private let queue = DispatchQueue(label: "http-server")
  private let wakeEvent: Int32
  private let isLoopOver = Atomic(false)
  /// libmicrohttpd's daemons, each on a thread of its own.
  ///
  /// One daemon with a pool would choose a thread by the descriptor's number, which puts all connections on one when
  /// every other descriptor is somebody else's.
  private nonisolated(unsafe) var workers: [Worker] = []
  private nonisolated(unsafe) var loop: pthread_t?
  private nonisolated(unsafe) var areDescriptorsClosed = false

  init(_ configuration: HTTPServer.Configuration) throws(ServerError) {
    self.configuration = configuration
    registry = Guarded(Registry(workers: configuration.threads))
    epoll = diorama_epoll_create()
    wakeEvent = diorama_eventfd_create()
    guard epoll >= 0, wakeEvent >= 0, diorama_epoll_add(epoll, wakeEvent, diorama_epoll_in, Token.wake.rawValue) == 0
    else {
      throw Self.cannotStart
    }
    for number in 0..<configuration.threads {
      do { workers.append(try Worker(for: self, number: number)) } catch { throw Self.cannotStart }
    }
    guard startLoop() else { throw Self.cannotStart }
  }

  deinit {
    // Only what could not start is still there; a server that ran has been taken down by `stop`.
    releaseResources()
  }

  private static var cannotStart: ServerError {
    ServerError(
      what: "cannot start: \(String(cString: strerror(errno)))", where: "HTTP server",
      next: "raise the limits of open files and of threads ('ulimit -n', 'ulimit -u')")
  }

  private func startLoop() -> Bool {
    let context = Unmanaged.passRetained(AcceptLoop(core: self))
    var thread = pthread_t()
    let result = pthread_create(
      &thread, nil,
      { context in
        guard let context else { return nil }
        Unmanaged<AcceptLoop>.fromOpaque(context).takeRetainedValue().run()
        return nil
      }, context.toOpaque())
    guard result == 0 else {
      context.release()
      return false
    }
    loop = thread
    return true
  }

  // MARK: Listeners

  /// Accepts what comes to a socket, and owns that from here on.
  func serve(_ socket: ListeningSocket, handler: any RequestHandler) throws(ServerError) -> Listener {
    let id = registry.withLock { registry -> UInt32? in
      guard registry.phase == .running else { return nil }
      let id = registry.add(.init(socket: socket, handler: handler))
      guard diorama_epoll_add(epoll, socket.descriptor, diorama_epoll_in, Token.listener(id).rawValue) == 0 else {
        registry.listeners[id] = nil
        return nil
      }
      return id
    }
    guard let id else {
      socket.close()
      throw ServerError(what: "the server has been stopped", where: "\(socket.place)", next: "start another server")
    }
    return Listener(place: socket.place, id: id, core: self)
  }

  func closeListener(_ id: UInt32) {
    registry.withLock { registry in
      guard let listener = registry.listeners.removeValue(forKey: id) else { return }
      // Under the lock, so that the accept loop never uses a number that already stands for something else.
      _ = diorama_epoll_remove(epoll, listener.socket.descriptor)
      listener.socket.close()
    }
  }

  // MARK: Connections

  /// Hands an accepted connection to its worker, which owns the descriptor from here on.
  func adopt(_ connection: Connection, _ address: SocketAddress) {
    _ = diorama_epoll_add(epoll, connection.descriptor, diorama_epoll_peer_left, connection.token)
    guard !workers[connection.worker].serve(connection, address) else { return }
    Socket.close(connection.descriptor)
    closed(connection)
  }

  /// Where a worker has its turns.
  func place(ofWorker number: Int) -> EventPlace { workers[number].place }

  /// A connection is about to be closed, or could not be opened.
  func closed(_ connection: Connection) {
    let waiter = registry.withLock { registry -> UnsafeContinuation<Void, Never>? in
      if registry.remove(connection) { _ = diorama_epoll_remove(epoll, connection.descriptor) }
      return registry.takeOnEmpty()
    }
    if let waiter { resume(waiter) }
    if isCrowded.load(ordering: .relaxed) { wakeLoop() }
  }

  /// Goes on where somebody waits, on a thread of the system's.
  ///
  /// The server's own threads have connections to serve.
  func resume(_ waiter: UnsafeContinuation<Void, Never>) {
    queue.async { waiter.resume() }
  }

  func connection(at descriptor: Int32) -> Connection? {
    registry.withLock { $0.connections[descriptor] }
  }

  /// A worker's connections that have a request in work.
  func busyConnections(ofWorker number: Int) -> [Connection] {
    registry.withLock {
      $0.connections.values.filter { $0.worker == number && $0.waitingSince.load(ordering: .relaxed) >= 0 }
    }
  }

  // MARK: The loop

  var isLoopEnding: Bool { isLoopOver.load(ordering: .acquiring) }

  func wakeLoop() {
    var one: UInt64 = 1
    _ = write(wakeEvent, &one, 8)
  }

  func clearWake() {
    var count: UInt64 = 0
    _ = read(wakeEvent, &count, 8)
  }

  // MARK: Stopping

  func stop(grace: Duration) async {
    let isFirst = registry.withLock { registry in
      guard registry.phase == .running else { return false }
      registry.phase = .stopping
      return true
    }
    guard isFirst else { return await untilStopped() }
    for id in registry.withLock({ Array($0.listeners.keys) }) { closeListener(id) }
    isDraining.store(true, ordering: .sequentiallyConsistent)
    registry.withLock { registry in
      // Descriptors are good as long as their connection is in here.
      for connection in registry.connections.values
      where connection.waitingSince.load(ordering: .sequentiallyConsistent) != 0 {
        Socket.endReading(connection.descriptor)
      }
    }
    await untilEmpty(within: grace)
    for connection in registry.withLock({ Array($0.connections.values) }) { connection.abandon() }
    registry.withLock { $0.connections.keys.forEach(Socket.end) }
    // Nothing waits any more. The bound is for a connection that libmicrohttpd had to drop without telling.
    await untilEmpty(within: .seconds(5))
    await takeDown()
    let waiters = registry.withLock { registry in
      registry.phase = .stopped
      defer { registry.onStopped = [] }
      return registry.onStopped
    }
    waiters.forEach { $0.resume() }
  }

  /// Waits for the threads to end, which no thread of Swift's pool may do.
  private func takeDown() async {
    await withUnsafeContinuation { continuation in
      queue.async {
        self.isLoopOver.store(true, ordering: .releasing)
        self.wakeLoop()
        if let loop = self.loop { pthread_join(loop, nil) }
        self.loop = nil
        self.releaseResources()
        continuation.resume()
      }
    }
  }

  private func releaseResources() {
    workers.forEach { $0.stop() }
    workers = []
    // After the daemons, whose connections are in the set.
    for descriptor in [epoll, wakeEvent] where descriptor >= 0 && !areDescriptorsClosed { close(descriptor) }
    areDescriptorsClosed = true
  }

  private func untilStopped() async {
    await withUnsafeContinuation { continuation in
      let isStopped = registry.withLock { registry in
        guard registry.phase != .stopped else { return true }
        registry.onStopped.append(continuation)
        return false
      }
      if isStopped { continuation.resume() }
    }
    // ThreadSanitizer does not always know what a continuation orders; it knows a lock.
    registry.withLock { _ in }
  }

  /// The loop resumes this when the time is over, the last connection when it goes.
  private func untilEmpty(within duration: Duration) async {
    let milliseconds = duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
    await withUnsafeContinuation { continuation in
      let isEmpty = registry.withLock { registry in
        guard !registry.connections.isEmpty else { return true }
        registry.onEmpty = continuation
        registry.onEmptyDeadline = Clock.milliseconds() + Int(max(0, milliseconds))
        return false
      }
      if isEmpty { continuation.resume() } else { wakeLoop() }
    }
    registry.withLock { _ in }
  }
}
