import Basics
import EventLoops
import Glibc
import HTTPMessages
import HTTPServer

/// Moves bytes between a program and a server, in both directions, with the memory of one read each.
final class Relay: DescriptorUser, @unchecked Sendable {
  private struct Direction {
    /// Read, but not written.
    var pending: [UInt8] = []
    var mayRead = true
    var mayWrite = true
    /// The source sends no more.
    var isEnded = false
    /// The sink gets no more; what still comes is dropped.
    var isDone = false
    var count = 0
  }

  /// Nanoseconds for a client to close its side after the server has closed the connection. Until then its bytes are
  /// dropped: closing at once would reset the connection, and the client's system would drop the end of the response.
  private static let lingering: UInt64 = 5_000_000_000

  var deadline: UInt64?
  var isQueued = false
  /// The server resets the connection. Set by its observer, on the loop's thread.
  var isReset = false

  private let client: any HalfClosableChannel
  private let server: any HalfClosableChannel
  private let isServerLocal: Bool
  private let destination: Destination
  private let admission: Admission
  private unowned let worker: InterceptionWorker
  private let start = monotonicNanoseconds()
  private var up = Direction()
  private var down = Direction()
  private var isOver = false

  init(
    client: any HalfClosableChannel, server: any HalfClosableChannel, isServerLocal: Bool, _ destination: Destination,
    _ admission: Admission, on worker: InterceptionWorker
  ) {
    self.client = client
    self.server = server
    self.isServerLocal = isServerLocal
    self.destination = destination
    self.admission = admission
    self.worker = worker
    worker.watch(client.descriptor, for: .reading)
    worker.watch(server.descriptor, for: .reading)
  }

  func isReady(_ descriptor: Int32, for readiness: Readiness) {
    if descriptor == client.descriptor {
      up.mayRead = up.mayRead || readiness.mayRead
      down.mayWrite = down.mayWrite || readiness.mayWrite
    } else {
      down.mayRead = down.mayRead || readiness.mayRead
      up.mayWrite = up.mayWrite || readiness.mayWrite
    }
  }

  func proceed(now: UInt64) {
    guard !isOver else { return }
    if let deadline, deadline <= now { return finish() }
    let isUpBusy = move(&up, from: client, to: server)
    let isDownBusy = move(&down, from: server, to: client)
    if client.hasFailed { return finish() }
    if server.hasFailed, !isServerLocal { return reset() }
    if up.isDone, down.isDone { return finish() }
    if down.isDone, isServerLocal, deadline == nil {
      deadline = now + Self.lingering
      worker.schedule(self)
    }
    if isUpBusy || isDownBusy { worker.again(self) }
  }

  /// - Returns: whether more could be moved at once.
  private func move(
    _ direction: inout Direction, from source: any HalfClosableChannel, to sink: any HalfClosableChannel
  ) -> Bool {
    // Bounded, so that other connections get their turn.
    for _ in 0..<8 {
      if !direction.pending.isEmpty {
        guard direction.mayWrite else { return false }
        guard let count = direction.isDone ? direction.pending.count : direction.pending.withUnsafeBytes(sink.write)
        else {
          isBroken(&direction, sink)
          continue
        }
        direction.pending.removeFirst(count)
        guard direction.pending.isEmpty else {
          waitForRoom(&direction, sink)
          return false
        }
        worker.watch(sink.descriptor, for: .reading)
      }
      if direction.isEnded {
        guard !direction.isDone else { return false }
        if isReset, sink === client {
          reset()
          return false
        }
        guard sink.endWriting() else {
          waitForRoom(&direction, sink)
          return false
        }
        direction.isDone = true
        return false
      }
      guard direction.mayRead else { return false }
      guard let count = source.read(into: worker.scratch) else {
        direction.isEnded = true
        if source === client { clientEnded(afterAll: direction.count) }
        continue
      }
      guard count > 0 else {
        direction.mayRead = false
        return false
      }
      direction.count += count
      guard !direction.isDone else { continue }
      let bytes = UnsafeRawBufferPointer(rebasing: worker.scratch[..<count])
      guard let written = sink.write(bytes) else {
        isBroken(&direction, sink)
        continue
      }
      guard written < count else { continue }
      direction.pending = Array(bytes[written...])
      waitForRoom(&direction, sink)
      return false
    }
    return true
  }

  private func waitForRoom(_ direction: inout Direction, _ sink: any HalfClosableChannel) {
    direction.mayWrite = false
    worker.watch(sink.descriptor, for: [.reading, .writing])
  }

  /// The sink takes no more bytes; what still comes is dropped.
  private func isBroken(_ direction: inout Direction, _ sink: any HalfClosableChannel) {
    direction.isDone = true
    direction.pending = []
    // Nothing that the server sends can arrive.
    if sink === client { direction.isEnded = true }
  }

  private func clientEnded(afterAll count: Int) {
    guard let channel = client as? TLSChannel, count == 0 else { return }
    admission.core.clientLeft(channel, destination, since: start)
  }

  private func reset() {
    SocketChannel.resetWhenClosed(client.descriptor)
    finish()
  }

  private func finish() {
    guard !isOver else { return }
    worker.forget(client.descriptor)
    worker.forget(server.descriptor)
    worker.unschedule(self)
    end()
  }

  func end() {
    // Called once for each descriptor.
    guard !isOver else { return }
    isOver = true
    client.close()
    server.close()
  }
}
