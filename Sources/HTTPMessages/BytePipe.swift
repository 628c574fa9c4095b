import Basics

/// A bounded byte stream between two sides. Each is a task, which may wait, or a thread of a C library,
/// which must not.
///
/// A task calls ``read()`` and ``write(_:)``. A thread calls ``take(into:)`` and ``offer(_:)``, which return at once, and
/// gets a callback when it should try again. Either side can end the stream: the writer with ``finish()`` or ``fail(_:)``,
/// the reader with ``abandon()``. There may be one reader and one writer at a time.
package final class BytePipe: Sendable {
  /// The result of ``take(into:)``.
  package enum Taken: Sendable {
    /// The number of bytes taken, at least one.
    case bytes(Int)
    /// Nothing available yet; ``onReadable(_:)`` will be called.
    case empty
    /// The stream has ended.
    case end
    /// The writer failed.
    case failed(any Error)
  }

  /// The reader abandoned the stream.
  package struct ReaderGone: Error, CustomStringConvertible {
    package init() {}
    package var description: String { "the reader of the body has disconnected" }
  }

  private enum End {
    case open
    case finished
    case failed(any Error)
    case abandoned
  }

  private struct State {
    /// Those before `first` have been read and are empty: removing one at the front would move all others.
    var chunks: [[UInt8]] = []
    var first = 0
    /// The number of bytes already read from the first chunk.
    var consumed = 0
    var buffered = 0
    var end = End.open
    var hasLeftovers = false
    var waitingReader: UnsafeContinuation<Void, Never>?
    var waitingWriter: UnsafeContinuation<Void, Never>?
    var foundEmpty = false
    var foundFull = false
    var onReadable: (@Sendable () -> Void)?
    var onWritable: (@Sendable () -> Void)?
    var onAbandoned: (@Sendable () -> Void)?

    var hasChunks: Bool { first < chunks.count }

    mutating func dropFirst() {
      consumed = 0
      chunks[first] = []
      first += 1
      guard first == chunks.count || first >= 1024 else { return }
      chunks.removeFirst(first)
      first = 0
    }
  }

  /// The calls to make after the lock is released.
  private struct Wake {
    var continuation: UnsafeContinuation<Void, Never>?
    var reader: UnsafeContinuation<Void, Never>?
    var callback: (@Sendable () -> Void)?
    var other: (@Sendable () -> Void)?

    func run() {
      continuation?.resume()
      reader?.resume()
      callback?()
      other?()
    }
  }

  private let state = Guarded(State())
  private let capacity: Int
  private let keepsChunks: Bool

  /// - Parameters:
  ///   - capacity: the number of bytes held before the writer has to wait. The last chunk may exceed it.
  ///   - keepsChunks: whether each read returns bytes of a single write only.
  package init(capacity: Int = 65_536, keepsChunks: Bool = false) {
    self.capacity = capacity
    self.keepsChunks = keepsChunks
  }

  /// A finished stream of the given bytes.
  package convenience init(holding bytes: [UInt8]) {
    self.init(capacity: max(1, bytes.count))
    bytes.withUnsafeBytes { _ = offer($0) }
    finish()
  }

  // MARK: Tasks

  /// Waits for the next bytes.
  ///
  /// - Returns: at least one byte; nil at the end.
  /// - Throws: the error the writer failed with; `CancellationError` if the task is cancelled.
  package func read() async throws -> [UInt8]? {
    while true {
      enum Step {
        case chunk([UInt8]?)
        case failure(any Error)
        case wait
      }
      var wake = Wake()
      let step: Step = state.withLock { state in
        if state.hasChunks {
          let chunk = Self.popFirst(&state)
          wake = roomMade(&state)
          return .chunk(chunk)
        }
        switch state.end {
        case .open: return .wait
        case .finished, .abandoned: return .chunk(nil)
        case .failed(let error): return .failure(error)
        }
      }
      wake.run()
      switch step {
      case .chunk(let chunk): return chunk
      case .failure(let error): throw error
      case .wait:
        try Task.checkCancellation()
        await wait(for: \.waitingReader) { state in
          guard case .open = state.end else { return false }
          return !state.hasChunks
        }
        try Task.checkCancellation()
      }
    }
  }

  /// Writes bytes as soon as there is room.
  ///
  /// - Throws: ``ReaderGone``; the error the stream failed with; `CancellationError` if the task is cancelled.
  package func write(_ bytes: [UInt8]) async throws {
    guard !bytes.isEmpty else { return }
    while true {
      var wake = Wake()
      let written: Bool = try state.withLock { state in
        switch state.end {
        case .open: break
        case .failed(let error): throw error
        case .finished, .abandoned: throw ReaderGone()
        }
        guard state.buffered < capacity else { return false }
        state.chunks.append(bytes)
        state.buffered += bytes.count
        wake = bytesCame(&state)
        return true
      }
      wake.run()
      if written { return }
      try Task.checkCancellation()
      await wait(for: \.waitingWriter) { state in
        guard case .open = state.end else { return false }
        return state.buffered >= self.capacity
      }
      try Task.checkCancellation()
    }
  }

  // MARK: Threads

  /// Sets a callback for when reading makes sense again after ``take(into:)`` returned `.empty`.
  /// It is called on any thread, without a lock held.
  package func onReadable(_ callback: (@Sendable () -> Void)?) {
    state.withLock { $0.onReadable = callback }
  }

  /// Sets a callback for when there is room again, or the stream has ended, after ``offer(_:)`` refused bytes.
  /// It is called on any thread, without a lock held.
  package func onWritable(_ callback: (@Sendable () -> Void)?) {
    state.withLock { $0.onWritable = callback }
  }

  /// Sets a callback for when the reader abandons the stream before its end; called at once if it already has.
  package func onAbandoned(_ callback: (@Sendable () -> Void)?) {
    let isLate = state.withLock { state in
      if case .abandoned = state.end { return true }
      state.onAbandoned = callback
      return false
    }
    if isLate { callback?() }
  }

  /// Takes available bytes without waiting.
  package func take(into buffer: UnsafeMutableRawBufferPointer) -> Taken {
    var wake = Wake()
    let taken: Taken = state.withLock { state in
      guard state.hasChunks else {
        switch state.end {
        case .open:
          state.foundEmpty = true
          return .empty
        case .finished, .abandoned: return .end
        case .failed(let error): return .failed(error)
        }
      }
      var count = 0
      while count < buffer.count, state.hasChunks {
        let chunk = state.chunks[state.first]
        let part = chunk[state.consumed...].prefix(buffer.count - count)
        part.withUnsafeBytes { buffer[count...].copyBytes(from: $0) }
        count += part.count
        state.consumed += part.count
        state.buffered -= part.count
        if state.consumed == chunk.count { state.dropFirst() }
        if keepsChunks { break }
      }
      wake = roomMade(&state)
      return .bytes(count)
    }
    wake.run()
    return taken
  }

  /// Adds bytes without waiting.
  ///
  /// - Returns: false if there is no room; offer the same bytes again after the callback. True also if the stream has
  ///   ended, in which case the bytes are dropped.
  package func offer(_ bytes: UnsafeRawBufferPointer) -> Bool {
    var wake = Wake()
    let accepted: Bool = state.withLock { state in
      guard case .open = state.end, !bytes.isEmpty else { return true }
      guard state.buffered < capacity else {
        state.foundFull = true
        return false
      }
      state.chunks.append([UInt8](bytes))
      state.buffered += bytes.count
      wake = bytesCame(&state)
      return true
    }
    wake.run()
    return accepted
  }

  // MARK: The end

  /// Ends the stream. Buffered bytes can still be read.
  package func finish() { close(.finished) }

  /// Ends the stream with its last bytes, for which it makes room: the writer cannot wait.
  ///
  /// - Parameter bytes: the bytes, if any.
  package func finish(with bytes: [UInt8]) {
    state.withLock { state in
      guard case .open = state.end, !bytes.isEmpty else { return }
      state.chunks.append(bytes)
      state.buffered += bytes.count
    }
    // Wakes the reader.
    finish()
  }

  /// Ends the stream with an error, which the reader gets after the buffered bytes.
  package func fail(_ error: any Error) { close(.failed(error)) }

  /// Ends the stream from the reader's side: drops buffered bytes and notifies the writer. Later reads return the end.
  package func abandon() {
    let wake: Wake = state.withLock { state in
      guard case .open = state.end else { return Wake() }
      state.end = .abandoned
      state.hasLeftovers = state.buffered > 0
      state.chunks = []
      state.first = 0
      state.consumed = 0
      state.buffered = 0
      var wake = Wake(continuation: state.waitingWriter, callback: state.onAbandoned)
      wake.reader = state.waitingReader.take()
      state.waitingWriter = nil
      state.onAbandoned = nil
      if state.foundFull {
        state.foundFull = false
        wake.other = state.onWritable
      }
      return wake
    }
    wake.run()
  }

  /// Whether the reader has abandoned the stream.
  package var isAbandoned: Bool {
    state.withLock { if case .abandoned = $0.end { true } else { false } }
  }

  /// Whether the reader has abandoned the stream with bytes in it.
  package var hasLeftovers: Bool { state.withLock { $0.hasLeftovers } }

  /// Whether the writer has finished the stream.
  package var isFinished: Bool {
    state.withLock { if case .finished = $0.end { true } else { false } }
  }

  private func close(_ end: End) {
    let wakes: (Wake, Wake) = state.withLock { state in
      guard case .open = state.end else { return (Wake(), Wake()) }
      state.end = end
      state.onAbandoned = nil
      var writer = Wake(continuation: state.waitingWriter.take())
      if state.foundFull {
        state.foundFull = false
        writer.callback = state.onWritable
      }
      return (bytesCame(&state), writer)
    }
    wakes.0.run()
    wakes.1.run()
  }

  // MARK: Inside the lock

  private static func popFirst(_ state: inout State) -> [UInt8] {
    let chunk = state.chunks[state.first]
    let rest = state.consumed == 0 ? chunk : [UInt8](chunk[state.consumed...])
    state.dropFirst()
    state.buffered -= rest.count
    return rest
  }

  private func bytesCame(_ state: inout State) -> Wake {
    var wake = Wake(continuation: state.waitingReader.take())
    if state.foundEmpty {
      state.foundEmpty = false
      wake.callback = state.onReadable
    }
    return wake
  }

  private func roomMade(_ state: inout State) -> Wake {
    guard state.buffered < capacity else { return Wake() }
    var wake = Wake(continuation: state.waitingWriter.take())
    if state.foundFull {
      state.foundFull = false
      wake.callback = state.onWritable
    }
    return wake
  }

  /// Waits until woken or cancelled, provided that `mustWait` still holds under the lock.
  private func wait(
    for slot: WritableKeyPath<State, UnsafeContinuation<Void, Never>?>, if mustWait: (State) -> Bool
  ) async {
    nonisolated(unsafe) let slot = slot
    await withTaskCancellationHandler {
      await withUnsafeContinuation { continuation in
        let parked = state.withLock { state in
          // Checked under the lock, which cancelling takes too: one of the two sees the other.
          guard !Task.isCancelled, mustWait(state) else { return false }
          state[keyPath: slot] = continuation
          return true
        }
        if !parked { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0[keyPath: slot].take() }?.resume()
    }
  }
}
