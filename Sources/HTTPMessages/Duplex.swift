import Basics
import Dispatch

/// The two directions of an upgraded connection, as streams.
package struct Duplex: Sendable {
  /// The bytes received. Ends when the peer closes its sending side or disconnects.
  package let incoming: BytePipe
  /// The bytes to send. When it ends, the rest is sent and the connection is closed.
  package let outgoing: BytePipe
}

/// A connection with non-blocking calls, used from one queue.
package protocol DuplexChannel: AnyObject, Sendable {
  /// The descriptor to poll; owned by the channel.
  var descriptor: Int32 { get }
  /// Reads available bytes: their number, 0 if there are none yet, nil at the end.
  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int?
  /// Writes bytes: the number written, 0 if there is no room yet, nil if the connection is broken.
  func write(_ bytes: UnsafeRawBufferPointer) -> Int?
  /// Called once, after all other calls.
  func close()
}

/// Moves bytes between a connection and its streams, on a queue of its own. An idle connection uses no thread.
package final class DuplexPump: @unchecked Sendable {
  private static let pieceSize = 65_536

  private let channel: any DuplexChannel
  private let queue = DispatchQueue(label: "duplex")
  private let duplex = Duplex(incoming: BytePipe(), outgoing: BytePipe())
  /// Protects everything below. The queue would do, but ThreadSanitizer understands locks better than queues. (It reports
  /// accesses to a value without a size as accesses to the object's header.)
  private let lock = Guarded(true)
  private var reading: (any DispatchSourceRead)?
  private var writing: (any DispatchSourceWrite)?
  private var isReadingSuspended = false
  private var isWritingSuspended = true
  /// Read from the connection, not yet accepted by `incoming`.
  private var held: [UInt8] = []
  /// Taken from `outgoing`, not yet written.
  private var unsent: ArraySlice<UInt8> = []
  private var openSources = 2
  private var isClosed = false

  /// Starts moving bytes, until ``Duplex/outgoing`` ends.
  ///
  /// - Parameters:
  ///   - channel: the connection, which is closed at the end.
  ///   - received: bytes already read from the connection.
  /// - Returns: the streams.
  package static func start(_ channel: any DuplexChannel, received: [UInt8] = []) -> Duplex {
    let pump = DuplexPump(channel)
    if !received.isEmpty { received.withUnsafeBytes { _ = pump.duplex.incoming.offer($0) } }
    pump.start()
    return pump.duplex
  }

  private init(_ channel: any DuplexChannel) {
    self.channel = channel
  }

  private func start() {
    duplex.incoming.onWritable { [self] in enqueue { $0.readable() } }
    duplex.outgoing.onReadable { [self] in enqueue { $0.send() } }
    let reading = DispatchSource.makeReadSource(fileDescriptor: channel.descriptor, queue: queue)
    let writing = DispatchSource.makeWriteSource(fileDescriptor: channel.descriptor, queue: queue)
    // The sources keep this object alive until they are cancelled.
    reading.setEventHandler { [self] in lock.withLock { _ in readable() } }
    writing.setEventHandler { [self] in lock.withLock { _ in send() } }
    reading.setCancelHandler { [self] in lock.withLock { _ in sourceEnded() } }
    writing.setCancelHandler { [self] in lock.withLock { _ in sourceEnded() } }
    lock.withLock { _ in
      self.reading = reading
      self.writing = writing
    }
    reading.resume()
    enqueue { $0.send() }
  }

  private func enqueue(_ work: @escaping @Sendable (DuplexPump) -> Void) {
    queue.async { self.lock.withLock { _ in work(self) } }
  }

  private func readable() {
    guard !isClosed, deliver() else { return }
    // Bounded, so sending gets its turn.
    for _ in 0..<4 {
      var count: Int? = 0
      let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, written in
        count = channel.read(into: UnsafeMutableRawBufferPointer(buffer))
        written = count ?? 0
      }
      guard let count else {
        suspendReading(true)
        return duplex.incoming.finish()
      }
      if count == 0 { return suspendReading(false) }
      held = piece
      guard deliver() else { return }
    }
    // Data buffered in a TLS session does not make the descriptor readable.
    enqueue { $0.readable() }
  }

  /// - Returns: whether all bytes read were accepted; if not, reading is suspended until there is room.
  private func deliver() -> Bool {
    guard !held.isEmpty else { return true }
    guard held.withUnsafeBytes({ duplex.incoming.offer($0) }) else {
      suspendReading(true)
      return false
    }
    held = []
    return true
  }

  private func suspendReading(_ isSuspended: Bool) {
    guard isReadingSuspended != isSuspended else { return }
    isReadingSuspended = isSuspended
    if isSuspended { reading?.suspend() } else { reading?.resume() }
  }

  private func send() {
    while !isClosed {
      if unsent.isEmpty, !takeUnsent() { return }
      guard let count = unsent.withUnsafeBytes({ channel.write($0) }) else {
        duplex.outgoing.abandon()
        return close()
      }
      unsent = unsent.dropFirst(count)
      guard count == 0 else { continue }
      if isWritingSuspended { writing?.resume() }
      isWritingSuspended = false
      return
    }
  }

  /// - Returns: whether there is something to send.
  private func takeUnsent() -> Bool {
    if !isWritingSuspended {
      writing?.suspend()
      isWritingSuspended = true
    }
    var taken = BytePipe.Taken.empty
    let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceSize) { buffer, written in
      taken = duplex.outgoing.take(into: UnsafeMutableRawBufferPointer(buffer))
      if case .bytes(let count) = taken { written = count }
    }
    switch taken {
    case .bytes: unsent = piece[...]
    case .empty: return false
    case .end, .failed:
      close()
      return false
    }
    return true
  }

  private func close() {
    guard !isClosed else { return }
    isClosed = true
    duplex.incoming.onWritable(nil)
    duplex.outgoing.onReadable(nil)
    duplex.incoming.finish()
    reading?.cancel()
    writing?.cancel()
    // A suspended source never calls its cancel handler.
    if isReadingSuspended { reading?.resume() }
    if isWritingSuspended { writing?.resume() }
  }

  private func sourceEnded() {
    openSources -= 1
    guard openSources == 0 else { return }
    reading = nil
    writing = nil
    channel.close()
  }
}
