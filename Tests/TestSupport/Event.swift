import HTTPMessages

/// Something that happens once, for any number of tasks to wait for.
package final class Event: Sendable {
  private struct State {
    var hasHappened = false
    var waiting: [BytePipe] = []
  }

  private let state = Guarded(State())

  package init() {}

  package func happen() {
    let waiting = state.withLock { state in
      state.hasHappened = true
      defer { state.waiting = [] }
      return state.waiting
    }
    waiting.forEach { $0.finish() }
  }

  /// Returns once it has happened; throws when the task is cancelled.
  package func wait() async throws {
    let pipe = BytePipe()
    let isOver = state.withLock { state in
      if !state.hasHappened { state.waiting.append(pipe) }
      return state.hasHappened
    }
    guard !isOver else { return }
    while try await pipe.read() != nil {}
  }
}

/// Never returns by itself: throws when the task is cancelled.
package func waitForCancellation() async throws { try await Event().wait() }
