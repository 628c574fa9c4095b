import Foundation

@testable import Diorama

/// Real time that passes when the test says so: no test waits for it.
final class ScriptedTime: RealTimeSource, @unchecked Sendable {
  private final class Alarm: WakeUp, @unchecked Sendable {
    let time: ScriptedTime
    let handler: @Sendable () -> Void
    var due: Int64?

    init(_ time: ScriptedTime, _ handler: @escaping @Sendable () -> Void) {
      self.time = time
      self.handler = handler
    }

    func set(after nanoseconds: Int64) { time.lock.withLock { due = time.nanoseconds + nanoseconds } }
    func cancel() { time.lock.withLock { due = nil } }
  }

  private let lock = NSRecursiveLock()
  // Not 0, which a mistake would give as well.
  private var passed: Int64 = 7_000_000_000
  private var shown = Date(timeIntervalSince1970: 2_000_000_000)
  private var alarms: [Alarm] = []

  var nanoseconds: Int64 { lock.withLock { passed } }
  var date: Date { lock.withLock { shown } }

  func wakeUp(_ handler: @escaping @Sendable () -> Void) -> any WakeUp {
    let alarm = Alarm(self, handler)
    lock.withLock { alarms.append(alarm) }
    return alarm
  }

  /// How many wake-ups are set.
  var wakeUps: Int { lock.withLock { alarms.count { $0.due != nil } } }

  /// Lets real time pass; wake-ups come when they are due, as often as they are set again.
  func pass(_ duration: Duration) {
    let end = lock.withLock {
      nanoseconds + Int64(duration.components.seconds) * 1_000_000_000
        + duration.components.attoseconds / 1_000_000_000
    }
    while let handler = next(before: end) { handler() }
  }

  private func next(before end: Int64) -> (@Sendable () -> Void)? {
    lock.withLock {
      let alarm = alarms.filter { $0.due != nil }.min { $0.due ?? 0 < $1.due ?? 0 }
      let due = alarm?.due ?? .max
      let time = max(passed, min(due, end))
      shown += Double(time - passed) / 1e9
      passed = time
      guard let alarm, due <= end else { return nil }
      alarm.due = nil
      return alarm.handler
    }
  }
}
