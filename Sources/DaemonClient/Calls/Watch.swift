/// Waits for something that a daemon does, for so long, and no longer than the daemon can do it.
enum Watch {
  /// Why the wait was over before the work was.
  enum Verdict: Sendable, Equatable {
    case timedOut
    case suspended
  }

  /// How often the process is looked at.
  private static let interval = Duration.milliseconds(500)

  /// - Parameters:
  ///   - pid: the daemon's.
  ///   - patience: how long.
  ///   - work: what is waited for; it is cancelled when the wait is over.
  /// - Returns: what the work came to, or why nobody waits for it any more.
  /// - Throws: what the work throws.
  static func over<Value: Sendable>(
    _ pid: Int32, patience: Duration, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Result<Value, Missed> {
    try await withThrowingTaskGroup(of: Result<Value, Missed>.self) { group in
      group.addTask { .success(try await work()) }
      group.addTask { .failure(Missed(verdict: try await verdict(pid, patience))) }
      defer { group.cancelAll() }
      // There are two: one of them is first.
      return try await group.next() ?? .failure(Missed(verdict: .timedOut))
    }
  }

  struct Missed: Error {
    var verdict: Verdict
  }

  private static func verdict(_ pid: Int32, _ patience: Duration) async throws -> Verdict {
    let end = ContinuousClock.now + patience
    // A debugger stops a process for a moment; twice in a row is no moment.
    var looks = 0
    while true {
      let left = ContinuousClock.now.duration(to: end)
      guard left > .zero else { return ProcessState(of: pid) == .stopped ? .suspended : .timedOut }
      try await Task.sleep(for: min(left, interval))
      looks = ProcessState(of: pid) == .stopped ? looks + 1 : 0
      if looks == 2 { return .suspended }
    }
  }
}
