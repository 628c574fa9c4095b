@testable import Diorama
import Foundation

/// Real time that a test controls, so that no test waits.
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
  // Not 0, which could also result from a defect.
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

  /// The number of wake-ups that are set.
  var wakeUps: Int { lock.withLock { alarms.count { $0.due != nil } } }

  /// Advances real time. Wake-ups fire when they are due, each time they are set.
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

/// 2018-10-08T09:00:00Z.
let autumnMorning = Date(timeIntervalSince1970: 1_538_989_200)

extension Pace {
  /// One pace of each kind that can be moved.
  static let movable: [Pace] = [.frozen, .ticking, .scaled(10), .scaled(0.5), .manual]
}

extension Timeline {
  /// A timeline that starts at `autumnMorning` and uses scripted real time.
  static func scripted(_ pace: Pace, _ time: ScriptedTime = ScriptedTime()) -> Timeline {
    Timeline(pace: pace, start: autumnMorning, timeZone: .gmt, real: time)
  }

  /// Registers a sleeper that adds its name when it ends: `a`, or `a: error`.
  @discardableResult
  func note(_ name: String, _ alarm: Sleeper.Alarm, in names: Collected<String>) -> Sleeper {
    let sleeper = Sleeper(alarm)
    register(sleeper) { outcome in
      switch outcome {
      case .success: names.add(name)
      case .failure(let error): names.add("\(name): \(error)")
      }
    }
    return sleeper
  }
}
