import Basics
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

/// The server as shared by its threads; ``HTTPServer`` is the handle to it.
final class ServerCore: @unchecked Sendable {
  let configuration: HTTPServer.Configuration
  /// Set when the server stops: every response from then on closes its connection.
  let isDraining = Atomic(false)
  /// Set while clients wait because connections or descriptors have run out: responses close their connections, and a
  /// closed connection wakes the accept loop.
  let isCrowded = Atomic(false)
  /// The accept loop's set. It also holds the connections, to detect that a client disconnects.
  let epoll: Int32
  let registry: Monitor<Registry>

  /// Milliseconds of inactivity after a response before a connection may be closed to make room for others.
  private static let idleMilliseconds = 1000

  /// For blocking calls.
  private let queue = DispatchQueue(label: "http-server")
  private let wakeEvent: Int32
  private let isLoopOver = Atomic(false)
  /// libmicrohttpd's daemons, each on its own thread.
  ///
  /// A single daemon with a thread pool would pick the thread by descriptor number, which puts all connections on one
  /// thread if every other descriptor belongs to something else.
  private nonisolated(unsafe) var workers: [Worker] = []
  private nonisolated(unsafe) var loop: pthread_t?
  private nonisolated(unsafe) var areDescriptorsClosed = false

  init(_ configuration: HTTPServer.Configuration) throws(CodedError) {
    self.configuration = configuration
    registry = Monitor(Registry(workers: configuration.threads))
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
    // Only needed after a failed start; `stop` has released everything otherwise.
    releaseResources()
  }

  private static var cannotStart: CodedError {
    CodedError(
      "cannot start: \(String(cString: strerror(errno)))", at: "HTTP server",
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

  /// Accepts connections on a socket and takes ownership of it.
  func serve(_ socket: ListeningSocket, handler: any RequestHandler) throws(CodedError) -> Listener {
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
      throw CodedError("the server has been stopped", at: "\(socket.place)", next: "start another server")
    }
    return Listener(place: socket.place, id: id, core: self)
  }

  func closeListener(_ id: UInt32) {
    registry.withLock { registry in
      guard let listener = registry.listeners.removeValue(forKey: id) else { return }
      // Under the lock, so the accept loop never uses a descriptor that has been reused.
      _ = diorama_epoll_remove(epoll, listener.socket.descriptor)
      listener.socket.close()
    }
  }

  /// Refuses new connections to a listener's port, or accepts them again. The port stays reserved.
  ///
  /// - Returns: false if it cannot listen again.
  func setRefusing(_ isRefusing: Bool, _ id: UInt32) -> Bool {
    registry.withLock { registry in
      guard let listener = registry.listeners[id], listener.isRefusing != isRefusing else { return true }
      registry.listeners[id]?.isRefusing = isRefusing
      let descriptor = listener.socket.descriptor
      if isRefusing {
        _ = diorama_epoll_remove(epoll, descriptor)
        // On Linux, this stops listening, but keeps the explicit binding.
        shutdown(descriptor, Int32(SHUT_RD))
        return true
      } else {
        guard listen(descriptor, ListeningSocket.backlog) == 0 else { return false }
        let events = isCrowded.load(ordering: .relaxed) ? 0 : diorama_epoll_in
        return diorama_epoll_add(epoll, descriptor, events, Token.listener(id).rawValue) == 0
      }
    }
  }

  // MARK: Connections

  /// Hands an accepted connection to its worker, which takes ownership of the descriptor.
  func adopt(_ connection: Connection, _ address: SocketAddress) {
    // Over TCP, a disconnect matters only while the connection is suspended.
    if connection.isUnix { watch(connection) }
    guard !workers[connection.worker].serve(connection, address) else { return }
    Socket.close(connection.descriptor)
    closed(connection)
  }

  /// Makes the accept loop notice when a connection's client disconnects.
  func watch(_ connection: Connection) {
    _ = diorama_epoll_add(epoll, connection.descriptor, diorama_epoll_peer_left, connection.token)
  }

  /// A worker's place in its event loop.
  func place(ofWorker number: Int) -> EventPlace { workers[number].place }

  /// A connection is about to be closed, or could not be opened.
  func closed(_ connection: Connection) {
    connection.forgetHTTP2()
    registry.withLock { registry in
      if registry.remove(connection) { _ = diorama_epoll_remove(epoll, connection.descriptor) }
    }
    connection.observer?.closed()
    if isCrowded.load(ordering: .relaxed) { wakeLoop() }
  }

  /// Serves a connection that was accepted elsewhere, and takes ownership of its descriptor.
  func serve(
    connected descriptor: Int32, handler: any RequestHandler, on loop: EventLoop?, observer: ConnectionObserver?
  ) throws(CodedError) -> Connection {
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    _ = fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK)
    var address = SocketAddress()
    let hasPeer = address.withPointer { getpeername(descriptor, $0, &$1) } == 0
    let (connection, isFirst) = registry.withLock { registry -> (Connection?, Bool) in
      guard hasPeer, registry.phase == .running, registry.connections.count < configuration.maximumConnections else {
        return (nil, false)
      }
      let worker = workers.firstIndex { $0.loop === loop } ?? registry.idlestWorker
      let token = Token.connection(number: registry.nextConnection(), descriptor: descriptor)
      let connection = Connection(
        descriptor: descriptor, token: token.rawValue, worker: worker, peer: nil, isUnix: address.isUnix,
        handler: handler, core: self, observer: observer)
      registry.add(connection)
      if address.isUnix { watch(connection) }
      // Under the lock, since the workers are released after the phase has changed.
      guard workers[worker].serve(connection, address) else {
        _ = registry.remove(connection)
        return (nil, false)
      }
      return (connection, registry.connections.count == 1)
    }
    guard let connection else {
      Socket.close(descriptor)
      throw CodedError(
        "the client has disconnected, the server has been stopped, or it has as many connections as it may have",
        at: "a connection to the HTTP server", next: "connect again")
    }
    // The accept loop looks at connections in intervals only while there are some.
    if isFirst { wakeLoop() }
    return connection
  }

