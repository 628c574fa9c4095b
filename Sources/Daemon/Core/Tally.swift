import HTTPMessages

/// What has been counted since the daemon began.
final class Tally: Sendable {
  private let state = Guarded(HostCounters())

  var counters: HostCounters { state.withLock { $0 } }

  func change(_ body: (inout HostCounters) -> Void) { state.withLock { body(&$0) } }

  /// Somebody is about to wait.
  ///
  /// - Returns: false where too many do already.
  func beginWaiting(upTo limit: Int) -> Bool {
    state.withLock { counters in
      guard counters.waiting < limit else { return false }
      counters.waiting += 1
      return true
    }
  }
}
