import Basics
import HTTPMessages

/// Streams that must end with their environment: those being recorded, and the waits of those being replayed.
final class RunningStreams: Sendable {
  private struct State {
    var isOver = false
    var last = 0
    var endings: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Guarded(State())

  /// Whether the environment has ended.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// - Parameter end: called when the environment ends, or at once if it has.
  /// - Returns: the number for ``forget(_:)``.
  func begin(_ end: @escaping @Sendable () -> Void) -> Int {
    let number = state.withLock { state -> Int? in
      guard !state.isOver else { return nil }
      state.last += 1
      state.endings[state.last] = end
      return state.last
    }
    if number == nil { end() }
    return number ?? 0
  }

  func forget(_ number: Int) {
    state.withLock { $0.endings[number] = nil }
  }

  /// Ends all streams.
  func end() {
    let endings = state.withLock { state in
      state.isOver = true
      defer { state.endings = [:] }
      return state.endings
    }
    for ending in endings.values { ending() }
  }

  /// Waits, at most until the environment ends.
  ///
  /// - Throws: what `wait` throws; `CancellationError` when the environment ends.
  func wait(_ wait: @escaping @Sendable () async throws -> Void) async throws {
    let task = Task { try await wait() }
    let number = begin { task.cancel() }
    defer { forget(number) }
    try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
  }
}
