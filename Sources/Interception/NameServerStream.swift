import EventLoops
import Glibc
import HTTPServer

/// Answers DNS messages on a TCP connection, where each has a length of two bytes in front (RFC 1035, 4.2.2).
final class NameServerStream: DescriptorUser {
  /// Nanoseconds without a message after which the connection is closed (RFC 7766, 6.2.3).
  private static let idleTime: UInt64 = 30_000_000_000

  var deadline: UInt64?
  var isQueued = false

  private let channel: SocketChannel
  private let admission: Admission
  private unowned let worker: InterceptionWorker
  private let server: NameServer
  private var received: [UInt8] = []
  private var unsent: [UInt8] = []
  private var isOver = false

  init(_ descriptor: Int32, _ admission: Admission, on worker: InterceptionWorker) {
    channel = SocketChannel(descriptor)
    self.admission = admission
    self.worker = worker
    server = NameServer(table: admission.core.names)
  }

  func isReady(_ descriptor: Int32, for readiness: Readiness) {}

  func proceed(now: UInt64) {
    guard !isOver else { return }
    if let deadline, deadline <= now { return finish() }
    deadline = now + Self.idleTime
    worker.schedule(self)
    repeat {
      guard send() else { return }
      answer()
    } while !unsent.isEmpty
    guard let count = channel.read(into: worker.scratch) else { return finish() }
    guard count > 0 else { return wait(for: .reading) }
    received += worker.scratch[..<count]
    worker.again(self)
  }

  /// Answers what has arrived completely.
  private func answer() {
    var start = 0
    while received.count >= start + 2 {
      let length = Int(received[start]) << 8 | Int(received[start + 1])
      guard received.count >= start + 2 + length else { break }
      let reply = received.withUnsafeBytes {
        server.answer(UnsafeRawBufferPointer(rebasing: $0[start + 2..<start + 2 + length]))
      }
      switch reply {
      case .none: break
      case .message(let message): add(message)
      case .full(let message, let name):
        add(message)
        if server.table.reportsFull() { admission.core.delegate.noticed(.nameTableFull(name: name)) }
      }
      start += 2 + length
    }
    received.removeFirst(start)
  }

  private func add(_ message: [UInt8]) {
    unsent += [UInt8(message.count >> 8), UInt8(message.count & 255)] + message
  }

  /// - Returns: false if something is left, or the connection is broken.
  private func send() -> Bool {
    while !unsent.isEmpty {
      guard let count = unsent.withUnsafeBytes(channel.write) else {
        finish()
        return false
      }
      unsent.removeFirst(count)
      guard count == 0 else { continue }
      wait(for: [.reading, .writing])
      return false
    }
    return true
  }

  private func wait(for readiness: Readiness) {
    worker.watch(channel.descriptor, for: readiness)
  }

  private func finish() {
    worker.forget(channel.descriptor)
    worker.unschedule(self)
    end()
  }

  func end() {
    guard !isOver else { return }
    isOver = true
    channel.close()
  }
}
