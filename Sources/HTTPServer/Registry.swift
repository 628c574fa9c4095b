/// What a server holds: its listeners and its connections.
///
/// Plain state, for one lock.
struct Registry {
  enum Phase {
    case running
    case stopping
    case stopped
  }

  struct ListenerEntry {
    let socket: ListeningSocket
    let handler: any RequestHandler
  }

  var phase = Phase.running
  var listeners: [UInt32: ListenerEntry] = [:]
  /// By descriptor: a number that stands for one connection only as long as that is open.
  var connections: [Int32: Connection] = [:]
  /// Connections of each worker.
  var loads: [Int]
  private var lastListener: UInt32 = 0
  private var lastConnection: UInt32 = 0

  /// Who waits for the last connection to close, and until when (milliseconds of ``Clock``).
  var onEmpty: UnsafeContinuation<Void, Never>?
  var onEmptyDeadline = 0
  /// Who waits for the whole server to be gone.
  var onStopped: [UnsafeContinuation<Void, Never>] = []

  init(workers: Int) {
    loads = Array(repeating: 0, count: workers)
  }

  mutating func add(_ listener: ListenerEntry) -> UInt32 {
    lastListener += 1
    listeners[lastListener] = listener
    return lastListener
  }

  /// A number for a new connection; with the descriptor it makes a token that does not recur soon.
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

  /// Takes a connection out.
  ///
  /// - Returns: whether it was there.
  mutating func remove(_ connection: Connection) -> Bool {
    guard connections[connection.descriptor] === connection else { return false }
    connections[connection.descriptor] = nil
    loads[connection.worker] -= 1
    return true
  }

  /// Who waits for the last connection, if it has gone.
  mutating func takeOnEmpty() -> UnsafeContinuation<Void, Never>? {
    connections.isEmpty ? onEmpty.take() : nil
  }
}
