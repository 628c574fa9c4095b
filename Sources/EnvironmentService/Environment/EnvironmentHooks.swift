package import ControlAPI
package import HTTPServer

/// What a daemon adds to an environment that it holds for other processes.
///
/// None of it is called under a lock of the environment's, and none of it may change the environment in turn.
package struct EnvironmentHooks: Sendable {
  /// The environment's id; nil for a new one.
  package var id: String?
  /// The environment's token; nil for a new one.
  package var token: String?
  /// Listens on a port of the daemon's: called for the main port first, then for each upstream in order.
  ///
  /// Nil for any free ports.
  package var listen: (@Sendable (_ handler: any RequestHandler) throws -> Listener)?
  /// Something has changed that a restart must know: the ``EnvironmentSnapshot`` is to be stored before this returns,
  /// since somebody is told of the change right after. Called by one thread at a time.
  ///
  /// It throws an error of kind `cannotWrite` where nothing can be stored: whoever wanted the change is told so.
  package var changed: EnvironmentSnapshot.Store?
  /// New journal entries, in order and without gaps, soon after they were made; by one thread at a time.
  ///
  /// The counters, positions and the like that go with them are in the snapshot; none of it has to be stored at once.
  package var noted: (@Sendable ([JournalPage.Entry]) -> Void)?
  /// How many questions for the state of all environments together may wait; nil: any number.
  package var stateWaits: WaitLimit?

  package init(
    id: String? = nil, token: String? = nil,
    listen: (@Sendable (_ handler: any RequestHandler) throws -> Listener)? = nil,
    changed: EnvironmentSnapshot.Store? = nil,
    noted: (@Sendable ([JournalPage.Entry]) -> Void)? = nil
  ) {
    self.id = id
    self.token = token
    self.listen = listen
    self.changed = changed
    self.noted = noted
  }
}
