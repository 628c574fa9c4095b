import HTTPMessages

/// What has been counted since the daemon began.
final class Tally: Sendable {
  private let state = Guarded(EnvironmentCounters())

  var counters: EnvironmentCounters { state.withLock { $0 } }

  func change(_ body: (inout EnvironmentCounters) -> Void) { state.withLock { body(&$0) } }
}
