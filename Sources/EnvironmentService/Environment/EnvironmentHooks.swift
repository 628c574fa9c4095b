package import ControlAPI
package import HTTPServer

/// What a daemon adds to an environment that it runs for other processes.
///
/// The closures are called without any of the environment's locks held, and must not change the environment.
package struct EnvironmentHooks: Sendable {
  /// The environment's id; nil for a new one.
  package var id: String?
  /// The environment's token; nil for a new one.
  package var token: String?
  /// Reserves one of the daemon's ports, or the given one; called for the main port and for each upstream.
  ///
  /// Nil for any free ports.
  package var reserve: (@Sendable (UInt16?) throws -> ReservedListener)?
  /// The name or IPv4 address by which programs reach these ports; it is part of every URL that they get.
  package var host = "127.0.0.1"
  /// Stores an ``EnvironmentSnapshot`` after a change that must survive a restart. It must be stored before this
  /// returns, because clients learn of the change right after. Called by one thread at a time.
  ///
  /// Throws an error of kind `cannotWrite` if it cannot be stored; the client that requested the change receives it.
  package var changed: EnvironmentSnapshot.Store?
  /// Receives new journal entries, in order and without gaps, soon after they were made. Called by one thread at a
  /// time.
  ///
  /// The counters and positions that go with them are in the snapshot. Nothing has to be stored at once.
  package var noted: (@Sendable ([JournalPage.Entry]) -> Void)?
  /// Ends the program that serves the environment, for `POST /__admin/shutdown`; nil to refuse that.
  package var shutdown: (@Sendable () -> Void)?
  /// Limits how many requests for the state may wait in all environments together; nil for no limit.
  package var stateWaits: WaitLimit?

  package init(
    id: String? = nil, token: String? = nil,
    reserve: (@Sendable (UInt16?) throws -> ReservedListener)? = nil,
    changed: EnvironmentSnapshot.Store? = nil,
    noted: (@Sendable ([JournalPage.Entry]) -> Void)? = nil
  ) {
    self.id = id
    self.token = token
    self.reserve = reserve
    self.changed = changed
    self.noted = noted
  }
}
