import Foundation

/// One change of what is stored: all of it or none.
enum StoreChange: Sendable {
  case saveEnvironment(id: String, document: Data)
  case saveTraffic(id: String, document: Data)
  case removeEnvironment(id: String)
  case saveLeases([(port: UInt16, document: Data)])
  case removeLeases([UInt16])
  case appendJournal([StoredJournalEntry])
  case trimJournal(id: String, through: Int)

  /// Whether what it takes away may have been secret.
  var removesSecrets: Bool { if case .removeEnvironment = self { true } else { false } }
}
