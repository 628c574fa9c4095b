import HTTPMessages

/// What has been counted since the daemon began.
final class Tally: Sendable {
  private let state = Guarded(HostCounters())

  var counters: HostCounters { state.withLock { $0 } }

  func change(_ body: (inout HostCounters) -> Void) { state.withLock { body(&$0) } }
}
