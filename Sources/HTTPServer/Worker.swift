import CMicroHTTPD
import EventLoops
import HTTPMessages

/// One thread of a server: a libmicrohttpd daemon without threads and listening sockets, on an event loop.
///
/// What its handlers begin on the same loop, such as an upstream's transfer, needs no other thread.
final class Worker: @unchecked Sendable {
  private struct Arrival {
    let connection: Connection
    var address: SocketAddress
  }

  private struct State {
    var arrivals: [Arrival] = []
    var isOver = false
  }

  let loop: EventLoop
  private let daemon: OpaquePointer
  private let state = Guarded(State())
  /// Its turns on the loop.
  let place: EventPlace
  private weak var core: ServerCore?
  private let number: Int

  // Of the loop's thread alone.
  /// Turns in a row after which libmicrohttpd wanted the next one at once.
  private var busyTurns = 0
  /// What has passed through the connections, at the last look during them.
  private var lastTraffic: UInt64?
  /// Milliseconds to the next turn while nothing passes.
  private var pause: UInt64 = 0

  /// - Parameters:
  ///   - core: whose connections it serves.
  ///   - number: of this worker among the server's, from 0.
  /// - Throws: what the system lacks.
  init(for core: ServerCore, number: Int) throws {
    self.core = core
    self.number = number
    loop = try EventLoop(named: "http-server")
    guard let daemon = Callbacks.startDaemon(for: core) else { throw NoDaemon() }
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

  /// libmicrohttpd has not started one.
  struct NoDaemon: Error {}

  deinit {
    MHD_stop_daemon(daemon)
  }

  // MARK: From any thread

  /// Serves a connection, whose descriptor libmicrohttpd owns from here on.
  ///
  /// - Returns: false where the worker has ended.
  func serve(_ connection: Connection, _ address: SocketAddress) -> Bool {
    let isAccepted = state.withLock { state in
      if !state.isOver { state.arrivals.append(Arrival(connection: connection, address: address)) }
      return !state.isOver
    }
    if isAccepted { place.wake() }
    return isAccepted
  }

  /// Ends the thread and waits for that; what connections there still are end with the last reference to this.
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

  /// How long to wait where libmicrohttpd wants the next turn at once: not at all while bytes pass.
  ///
  /// libmicrohttpd 0.9.75 does so without end for a connection whose buffer is full and holds nothing that it could use,
  /// such as a part of a chunk's size line. Where turns go by and no byte passes through any connection, whatever the
  /// cause, the next ones wait, and connections with bytes that nobody takes are ended.
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

  private func add(_ arrival: Arrival) {
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
    for arrival in late {
      Socket.close(arrival.connection.descriptor)
      arrival.connection.core.closed(arrival.connection)
    }
  }
}

/// A worker's turns on its loop, which keeps this and not the worker.
private final class Turns: EventSource {
  // Ends the loop before it goes.
  unowned(unsafe) var worker: Worker?

  func isReady(_ descriptor: Int32, for readiness: Readiness) {}
  func turn(now: UInt64) -> UInt64? { worker?.turn(now: now) }
  func loopEnds() { worker?.end() }
}
