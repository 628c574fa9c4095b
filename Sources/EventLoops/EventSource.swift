import Synchronization

/// What an ``EventLoop`` runs: all of it is called on the loop's thread.
package protocol EventSource: AnyObject {
  /// A descriptor that it watches is ready.
  ///
  /// Not for long work: a turn follows, once all that is ready has been told.
  func isReady(_ descriptor: Int32, for readiness: Readiness)

  /// Its turn: after descriptors of its own were ready, after a wake-up, and when its time has come.
  ///
  /// - Parameter now: of ``monotonicNanoseconds()``.
  /// - Returns: when the next turn is due at the latest; nil: once something happens.
  func turn(now: UInt64) -> UInt64?

  /// The loop ends, and there will be no more turns.
  func loopEnds()
}

/// What a descriptor is ready for.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// There are bytes, or the end.
  package static let reading = Readiness(rawValue: 1)
  /// There is room.
  package static let writing = Readiness(rawValue: 2)
  /// It has failed.
  package static let failure = Readiness(rawValue: 4)
}

/// A source's place in its loop.
package final class EventPlace: Sendable {
  /// The loop, for as long as this place is held.
  package let loop: EventLoop
  let isDue = Atomic(false)

  init(_ loop: EventLoop) { self.loop = loop }

  /// Gives the source a turn soon; from any thread.
  package func wake() {
    guard !isDue.exchange(true, ordering: .sequentiallyConsistent), EventLoop.current !== loop else { return }
    loop.ring()
  }
}
