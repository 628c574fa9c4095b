import Foundation

/// Something that ends once, for one receiver, which may come before or after the end.
///
/// Nobody is called from here: each step returns what is to be done after the lock.
struct Completion {
  typealias Outcome = Result<Void, any Error>
  typealias Receiver = @Sendable (Outcome) -> Void

  private(set) var outcome: Outcome?
  private var receiver: Receiver?

  /// The receiver is there.
  mutating func receive(_ receiver: @escaping Receiver) -> (@Sendable () -> Void)? {
    guard let outcome else {
      self.receiver = receiver
      return nil
    }
    return { receiver(outcome) }
  }

  /// The end is there; a second one is none.
  mutating func end(_ outcome: Outcome) -> (@Sendable () -> Void)? {
    guard self.outcome == nil else { return nil }
    self.outcome = outcome
    guard let receiver = receiver.take() else { return nil }
    return { receiver(outcome) }
  }
}

/// One sleep, timer tick or deadline that waits for the time of a timeline; all of it is guarded by that one's lock.
final class Sleeper: @unchecked Sendable {
  /// What it waits for.
  enum Alarm: Sendable {
    /// So much monotonic time after its registration.
    case after(Duration)
    /// Monotonic time since counting began.
    case uptime(Duration)
    /// Wall time.
    case wall(Date)
  }

  /// What a deadline is counted in.
  enum Scale: Sendable {
    case uptime, wall
  }

  let alarm: Alarm
  var ending = Completion()
  /// In its scale: since counting began, or since the reference date. Set by the registration.
  var deadline = Duration.zero
  /// The how-manieth; nil before.
  var registration: UInt64?
  /// Its place in the heap; nil where it is in none.
  var position: Int?

  init(_ alarm: Alarm) {
    self.alarm = alarm
  }

  var scale: Scale {
    if case .wall = alarm { .wall } else { .uptime }
  }

  /// Whether it is woken before another of its scale.
  func isBefore(_ other: Sleeper) -> Bool {
    (deadline, registration ?? 0) < (other.deadline, other.registration ?? 0)
  }
}
