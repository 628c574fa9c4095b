import Basics
import CMicroHTTPD
import EventLoops
import HTTPMessages
import Synchronization

/// A client's connection: the server's state beside libmicrohttpd's.
///
/// The state of a request belongs to the server thread that serves the connection and needs no lock. Other threads
/// wake, abandon or end a connection through `shared`. Lock order: this lock, then libmicrohttpd's own.
final class Connection: @unchecked Sendable {
  private enum Phase {
    case running
    case suspended
    case closed
  }

  private struct Shared {
    var phase = Phase.running
    /// Woken while running: what was checked before parking is out of date.
    var isWoken = false
    /// The accept loop notices when the client disconnects.
    var isWatched: Bool
    /// The client has disconnected, or the server wants to end the connection now.
    var isAbandoned = false
    var call: HandlerCall?
    var http2: HTTP2Connection?
  }

  let descriptor: Int32
  /// Distinguishes this connection from others that had the same descriptor.
  let token: UInt64
  let worker: Int
  /// Its worker's place in the event loop.
  let place: EventPlace
  /// The client process; nil over TCP, and for connections that were made elsewhere.
  let peer: Peer?
  /// Whether this is a Unix socket, about which the kernel knows less than about TCP.
  let isUnix: Bool
  let handler: any RequestHandler
  let core: ServerCore
  let observer: ConnectionObserver?
  /// The request being read or answered; used by the connection's server thread only.
  let request: UnsafeMutablePointer<RequestState>
  /// The time since which the server has been waiting for a request head, in milliseconds; 0 while it is not.
  ///
  /// Positive since connecting (or since it should have closed), negative since a response, after which it may be idle.
  let waitingSince: Atomic<Int>

  private let shared: Guarded<Shared>
  private nonisolated(unsafe) var raw: OpaquePointer?
  /// The traffic when unread bytes were found; used by the connection's server thread only.
  private nonisolated(unsafe) var stalledTraffic: UInt64?

  init(
    descriptor: Int32, token: UInt64, worker: Int, peer: Peer?, isUnix: Bool, handler: any RequestHandler,
    core: ServerCore, observer: ConnectionObserver? = nil
  ) {
    self.descriptor = descriptor
    self.token = token
    self.worker = worker
    place = core.place(ofWorker: worker)
    self.peer = peer
    self.isUnix = isUnix
    self.observer = observer
    self.handler = handler
    self.core = core
    request = .allocate(capacity: 1)
    request.initialize(to: RequestState())
    shared = Guarded(Shared(isWatched: isUnix))
    waitingSince = Atomic(Clock.milliseconds())
  }

  deinit {
    request.deinitialize(count: 1)
    request.deallocate()
  }

  // MARK: Waiting

  /// Suspends the connection until it is woken; called on its server thread only.
  ///
  /// - Returns: false if it was woken since it last parked: check again before parking.
  func park() -> Bool {
    shared.withLock { shared in
      guard !shared.isWoken else {
        shared.isWoken = false
        return false
      }
      shared.phase = .suspended
      if !shared.isWatched {
        shared.isWatched = true
        core.watch(self)
      }
      MHD_suspend_connection(raw)
      return true
    }
  }

  /// Makes the connection's server thread check again for what it waits for.
  func wake() {
    shared.withLock { wake(&$0) }
  }

  private func wake(_ shared: inout Shared) {
    switch shared.phase {
    case .running: shared.isWoken = true
    case .suspended:
      shared.phase = .running
      MHD_resume_connection(raw)
      place.wake()
    case .closed: break
    }
  }

  // MARK: Ending

  /// Whether the response is no longer needed.
  var isAbandoned: Bool { shared.withLock { $0.isAbandoned } }

  /// Ends the current request without a response: the client has disconnected, or the server stops.
  func abandon() {
    let (call, http2) = shared.withLock { shared in
      shared.isAbandoned = true
      return (shared.call, shared.http2)
    }
    call?.end(complete: false)
    http2?.stop(grace: .zero)
    wake()
  }

  /// Ends the connection after its running requests, if it is HTTP/2; otherwise, its next response does.
  ///
  /// - Parameter grace: the time after which requests that still run are cancelled.
  func drain(grace: Duration) {
    shared.withLock { $0.http2 }?.stop(grace: grace)
  }

  /// The connection is HTTP/2, and libmicrohttpd does not know it.
  func began(_ http2: HTTP2Connection) {
    let isLate = shared.withLock { shared in
      shared.http2 = http2
      return shared.isAbandoned
    }
    if isLate || core.isDraining.load(ordering: .sequentiallyConsistent) { http2.stop(grace: .zero) }
  }

  /// Whether bytes of a request body have arrived that libmicrohttpd does not read although it could: the previous call
  /// found the same, and there has been no traffic since.
  ///
  /// Called on the connection's server thread only, with some of libmicrohttpd's turns between calls.
  ///
  /// - Parameter traffic: the connection's traffic so far.
  /// - Returns: false the first time.
  func isStuck(at traffic: UInt64) -> Bool {
    let isReceiving =
      switch request.pointee.stage {
      case .body, .collecting, .uploading, .lingering: true
      case .head, .passing, .answering: false
      }
    guard isReceiving, shared.withLock({ $0.phase == .running }), diorama_unread(descriptor) > 0 else {
      stalledTraffic = nil
      return false
    }
    defer { stalledTraffic = traffic }
    return stalledTraffic == traffic
  }

  /// Ends a stuck connection: libmicrohttpd has no room left for a chunk's size line and would look for its end at
  /// every turn.
  func endStuckRequest() {
    if request.pointee.stage != .lingering { Refusal.chunkSizeTooLong.send(to: descriptor) }
    // Unread bytes would reset the connection, and the client's system would drop the response.
    _ = Socket.drop(descriptor)
    Socket.end(descriptor)
  }

  /// Ends the cycle of references with an HTTP/2 connection, which has been closed.
  func forgetHTTP2() { shared.withLock { $0.http2 = nil } }

  // MARK: Notifications from libmicrohttpd

  func opened(_ raw: OpaquePointer) {
    shared.withLock { _ in self.raw = raw }
  }

  /// Sets the request in progress, which ``abandon()`` ends.
  func begin(_ call: HandlerCall) {
    let isLate = shared.withLock { shared in
      shared.call = call
      return shared.isAbandoned
    }
    if isLate { call.end(complete: false) }
  }

  /// A request and its response have ended, successfully or not.
  func requestEnded(complete: Bool) {
    if let call = request.pointee.call {
      shared.withLock { $0.call = nil }
      call.end(complete: complete)
    }
    request.pointee.reset()
    // A stopping server sets its flag and then checks this; here the order is reversed, so one of the two sees the
    // other.
    waitingSince.store(-Clock.milliseconds(), ordering: .sequentiallyConsistent)
    if core.isDraining.load(ordering: .sequentiallyConsistent) { Socket.endReading(descriptor) }
  }

  func closed() {
    shared.withLock { shared in
      shared.phase = .closed
      shared.call = nil
    }
    request.pointee.release()
    handler.closed(token)
    core.closed(self)
  }
}
