package import Basics
package import Foundation

/// The storage of what must survive the daemon: environments, leases and journals.
///
/// Documents are JSON of the caller's; a store doesn't read them. Each call is atomic. What is stored when a call
/// returns survives `kill -9` (though not a power failure). Calls may come from any thread and block: a save takes
/// about 10 µs, and concurrent saves share a transaction.
package protocol DaemonStore: Sendable {
  /// Loads everything except journals.
  func load() throws(CodedError) -> StoredState

  /// Stores an environment, replacing an earlier one with this id.
  func save(environment id: String, document: Data) throws(CodedError)

  /// Stores what requests have changed in a stored environment, until the environment is saved as a whole.
  func save(traffic document: Data, of environment: String) throws(CodedError)

  /// Removes an environment and its journal, and overwrites their data in all files. Does nothing if the environment
  /// isn't stored.
  func remove(environment id: String) throws(CodedError)

  /// Stores leases, replacing earlier ones for these ports.
  func save(leases: [(port: UInt16, document: Data)]) throws(CodedError)

  /// Removes leases. Ports without a stored lease are ignored.
  func remove(leases ports: [UInt16]) throws(CodedError)

  /// Stores journal entries, replacing earlier ones with the same numbers.
  ///
  /// Pass entries in batches. Entries of an environment that is never stored are removed at the next restart.
  func append(journal entries: [StoredJournalEntry]) throws(CodedError)

  /// Removes the entries of an environment up to a number.
  func trim(journal environment: String, through number: Int) throws(CodedError)

  /// Returns entries of an environment in order.
  ///
  /// - Parameters:
  ///   - environment: the environment's id.
  ///   - number: only entries with a higher number are returned.
  ///   - limit: the maximum number of entries.
  /// - Returns: an empty array if the environment isn't stored.
  /// - Throws: if the store can't be read.
  func journal(
    of environment: String, after number: Int, limit: Int
  ) throws(CodedError) -> [StoredJournalEntry]

  /// Closes the store. Later calls throw; closing again does nothing.
  func close()
}

/// The state at the start of a daemon.
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

/// A stored environment.
package struct StoredEnvironment: Sendable, Equatable {
  package var id: String
  package var document: Data
  /// What requests have changed since the environment was saved, if anything.
  package var traffic: Data?
  /// The highest number in its journal; 0 if the journal is empty.
  package var lastEntry: Int

  package init(id: String, document: Data, traffic: Data? = nil, lastEntry: Int = 0) {
    self.id = id
    self.document = document
    self.traffic = traffic
    self.lastEntry = lastEntry
  }
}

/// A stored journal entry.
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
