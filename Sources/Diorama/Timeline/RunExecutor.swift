import Dispatch

/// Runs the tasks of one ``DioramaClock/run(_:)`` one after the other, and moves the timeline when none can go on.
///
/// All its steps are on one serial queue. A task that waits for the clock has no job here; so when the last job is
/// over, everything that was started waits, and the next deadline is what has to come.
final class RunExecutor: TaskExecutor, @unchecked Sendable {
  private struct State {
    /// Enqueued and not over.
    var jobs = 0
    var isOver = false
    var wait: SleeperWait?
  }

  private let queue = DispatchQueue(label: "diorama.run")
  private let state = Locked(State())
  private let timeline: Timeline

  init(_ timeline: Timeline) {
    self.timeline = timeline
  }

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    state.withLock { $0.jobs += 1 }
    queue.async { [self] in
      job.runSynchronously(on: asUnownedTaskExecutor())
      state.withLock { $0.jobs -= 1 }
      moveIfIdle()
    }
  }

  /// The work is over: the time is left where it is.
  func end() {
    state.withLock { state in
      state.isOver = true
      return state.wait.take()
    }?.cancel()
  }

  private var isIdle: Bool { state.withLock { $0.jobs == 0 && !$0.isOver } }

  private func moveIfIdle() {
    guard isIdle else { return }
    let next: @Sendable () -> Void = { [weak self] in
      guard let self else { return }
      queue.async { self.moveIfIdle() }
    }
    // Looks again once the woken have been resumed: were they others' tasks, nothing is enqueued here.
    guard case .nothing(let registrations) = try? timeline.step(then: next) else { return }
    let wait = timeline.whenRegistered(after: registrations, next)
    let old = state.withLock { state in
      if state.isOver { return Optional(wait) }
      defer { state.wait = wait }
      return state.wait
    }
    old?.cancel()
  }
}
