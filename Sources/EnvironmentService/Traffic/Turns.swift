import Basics
import Cassettes
import HTTPMessages

/// Wakes requests that wait for their turn in the recorded order whenever an interaction has been played.
final class Turns: Sendable {
  private struct State {
    var count = 0
    var next = 0
    var waiting: [Int: CheckedContinuation<Void, Never>] = [:]
  }

  private let state = Guarded(State())

  /// The number of calls of ``go()``.
  var count: Int { state.withLock { $0.count } }

  /// The number of waiting requests.
  var waiting: Int { state.withLock { $0.waiting.count } }

  /// Wakes all waiting requests.
  func go() {
    let waiting = state.withLock { state in
      state.count += 1
      defer { state.waiting = [:] }
      return state.waiting.values
    }
    for continuation in waiting { continuation.resume() }
  }

  /// Waits until ``go()`` has been called since ``count`` had this value, or the task is cancelled.
  func wait(after count: Int) async {
    let number = state.withLock { state in
      state.next += 1
      return state.next
    }
    await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let isOver = state.withLock { state in
          guard state.count == count, !Task.isCancelled else { return true }
          state.waiting[number] = continuation
          return false
        }
        if isOver { continuation.resume() }
      }
    } onCancel: {
      state.withLock { $0.waiting.removeValue(forKey: number) }?.resume()
    }
  }
}

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
    @Sendable func isEarly() -> Bool {
      state.withLock { state in
        guard !state.isOver, let playback = state.playback else { return false }
        return all.contains { playback.isEarly($0.key) }
      }
    }
    guard seconds > 0, isEarly() else { return nil }
    return await withTaskGroup(of: Int?.self) { group in
      group.addTask { [self] in
        while !Task.isCancelled {
          let count = turns.count
          if let index = next(for: keys, or: keysAsSent) { return index }
          guard isEarly() else { return nil }
          await turns.wait(after: count)
        }
        return nil
      }
      group.addTask {
        try? await Delay.sleep(until: .now + .seconds(seconds))
        return nil
      }
      // Either task may end first. An interaction that was played just as the other one ended still counts.
      let first = await group.next() ?? nil
      group.cancelAll()
      let second = await group.next() ?? nil
      return first ?? second
    }
  }
}
