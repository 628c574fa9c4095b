import HTTPMessages

/// The streams of events that are open, so that they end with their readers, and with the daemon.
final class EventStreams: Sendable {
  private struct State {
    var tasks: [Int: Task<Void, Never>] = [:]
    /// Those that ended before their task was known.
    var ended: Set<Int> = []
    var number = 0
    var isClosed = false
  }

  private let state = Guarded(State())

  /// How many are open.
  var count: Int { state.withLock { $0.tasks.count } }

  /// Runs what feeds a pipe until it is through, its reader leaves, or all streams end.
  ///
  /// - Returns: false where all streams have ended.
  func run(_ feed: @escaping @Sendable () async -> Void, for pipe: BytePipe) -> Bool {
    let number = state.withLock { state -> Int? in
      guard !state.isClosed else { return nil }
      state.number += 1
      return state.number
    }
    guard let number else { return false }
    let task = Task {
      await feed()
      self.ended(number)
    }
    let isLate = state.withLock { state in
      if state.ended.remove(number) == nil { state.tasks[number] = task }
      return state.isClosed
    }
    if isLate { task.cancel() }
    pipe.onAbandoned { task.cancel() }
    return true
  }

  /// Ends them all, and keeps new ones from beginning.
  func close() {
    let tasks = state.withLock { state in
      state.isClosed = true
      return Array(state.tasks.values)
    }
    for task in tasks { task.cancel() }
  }

  private func ended(_ number: Int) {
    state.withLock { state in
      if state.tasks.removeValue(forKey: number) == nil { state.ended.insert(number) }
    }
  }
}
