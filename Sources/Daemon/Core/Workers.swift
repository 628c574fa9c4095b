import Basics
import Dispatch
import HTTPMessages

/// A few threads for blocking work: opening and sealing cassettes, and the store.
///
/// Swift's own pool has one thread for each core, so blocking one there delays all tasks.
///
/// ```swift
/// await withTaskExecutorPreference(workers) { … }
/// ```
final class Workers: TaskExecutor {
  private struct State {
    var running = 0
    var waiting: [UnownedJob] = []
    /// How many of `waiting` have been taken.
    var taken = 0

    mutating func next() -> UnownedJob? {
      guard taken < waiting.count else {
        waiting.removeAll(keepingCapacity: true)
        taken = 0
        running -= 1
        return nil
      }
      taken += 1
      return waiting[taken - 1]
    }
  }

  private let limit: Int
  private let queue: DispatchQueue
  private let state = Guarded(State())

  init(label: String, limit: Int = 4) {
    self.limit = limit
    queue = DispatchQueue(label: label, attributes: .concurrent)
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    let isAnotherThreadNeeded = state.withLock { state in
      state.waiting.append(job)
      guard state.running < limit else { return false }
      state.running += 1
      return true
    }
    if isAnotherThreadNeeded { queue.async { self.run() } }
  }

  private func run() {
    while let job = state.withLock({ $0.next() }) { job.runSynchronously(on: asUnownedTaskExecutor()) }
  }
}
