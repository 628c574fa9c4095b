import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The state of a process.
package enum ProcessState: Sendable, Equatable {
  case running
  /// Stopped by a signal until it is continued.
  case stopped
  /// Ended, or a zombie.
  case gone

  /// Checks a process.
  ///
  /// - Parameter pid: the process ID.
  package init(of pid: Int32) {
    guard pid > 0 else {
      self = .gone
      return
    }
    #if canImport(Darwin)
      self = kill(pid, 0) == 0 || errno == EPERM ? .running : .gone
    #else
      guard let data = FileManager.default.contents(atPath: "/proc/\(pid)/stat") else {
        self = .gone
        return
      }
      self.init(statLine: String(decoding: data, as: UTF8.self))
    #endif
  }

  /// Parses `/proc/PID/stat` (proc(5)): the state follows the name, which may contain any characters.
  init(statLine: String) {
    let state = statLine.lastIndex(of: ")").map { statLine[$0...].dropFirst(2) }?.first
    self =
      switch state {
      case "T", "t": .stopped
      case "Z", "X", "x", nil: .gone
      default: .running
      }
  }
}

/// Waits for a daemon's response, unless the daemon is suspended.
enum Watch {
  /// Why the wait ended early.
  enum Verdict: Error, Equatable {
    case timedOut
    case suspended
  }

  /// How often to check the process.
  private static let interval = Duration.milliseconds(500)

  /// - Parameters:
  ///   - pid: the daemon's process ID.
  ///   - patience: the maximum time to wait.
  ///   - work: the work to wait for; cancelled when the wait ends.
  /// - Returns: the result of the work, or why the wait ended early.
  /// - Throws: the error that `work` throws.
  static func over<Value: Sendable>(
    _ pid: Int32, patience: Duration, _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Result<Value, Verdict> {
    try await withThrowingTaskGroup(of: Result<Value, Verdict>.self) { group in
      group.addTask { .success(try await work()) }
      group.addTask { .failure(try await verdict(pid, patience)) }
      defer { group.cancelAll() }
      // There are two tasks, so `next` is not nil.
      return try await group.next() ?? .failure(.timedOut)
    }
  }

  private static func verdict(_ pid: Int32, _ patience: Duration) async throws -> Verdict {
    let end = ContinuousClock.now + patience
    // A debugger stops a process briefly; two checks in a row mean that it is suspended.
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
