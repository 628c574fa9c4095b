import CMicroHTTPD
import EventLoops
import HTTPMessages
import Synchronization

/// A client's connection: what the server knows of it beside libmicrohttpd.
///
/// The state of a request belongs to the one server thread that serves the connection, and is reached without a
/// lock. What other threads do to a connection (wake it, tell that its client has left, end it) goes through
/// `shared`. Locks are taken in the order: this, then libmicrohttpd's own.
final class Connection: @unchecked Sendable {
  private enum Phase {
    case running
    case suspended
    case closed
  }

  private struct Shared {
    var phase = Phase.running
    /// Woken while it ran: whatever it looked at before it parks is out of date.
    var isWoken = false
    /// The client has left, or the server wants the connection to end now.
    var isAbandoned = false
    var exchange: Exchange?
  }

  let descriptor: Int32
  /// Tells this connection from others that had the same descriptor.
  let token: UInt64
  let worker: Int
  /// Where its worker has its turns.
  let place: EventPlace
  /// Who connected; nil over TCP.
  let peer: Peer?
  let handler: any RequestHandler
  let core: ServerCore
  /// The request that is being read or answered; only for the thread that serves this connection.
  let request: UnsafeMutablePointer<RequestState>
  /// Since when the client owes a request's head, in milliseconds; 0 while it owes none.
  ///
  /// Positive since it connected (or was told to go), negative since an answer, after which it may stay silent.
  let waitingSince: Atomic<Int>

  private let shared = Guarded(Shared())
  private nonisolated(unsafe) var raw: OpaquePointer?
  /// What had passed when bytes were found that nobody took; only for the thread that serves this connection.
  private nonisolated(unsafe) var stalledTraffic: UInt64?

  init(
    descriptor: Int32, token: UInt64, worker: Int, peer: Peer?, handler: any RequestHandler, core: ServerCore
  ) {
    self.descriptor = descriptor
    self.token = token
    self.worker = worker
    place = core.place(ofWorker: worker)
    self.peer = peer
    self.handler = handler
    self.core = core
    request = .allocate(capacity: 1)
    request.initialize(to: RequestState())
    waitingSince = Atomic(Clock.milliseconds())
  }

  deinit {
    request.deinitialize(count: 1)
    request.deallocate()
  }

  // MARK: Waiting

  /// Suspends the connection until it is woken.
  ///
  /// Only for the thread that serves it.
  ///
  /// - Returns: false when it has been woken since it last parked: look again at what you wait for.
  func park() -> Bool {
    shared.withLock { shared in
      guard !shared.isWoken else {
        shared.isWoken = false
        return false
      }
      shared.phase = .suspended
      MHD_suspend_connection(raw)
      return true
    }
  }

  /// Makes the thread that serves this connection look again at what it waits for.
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

  /// Whether nobody waits for an answer any more.
  var isAbandoned: Bool { shared.withLock { $0.isAbandoned } }

  /// The client has left, or the server stops: the request in work ends without an answer.
  func abandon() {
    let exchange = shared.withLock { shared in
      shared.isAbandoned = true
      return shared.exchange
    }
    exchange?.end(complete: false)
    wake()
  }

  /// Whether bytes of a request's body have come that libmicrohttpd does not take, although nothing keeps it from doing
  /// so: the same was found the last time that this was asked, and no byte has passed since.
  ///
  /// Only for the thread that serves it, with some of libmicrohttpd's turns between one call and the next.
  ///
  /// - Parameter traffic: what has passed through the connection.
  /// - Returns: false at the first time.
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

  /// Ends a connection that is stuck: libmicrohttpd has no room left for a chunk's size line, and would look for its
  /// end at every turn.
  func endStuckRequest() {
    if request.pointee.stage != .lingering { Refusal.chunkSizeTooLong.send(to: descriptor) }
    // What is unread at the end would reset the connection, and the client's system drop the answer.
    _ = Socket.drop(descriptor)
    Socket.end(descriptor)
  }

  // MARK: What libmicrohttpd tells

  func opened(_ raw: OpaquePointer) {
    shared.withLock { _ in self.raw = raw }
  }

  /// The exchange that ``abandon()`` ends.
  func begin(_ exchange: Exchange) {
    let isLate = shared.withLock { shared in
      shared.exchange = exchange
      return shared.isAbandoned
    }
    if isLate { exchange.end(complete: false) }
  }

  /// A request and its answer are over, well or not.
  func requestEnded(complete: Bool) {
    if let exchange = request.pointee.exchange {
      shared.withLock { $0.exchange = nil }
      exchange.end(complete: complete)
    }
    request.pointee.reset()
    // A stopping server first sets its flag and then looks at this; here it is the other way round. So one of both
    // sees the other.
    waitingSince.store(-Clock.milliseconds(), ordering: .sequentiallyConsistent)
    if core.isDraining.load(ordering: .sequentiallyConsistent) { Socket.endReading(descriptor) }
  }

  func closed() {
    shared.withLock { shared in
      shared.phase = .closed
      shared.exchange = nil
    }
    request.pointee.release()
    handler.closed(token)
    core.closed(self)
  }
}
