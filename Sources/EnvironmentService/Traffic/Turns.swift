import Basics
import Cassettes

extension Environment {
  /// The interaction to play for a request with its dates moved back, else for the unchanged request.
  func next(for keys: RequestKeys, or keysAsSent: RequestKeys?) -> Int? {
    next(for: keys) ?? keysAsSent.flatMap { next(for: $0) }
  }

  /// How long an early request is held by default, in seconds.
  static let turnSeconds = 5.0

  /// Holds a request that arrives before its turn, in strict or state order, until the interactions before it have been
  /// played. Requests that an app sends concurrently may arrive in any order.
  ///
  /// - Parameters:
  ///   - keys: the request's keys, with dates in the recording's time if they are moved.
  ///   - keysAsSent: the keys of the unchanged request, if they differ.
  /// - Returns: the interaction to play; nil if its turn does not come in time, or it has none.
  func turn(of keys: RequestKeys, or keysAsSent: RequestKeys? = nil) async -> Int? {
    let seconds = specification.turnSeconds ?? Self.turnSeconds
    let all = [keys, keysAsSent].compactMap(\.self)
    func isEarly() -> Bool {
      state.withLock { state in
        guard !state.isOver, let playback = state.playback else { return false }
        return all.contains { playback.isEarly($0.key) }
      }
    }
    guard seconds > 0, isEarly() else { return nil }
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      // Read before looking, so that no turn is missed.
      let count = turns.withLock { $0 }
      if let index = next(for: keys, or: keysAsSent) { return index }
      guard isEarly(), (try? await turns.wait(until: deadline) { $0 != count }) == true else { return nil }
    }
  }
}
