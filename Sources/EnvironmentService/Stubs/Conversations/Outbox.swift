import Basics
import HTTPMessages

/// The queue of data to send to one client of an event stream or a WebSocket.
///
/// A slow client delays neither the test nor other clients: once ``limit`` bytes of the test's messages are queued,
/// ``push(_:)`` refuses more, and the client is dropped.
final class Outbox: Sendable {
  /// The maximum number of queued bytes of a test's messages, in addition to the connection's buffers.
  static let limit = 1 << 20
  /// The number of queued bytes at which a script pauses.
  static let scriptLimit = 64 << 10
  /// How long a client that does not read stays connected after its environment has ended.
  private static let grace = Duration.seconds(60)

  private struct Chunk {
    let bytes: [UInt8]
    let isPushed: Bool
  }

  private struct State {
    var chunks: [Chunk] = []
    /// The bytes of chunks that the pipe has not taken yet.
    var pushed = 0
    var scripted = 0
    var isFinished = false
    var isOver = false
    var end: Delay?
  }

  private let state = Monitor(State())
  private let pipe: BytePipe

  /// - Parameter pipe: the pipe to the client. The outbox is its only writer.
  init(_ pipe: BytePipe) { self.pipe = pipe }

  /// Adds a message from a test.
  ///
  /// - Returns: false if too much is queued. Drop the client then.
  func push(_ bytes: [UInt8]) -> Bool {
    state.withLock { state in
      guard !state.isFinished, !state.isOver else { return true }
      guard state.pushed < Self.limit else { return false }
      state.pushed += bytes.count
      state.chunks.append(Chunk(bytes: bytes, isPushed: true))
      return true
    }
  }

  /// Adds a message from a script. Wait for ``room()`` first.
  func write(_ bytes: [UInt8]) {
    state.withLock { state in
      guard !state.isFinished, !state.isOver else { return }
      state.scripted += bytes.count
      state.chunks.append(Chunk(bytes: bytes, isPushed: false))
    }
  }

  /// Waits until there is room for another message of a script.
  ///
  /// - Throws: `CancellationError` if the task is cancelled, or nothing more can be sent.
  func room() async throws {
    try await state.wait { $0.isFinished || $0.isOver || $0.scripted < Self.scriptLimit }
    guard state.withLock({ !$0.isFinished && !$0.isOver }) else { throw CancellationError() }
  }

  /// Whether more can be sent.
  var isOpen: Bool { state.withLock { !$0.isFinished && !$0.isOver } }

  /// Ends the stream after the queued messages and a last one.
  func finish(_ last: [UInt8] = []) {
    state.withLock { state in
      guard !state.isFinished, !state.isOver else { return }
      if !last.isEmpty { state.chunks.append(Chunk(bytes: last, isPushed: false)) }
      state.isFinished = true
    }
  }

  /// Ends the stream when the environment ends: like ``finish(_:)``, but drops a client that does not read in time.
  func end(_ last: [UInt8]) {
    finish(last)
    let delay = Delay(until: .now + Self.grace) { [weak self] in self?.drop() }
    state.withLock { state in
      if !state.isOver { state.end = delay }
    }
  }

  /// Drops the connection, and discards the queued messages.
  func drop() {
    state.withLock { state in
      state.isOver = true
      state.chunks = []
      state.end = nil
    }
    pipe.fail(BodyError.streamCut)
  }

  /// Sends the queued messages until the stream ends. Call it once.
  func run() async {
    while true {
      await state.waitIgnoringCancellation { !$0.chunks.isEmpty || $0.isFinished || $0.isOver }
      let chunks = state.withLock { state in
        defer { state.chunks = [] }
        return state.chunks
      }
      for chunk in chunks {
        do { try await pipe.write(chunk.bytes) } catch { return drop() }
        state.withLock { state in
          if chunk.isPushed { state.pushed -= chunk.bytes.count } else { state.scripted -= chunk.bytes.count }
        }
      }
      let isDone = state.withLock { state in
        guard state.chunks.isEmpty, state.isFinished || state.isOver else { return false }
        state.isOver = true
        state.end = nil
        return true
      }
      if isDone { return pipe.finish() }
    }
  }
}
