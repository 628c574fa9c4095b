import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A user of an ``EventLoop``. All methods are called on the loop's thread.
package protocol EventSource: AnyObject {
  /// A watched descriptor is ready.
  ///
  /// Must return quickly: ``turn(now:)`` follows once all ready descriptors have been reported.
  func isReady(_ descriptor: Int32, for readiness: Readiness)

  /// Does the source's work: after a descriptor became ready, after ``EventPlace/wake()``, and at the requested time.
  ///
  /// - Parameter now: the time, as ``monotonicNanoseconds()`` returns it.
  /// - Returns: when the next turn is due at the latest; nil if it can wait for an event.
  func turn(now: UInt64) -> UInt64?

  /// The loop has ended; no turns follow.
  func loopEnds()
}

/// The events of a descriptor.
package struct Readiness: OptionSet, Sendable {
  package let rawValue: UInt8

  package init(rawValue: UInt8) { self.rawValue = rawValue }

  /// Data or the end of the stream is available.
  package static let reading = Readiness(rawValue: 1)
  /// Data can be written.
  package static let writing = Readiness(rawValue: 2)
  /// The descriptor has an error.
  package static let failure = Readiness(rawValue: 4)
  /// Only for ``EventLoop/watch(_:for:at:)``: report each change once, such as new data, instead of the state (EPOLLET in
  /// epoll(7)). The source must then use a descriptor until it would block.
  package static let changes = Readiness(rawValue: 8)

  // Not by a set of two events: other modules would build it from an array, for each event.
  /// Whether reading returns data, the end of the stream or an error.
  package var mayRead: Bool { contains(.reading) || contains(.failure) }
  /// Whether writing returns something other than EAGAIN.
  package var mayWrite: Bool { contains(.writing) || contains(.failure) }
}

/// A source's registration with a loop.
package final class EventPlace: Sendable {
  /// The loop, which this keeps alive.
  package let loop: EventLoop
  let isDue = Atomic(false)

  init(_ loop: EventLoop) { self.loop = loop }

  /// Requests a turn for the source; callable on any thread.
  package func wake() {
    guard !isDue.exchange(true, ordering: .sequentiallyConsistent), EventLoop.current !== loop else { return }
    loop.ring()
  }
}

/// The time on the monotonic clock, in nanoseconds.
package func monotonicNanoseconds() -> UInt64 {
  var now = timespec()
  clock_gettime(CLOCK_MONOTONIC, &now)
  return UInt64(now.tv_sec) * 1_000_000_000 + UInt64(now.tv_nsec)
}
