import Dispatch
import Foundation

/// The machine's two clocks, read together.
struct Moment: Sendable {
  /// Of monotonic time, from wherever it is that the machine counts.
  var nanoseconds: Int64
  /// Wall time.
  var date: Date
}

/// Real time that is not the machine's: a test's script.
protocol RealTimeSource: AnyObject, Sendable {
  /// Monotonic time.
  var nanoseconds: Int64 { get }
  /// Wall time.
  var date: Date { get }
  /// Makes what calls the handler once the time set has come.
  func wakeUp(_ handler: @escaping @Sendable () -> Void) -> any WakeUp
}

/// Where a timeline finds real time, and what wakes it.
struct RealTime: Sendable {
  /// Nil for the machine.
  let source: (any RealTimeSource)?

  /// Monotonic time.
  var nanoseconds: Int64 { source?.nanoseconds ?? Self.machineNanoseconds }

  /// Wall time.
  var date: Date { source?.date ?? Date() }

  /// Of the clock that the machine's timers count by.
  @inline(__always)
  static var machineNanoseconds: Int64 { Int64(bitPattern: DispatchTime.now().uptimeNanoseconds) }

  /// Both clocks.
  var moment: Moment { Moment(nanoseconds: nanoseconds, date: date) }

  func wakeUp(_ handler: @escaping @Sendable () -> Void) -> any WakeUp {
    source?.wakeUp(handler) ?? MachineWakeUp(handler)
  }
}

/// The one thing by which real time ends the sleeps of a timeline: set for the earliest, it comes once.
protocol WakeUp: Sendable {
  /// Comes after so many nanoseconds; an earlier setting is forgotten.
  func set(after nanoseconds: Int64)
  /// Comes no more.
  func cancel()
}

private final class MachineWakeUp: WakeUp, @unchecked Sendable {
  // Any thread may set and cancel one.
  private let source: any DispatchSourceTimer

  init(_ handler: @escaping @Sendable () -> Void) {
    source = DispatchSource.makeTimerSource(queue: .global(qos: .userInitiated))
    source.setEventHandler(handler: DispatchWorkItem(block: handler))
    source.schedule(deadline: .distantFuture)
    source.activate()
  }

  func set(after nanoseconds: Int64) {
    source.schedule(deadline: .now() + .nanoseconds(Int(nanoseconds)), leeway: .nanoseconds(0))
  }

  func cancel() { source.cancel() }
}
