import Basics
import CEpoll
import CMicroHTTPD
import EventLoops
import HTTPMessages
import Synchronization

/// A server thread: a libmicrohttpd daemon without its own threads and listening sockets, on an event loop. Connections that
/// begin with HTTP/2's preface are served by ``HTTP2Connection`` on the same loop.
///
/// Operations that its handlers start on the same loop, such as upstream transfers, need no other thread.
final class Worker: @unchecked Sendable {
  private struct Arrival {
    let connection: Connection
    var address: SocketAddress
    /// The number of bytes seen so far.
    var seen = 0
  }

  private struct State {
    var arrivals: [Arrival] = []
    var isOver = false
  }

  let loop: EventLoop
  private let daemon: OpaquePointer
  private let state = Guarded(State())
  /// The worker's place in its loop.
  let place: EventPlace
  private weak var core: ServerCore?
  private let number: Int

  // Used by the loop's thread only.
  /// Connections whose first bytes have not arrived yet, by descriptor.
  private var silent: [Int32: Arrival] = [:]
  /// Consecutive turns after which libmicrohttpd asked for the next one at once.
  private var busyTurns = 0
  /// The traffic of the connections when last checked during such turns.
  private var lastTraffic: UInt64?
  /// Milliseconds until the next turn while there is no traffic.
  private var pause: UInt64 = 0

  /// - Parameters:
  ///   - core: the server.
  ///   - number: the worker's index, from 0.
  /// - Throws: an error if the system refuses a thread, a descriptor or memory.
  init(for core: ServerCore, number: Int) throws {
    self.core = core
    self.number = number
    loop = try EventLoop(named: "http-server")
    guard let daemon = Callbacks.startDaemon(for: core) else {
      throw CodedError(.inputOutput, "libmicrohttpd could not start")
    }
    self.daemon = daemon
    let turns = Turns()
    place = loop.add(turns)
    turns.worker = self
    loop.watch(diorama_daemon_epoll(daemon), for: .reading, at: place)
    do {
      try loop.start()
    } catch {
      loop.stop()
      throw error
    }
  }

  deinit {
    MHD_stop_daemon(daemon)
  }

  // MARK: From any thread

  /// Serves a connection and passes ownership of its descriptor to libmicrohttpd.
  ///
  /// - Returns: false if the worker has ended.
  func serve(_ connection: Connection, _ address: SocketAddress) -> Bool {
    let isAccepted = state.withLock { state in
      if !state.isOver { state.arrivals.append(Arrival(connection: connection, address: address)) }
      return !state.isOver
    }
    if isAccepted { place.wake() }
    return isAccepted
  }

  /// Ends the thread and waits for it. Remaining connections end with the last reference to this object.
  func stop() {
    loop.stop()
  }

  // MARK: On the loop's thread

  fileprivate func turn(now: UInt64) -> UInt64? {
    let arrivals = state.withLock { state in
      defer { state.arrivals.removeAll(keepingCapacity: true) }
      return state.arrivals
    }
    for arrival in arrivals { add(arrival) }
    MHD_run(daemon)
    var milliseconds: UInt64 = 0
    let isTimed = MHD_get_timeout(daemon, &milliseconds) == .YES
    guard isTimed, milliseconds == 0 else {
      busyTurns = 0
      lastTraffic = nil
      pause = 0
      return isTimed ? now + milliseconds * 1_000_000 : nil
    }
    return now + pauseWithoutProgress() * 1_000_000
  }

  /// The time to wait when libmicrohttpd asks for the next turn at once: 0 while there is traffic.
  ///
  /// libmicrohttpd 0.9.75 asks for it endlessly if a connection's buffer is full of bytes it cannot use, such as part
  /// of a chunk's size line. If turns pass without traffic on any connection, whatever the cause, the next ones are
  /// delayed, and connections with bytes that are never read are closed.
  ///
  /// - Returns: milliseconds.
  private func pauseWithoutProgress() -> UInt64 {
    busyTurns += 1
    guard pause > 0 || busyTurns.isMultiple(of: 64), let core else { return 0 }
    var traffic: UInt64 = 0
    for connection in core.busyConnections(ofWorker: number) {
      let own = diorama_traffic(connection.descriptor)
      traffic &+= own
      if connection.isStuck(at: own) { connection.endStuckRequest() }
    }
    guard traffic == lastTraffic else {
      lastTraffic = traffic
      pause = 0
      return 0
    }
    pause = min(16, max(1, pause * 2))
    return pause
  }

  /// Passes a connection to the server of its protocol, once its first bytes have arrived.
  private func add(_ arrival: Arrival) {
    let descriptor = arrival.connection.descriptor
    guard case .undecided(let count) = HTTP2Preface.peek(descriptor) else { return serve(arrival) }
    silent[descriptor] = arrival
    silent[descriptor]?.seen = count
    loop.watch(descriptor, for: [.reading, .changes], at: place)
  }

  fileprivate func isReady(_ descriptor: Int32) {
    guard let arrival = silent[descriptor] else { return }
    if case .undecided(let count) = HTTP2Preface.peek(descriptor) {
      silent[descriptor]?.seen = count
      // The end of the connection stays behind the bytes that are not read.
      if count == 0 || count > arrival.seen || diorama_peer_has_left(descriptor) == 0 { return }
    }
    silent[descriptor] = nil
    loop.forget(descriptor)
    serve(arrival)
  }

  private func serve(_ arrival: Arrival) {
    if HTTP2Preface.peek(arrival.connection.descriptor) == .http2 {
      addHTTP2(arrival.connection)
    } else {
      addHTTP1(arrival)
    }
  }

  private func addHTTP2(_ connection: Connection) {
    // It has timeouts of its own.
    connection.waitingSince.store(0, ordering: .sequentiallyConsistent)
    if !connection.isUnix { Socket.sendAtOnce(connection.descriptor) }
    let channel = SocketChannel(connection.descriptor)
    let limits = HTTP2Limits(connection.core.configuration)
    do throws(CodedError) {
      let served = try HTTP2Connection(
        channel, handler: connection.handler, connection: connection.token, peer: connection.peer, limits: limits,
        on: loop, closed: { connection.core.closed(connection) })
      connection.began(served)
    } catch {
      connection.core.closed(connection)
      channel.close()
    }
  }

  private func addHTTP1(_ arrival: Arrival) {
    var address = arrival.address
    let added = address.withPointer { MHD_add_connection(daemon, arrival.connection.descriptor, $0, $1) }
    if added != .YES { arrival.connection.core.closed(arrival.connection) }
  }

  fileprivate func end() {
    let late = state.withLock { state in
      state.isOver = true
      defer { state.arrivals = [] }
      return state.arrivals
    }
    for arrival in late + silent.values {
      Socket.close(arrival.connection.descriptor)
      arrival.connection.core.closed(arrival.connection)
    }
    silent = [:]
  }
}

/// A worker's event source. The loop keeps this object and not the worker.
private final class Turns: EventSource {
  // The worker ends the loop before it is deallocated.
  unowned(unsafe) var worker: Worker?

  func isReady(_ descriptor: Int32, for readiness: Readiness) { worker?.isReady(descriptor) }
  func turn(now: UInt64) -> UInt64? { worker?.turn(now: now) }
  func loopEnds() { worker?.end() }
}