  /// Ends a connection and its request now.
  func end(_ connection: Connection) {
    connection.abandon()
    registry.withLock { registry in
      // A descriptor is valid while its connection is registered.
      if registry.connections[connection.descriptor] === connection { Socket.end(connection.descriptor) }
    }
  }

  /// Closes connections that have been inactive for a while since their last response.
  func endIdleConnections() {
    let now = Clock.milliseconds()
    registry.withLock { registry in
      for (descriptor, connection) in registry.connections {
        let waiting = connection.waitingSince.load(ordering: .relaxed)
        if waiting < 0, now + waiting > Self.idleMilliseconds { Socket.endReading(descriptor) }
      }
    }
  }

  /// The loops of the workers; none once the server stops.
  var loops: [EventLoop] {
    registry.withLock { $0.phase == .running ? workers.map(\.loop) : [] }
  }

  func connection(at descriptor: Int32) -> Connection? {
    registry.withLock { $0.connections[descriptor] }
  }

  /// A worker's connections with a request in progress.
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
    guard isFirst else {
      await registry.waitIgnoringCancellation { $0.phase == .stopped }
      return
    }
    for id in registry.withLock({ Array($0.listeners.keys) }) { closeListener(id) }
    isDraining.store(true, ordering: .sequentiallyConsistent)
    registry.withLock { registry in
      // A descriptor is valid while its connection is registered.
      for connection in registry.connections.values
      where connection.waitingSince.load(ordering: .sequentiallyConsistent) != 0 {
        Socket.endReading(connection.descriptor)
      }
    }
    for connection in registry.withLock({ Array($0.connections.values) }) { connection.drain(grace: grace) }
    await registry.waitIgnoringCancellation(until: .now + grace) { $0.connections.isEmpty }
    for connection in registry.withLock({ Array($0.connections.values) }) { connection.abandon() }
    registry.withLock { $0.connections.keys.forEach(Socket.end) }
    // The timeout is for connections that libmicrohttpd had to drop without notice.
    await registry.waitIgnoringCancellation(until: .now + .seconds(5)) { $0.connections.isEmpty }
    await takeDown()
    registry.withLock { $0.phase = .stopped }
  }

  /// Waits for the threads to end, which would block a thread of Swift's pool.
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
}

/// A server's listeners and connections: plain state, protected by one lock.
struct Registry {
  enum Phase {
    case running
    case stopping
    case stopped
  }

  struct ListenerEntry {
    let socket: ListeningSocket
    let handler: any RequestHandler
    var isRefusing = false
  }

  var phase = Phase.running
  var listeners: [UInt32: ListenerEntry] = [:]
  /// By descriptor, which is unique among open connections.
  var connections: [Int32: Connection] = [:]
  /// The number of connections of each worker.
  var loads: [Int]
  private var lastListener: UInt32 = 0
  private var lastConnection: UInt32 = 0

  init(workers: Int) {
    loads = Array(repeating: 0, count: workers)
  }

  mutating func add(_ listener: ListenerEntry) -> UInt32 {
    lastListener += 1
    listeners[lastListener] = listener
    return lastListener
  }

  /// The number for a new connection; together with the descriptor it makes a token that does not recur soon.
  mutating func nextConnection() -> UInt32 {
    lastConnection = (lastConnection & 0x1FFF_FFFF) + 1
    return lastConnection
  }

  /// The worker with the fewest connections.
  var idlestWorker: Int { loads.indices.min { loads[$0] < loads[$1] } ?? 0 }

  mutating func add(_ connection: Connection) {
    connections[connection.descriptor] = connection
    loads[connection.worker] += 1
  }

  /// Removes a connection.
  ///
  /// - Returns: whether it was registered.
  mutating func remove(_ connection: Connection) -> Bool {
    guard connections[connection.descriptor] === connection else { return false }
    connections[connection.descriptor] = nil
    loads[connection.worker] -= 1
    return true
  }
}

/// The subject of an event in the server's epoll set.
enum Token: Equatable {
  /// The loop's own wake-up event.
  case wake
  /// A client connects to this listener.
  case listener(UInt32)
  /// The client of this connection has disconnected.
  case connection(number: UInt32, descriptor: Int32)

  init(rawValue: UInt64) {
    let low = UInt32(truncatingIfNeeded: rawValue)
    switch rawValue >> 62 {
    case 0: self = .connection(number: UInt32(rawValue >> 32), descriptor: Int32(bitPattern: low))
    case 1: self = .listener(low)
    default: self = .wake
    }
  }

  var rawValue: UInt64 {
    switch self {
    case .connection(let number, let descriptor):
      UInt64(number) << 32 | UInt64(UInt32(bitPattern: descriptor))
    case .listener(let id): 1 << 62 | UInt64(id)
    case .wake: 3 << 62
    }
  }
}

/// The clock for timeouts: monotonic, cheap to read, with a resolution of a few milliseconds.
enum Clock {
  static func milliseconds() -> Int {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC_COARSE, &time)
    return time.tv_sec * 1000 + time.tv_nsec / 1_000_000
  }
}
