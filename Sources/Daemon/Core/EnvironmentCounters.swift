/// What a manager has and has done since it began, for `/metrics`, `--status` and SIGUSR1.
package struct EnvironmentCounters: Codable, Sendable, Equatable {
  /// Environments that answer.
  package var ready = 0
  /// Environments that are being made.
  package var provisioning = 0
  /// Environments that are ending.
  package var ending = 0
  /// Environments provisioned since the daemon began.
  package var provisioned = 0
  /// Environments that came back after a restart.
  package var restored = 0
  /// Environments asked for that could not be made.
  package var refused = 0
  /// Environments that have ended, by why: `request`, `owner`, `time`, `stop`, `lost`.
  package var ended: [String: Int] = [:]
  /// Ports that are leased.
  package var leases = 0
  /// Ports leased since the daemon began.
  package var leased = 0
  /// Ports that came back by themselves: their time was over or their owner gone.
  package var reclaimed = 0
  /// Journal entries written to the store.
  package var journalEntries = 0
  /// Calls that wait for a journal, for sleepers or for apps.
  package var waiting = 0
  /// Questions for an environment's state that wait: about as many as apps follow.
  package var stateWaiting = 0
  /// Writes that the store refused.
  package var storeFailures = 0
  /// Seconds since the daemon began.
  package var uptimeSeconds = 0.0

  package init() {}
}
