/// A clock with two faces: `instant`, which is what generic code knows as a `Clock`'s `now`, and a `now` of its own.
///
/// ``DioramaClock`` is one: its `now` is a `Date`, since that is what apps ask for. Handed to code that takes any
/// `Clock`, it gives its monotonic instant.
///
/// ```swift
/// let took = try await controls.clock.measure { try await load() }   // monotonic time of the app
/// let today: Date = controls.clock.now                               // wall time of the app
/// ```
public protocol InstantClock: Clock {
  /// Monotonic time, now.
  var instant: Instant { get }
}

extension InstantClock {
  /// Monotonic time, now, for code that takes any clock.
  public var now: Instant { instant }
}
