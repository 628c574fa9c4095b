import Dispatch
import Foundation

/// A reading of the machine's two clocks.
struct Moment: Sendable {
  /// Monotonic time, from the machine's origin.
  var nanoseconds: Int64
  /// Wall time.
  var date: Date
}

/// A substitute for the machine's clocks, for tests.
protocol RealTimeSource: AnyObject, Sendable {
  /// Monotonic time.
  var nanoseconds: Int64 { get }
  /// Wall time.
  var date: Date { get }
  /// Makes a timer that calls the handler.
  func wakeUp(_ handler: @escaping @Sendable () -> Void) -> any WakeUp
}

/// The source of real time and of timers for a timeline.
struct RealTime: Sendable {
  /// Nil for the machine.
  let source: (any RealTimeSource)?

  /// Monotonic time.
  var nanoseconds: Int64 { source?.nanoseconds ?? Self.machineNanoseconds }

  /// Wall time.
  var date: Date { source?.date ?? Date() }

  /// The clock that the machine's timers use.
  @inline(__always)
  static var machineNanoseconds: Int64 { Int64(bitPattern: DispatchTime.now().uptimeNanoseconds) }

  /// Both clocks.
  var moment: Moment { Moment(nanoseconds: nanoseconds, date: date) }

  func wakeUp(_ handler: @escaping @Sendable () -> Void) -> any WakeUp {
    source?.wakeUp(handler) ?? MachineWakeUp(handler)
  }
}

/// A timeline's timer, set for the earliest deadline. It fires once.
protocol WakeUp: Sendable {
  /// Fires after a number of nanoseconds, and replaces an earlier setting.
  func set(after nanoseconds: Int64)
  /// Stops the timer permanently.
  func cancel()
}

private final class MachineWakeUp: WakeUp, @unchecked Sendable {
  // Thread-safe.
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
