import Basics
import Dispatch
import EventLoops
import Glibc
import HTTPMessages
import HTTPServer
import Synchronization

/// What uses descriptors on a worker's loop. All methods are called on the loop's thread.
protocol DescriptorUser: AnyObject {
  /// When ``proceed(now:)`` must be called at the latest; nil if it waits for its descriptors only.
  var deadline: UInt64? { get }
  /// Whether it will be called in this turn, or the next one.
  var isQueued: Bool { get set }
  /// A descriptor is ready; ``proceed(now:)`` follows.
  func isReady(_ descriptor: Int32, for readiness: Readiness)
  /// Does what can be done now.
  func proceed(now: UInt64)
  /// Closes the descriptors.
  func end()
}

/// Counts a connection for as long as something holds it.
final class Admission: Sendable {
  let core: InterceptorCore
  let worker: InterceptionWorker

  /// Admits a connection, and chooses the worker with the fewest ones.
  ///
  /// - Returns: nil if the interceptor stops, or has as many connections as the HTTP server may have.
  init?(_ core: InterceptorCore) {
    self.core = core
    worker = core.idlestWorker
    worker.load.add(1, ordering: .relaxed)
    let limit = core.server.maximumConnections
    core.open.withLock { $0 += 1 }
    guard !core.isStopping, core.open.withLock({ $0 <= limit }) else { return nil }
  }

  deinit {
    worker.load.subtract(1, ordering: .relaxed)
    core.open.withLock { $0 -= 1 }
  }
}

/// The intercepted connections on one loop of the HTTP server.
final class InterceptionWorker: EventSource, @unchecked Sendable {
  let loop: EventLoop
  /// The number of connections.
  let load = Atomic(0)
  /// For one read at a time.
  let scratch = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)

  // Used by the loop's thread only.
  private var core: InterceptorCore?
  private var place: EventPlace?
  private var users: [Int32: any DescriptorUser] = [:]
  private var queue: [any DescriptorUser] = []
  /// Those that have a deadline.
  private var timed: [ObjectIdentifier: any DescriptorUser] = [:]
  private var nextDeadline = UInt64.max

  init(on loop: EventLoop) { self.loop = loop }

  deinit { scratch.deallocate() }

  // MARK: From any thread

  func start(for core: InterceptorCore) {
    loop.enqueue { [self] in
      self.core = core
      place = loop.add(self)
    }
  }

  /// Takes over a connection.
  ///
  /// - Parameters:
  ///   - descriptor: a non-blocking stream socket, which the worker owns.
  ///   - destination: where the program wanted to connect to.
  ///   - admission: counts the connection.
  func adopt(_ descriptor: Int32, _ destination: Destination, _ admission: Admission) {
    let isAccepted = loop.enqueue { [self] in begin(descriptor, destination, admission) }
    if !isAccepted { close(descriptor) }
  }

  /// Closes all connections, and takes no more.
  func endAll() {
    loop.enqueue { [self] in
      loopEnds()
      if let place { loop.remove(place) }
    }
  }

  /// Closes the connections on which nothing has been sent for a while.
  func makeRoom() {
    loop.enqueue { [self] in
      for user in users.values { (user as? InterceptedConnection)?.makeRoom() }
    }
  }

  /// Waits until the loop's thread has done what it does now.
  func roundTrip() async {
    await withUnsafeContinuation { continuation in
      if !loop.enqueue({ continuation.resume() }) { continuation.resume() }
    }
  }

  // MARK: On the loop's thread

  private func begin(_ descriptor: Int32, _ destination: Destination, _ admission: Admission) {
    guard core != nil else {
      close(descriptor)
      return
    }
    let user: any DescriptorUser =
      destination.port == 53 && !destination.isTLS
      ? NameServerStream(descriptor, admission, on: self)
      : InterceptedConnection(descriptor, destination, admission, on: self)
    users[descriptor] = user
    user.proceed(now: monotonicNanoseconds())
  }

  /// Relays the bytes of a channel to a socket pair, whose other end is handled like an accepted connection.
  ///
  /// - Parameters:
  ///   - channel: the program's side, which is not watched any more.
  ///   - destination: where the program wanted to connect to.
  ///   - received: bytes that were already read from the channel, fewer than a socket's buffer holds.
  ///   - admission: counts the connection.
  func split(
    _ channel: any HalfClosableChannel, _ destination: Destination, received: [UInt8] = [], _ admission: Admission
  ) {
    guard core != nil, let (near, far) = SocketChannel.pair() else {
      admission.core.delegate.noticed(
        .failed("no socket pair for \(destination): \(String(cString: strerror(errno))); raise 'ulimit -n'"))
      return channel.close()
    }
    let server = SocketChannel(near)
    if !received.isEmpty { _ = received.withUnsafeBytes(server.write) }
    let relay = Relay(
      client: channel, server: server, isServerLocal: true, destination, admission, on: self)
    let inner = InterceptedConnection(far, destination, admission, on: self, relay: relay)
    users[channel.descriptor] = relay
    users[near] = relay
    users[far] = inner
    let now = monotonicNanoseconds()
    relay.proceed(now: now)
    // The relay may have ended.
    if users[far] === inner { inner.proceed(now: now) }
  }

  func watch(_ descriptor: Int32, for readiness: Readiness) {
    if let place { loop.watch(descriptor, for: readiness.union(.changes), at: place) }
  }

  /// Makes a user of these descriptors another one's successor.
  func add(_ user: any DescriptorUser, at descriptors: Int32...) {
    for descriptor in descriptors { users[descriptor] = user }
    user.proceed(now: monotonicNanoseconds())
  }

  /// Leaves a descriptor to another user, or to be closed.
  func forget(_ descriptor: Int32) {
    users[descriptor] = nil
    loop.forget(descriptor)
  }

  /// Has a user proceed in the next turn.
  func again(_ user: any DescriptorUser) {
    enqueue(user)
    place?.wake()
  }

  /// Calls a user at its deadline.
  func schedule(_ user: any DescriptorUser) {
    guard let deadline = user.deadline else {
      timed[ObjectIdentifier(user)] = nil
      return
    }
    timed[ObjectIdentifier(user)] = user
    guard deadline < nextDeadline else { return }
    nextDeadline = deadline
    // The time of the next turn is a turn's result.
    place?.wake()
  }

  func unschedule(_ user: any DescriptorUser) { timed[ObjectIdentifier(user)] = nil }

  private func enqueue(_ user: any DescriptorUser) {
    guard !user.isQueued else { return }
    user.isQueued = true
    queue.append(user)
  }

  // MARK: EventSource

  func isReady(_ descriptor: Int32, for readiness: Readiness) {
    guard let user = users[descriptor] else { return }
    user.isReady(descriptor, for: readiness)
    enqueue(user)
  }

  func turn(now: UInt64) -> UInt64? {
    let due = queue
    queue.removeAll(keepingCapacity: true)
    for user in due {
      user.isQueued = false
      user.proceed(now: now)
    }
    if nextDeadline <= now {
      for user in timed.values where user.deadline ?? .max <= now { user.proceed(now: now) }
      nextDeadline = timed.values.lazy.compactMap(\.deadline).min() ?? .max
    }
    return nextDeadline == .max ? nil : nextDeadline
  }

  func loopEnds() {
    for (descriptor, user) in users {
      loop.forget(descriptor)
      user.end()
    }
    users = [:]
    queue = []
    timed = [:]
    nextDeadline = .max
    core = nil
  }
}
