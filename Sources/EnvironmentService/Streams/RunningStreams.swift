import Basics
import HTTPMessages

/// What in an environment may wait for longer than its end should: streams that are recorded, and waits of streams that
/// are replayed. The end ends them.
final class RunningStreams: Sendable {
  private struct State {
    var isOver = false
    var last = 0
    var endings: [Int: @Sendable () -> Void] = [:]
  }

  private let state = Guarded(State())

  /// Whether the environment has ended.
  var isOver: Bool { state.withLock { $0.isOver } }

  /// - Parameter end: called when the environment ends; at once if it has.
  /// - Returns: the number by which it is forgotten.
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

  /// The environment ends.
  func end() {
    let endings = state.withLock { state in
      state.isOver = true
      defer { state.endings = [:] }
      return state.endings
    }
    for ending in endings.values { ending() }
  }

  /// Waits, but not beyond the environment's end.
  ///
  /// - Throws: what `wait` throws; `CancellationError` at the end.
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
