package import Foundation

/// Where the daemon keeps what must survive its own death: environments, leases, the journal.
///
/// Documents are the callers' JSON; a store looks into none. Each call is one change: all of it or none. What a call has
/// stored when it returns survives `kill -9` of this process (not a power cut), and calls may come from any thread that
/// may wait: a save takes some ten microseconds, and those who come at the same time share a transaction. Nothing here
/// is asynchronous, since the manager has threads that may wait.
package protocol DaemonStore: Sendable {
  /// Everything but the journal.
  func load() throws(StoreError) -> StoredState

  /// Stores an environment, in place of what was stored under this id.
  func save(environment id: String, document: Data) throws(StoreError)

  /// Stores what requests have changed of an environment that is stored, until it is stored as a whole again.
  func save(traffic document: Data, of environment: String) throws(StoreError)

  /// Removes an environment and its journal; on return no file holds anything of them.
  ///
  /// One that is not stored is no error.
  func remove(environment id: String) throws(StoreError)

  /// Stores leases, in place of what was stored for these ports.
  func save(leases: [(port: UInt16, document: Data)]) throws(StoreError)

  /// Removes leases; those that are not stored are no error.
  func remove(leases ports: [UInt16]) throws(StoreError)

  /// Stores entries, in place of what was stored under their numbers.
  ///
  /// To be called with batches. Entries of an environment that is never stored go with the next restart.
  func append(journal entries: [StoredJournalEntry]) throws(StoreError)

  /// Removes the entries of an environment up to a number: a journal does not grow for ever.
  func trim(journal environment: String, through number: Int) throws(StoreError)

  /// Entries of an environment in the order of their numbers.
  ///
  /// - Parameters:
  ///   - environment: its id.
  ///   - number: only entries with a higher one.
  ///   - limit: at most so many.
  /// - Returns: none for an environment that is not stored.
  /// - Throws: when the store cannot be read.
  func journal(
    of environment: String, after number: Int, limit: Int
  ) throws(StoreError) -> [StoredJournalEntry]

  /// Ends it; what is called later throws. Closing again does nothing.
  func close()
}

/// What a daemon starts with.
package struct StoredState: Sendable, Equatable {
  /// In the order in which they were first saved.
  package var environments: [StoredEnvironment]
  /// By port.
  package var leases: [Data]

  package init(environments: [StoredEnvironment] = [], leases: [Data] = []) {
    self.environments = environments
    self.leases = leases
  }
}

/// An environment as it is stored.
package struct StoredEnvironment: Sendable, Equatable {
  package var id: String
  package var document: Data
  /// What requests have changed since; nil where nothing was stored.
  package var traffic: Data?
  /// The highest number in its journal; 0 where there are no entries.
  package var lastEntry: Int

  package init(id: String, document: Data, traffic: Data? = nil, lastEntry: Int = 0) {
    self.id = id
    self.document = document
    self.traffic = traffic
    self.lastEntry = lastEntry
  }
}

/// An entry of an environment's journal as it is stored.
package struct StoredJournalEntry: Sendable, Equatable {
  package var environment: String
  package var number: Int
  package var document: Data

  package init(environment: String, number: Int, document: Data) {
    self.environment = environment
    self.number = number
    self.document = document
  }
}
