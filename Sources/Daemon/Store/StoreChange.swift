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

  /// Whether one statement makes it, which is a transaction by itself.
  var isOneStatement: Bool {
    switch self {
    case .saveTraffic, .trimJournal: true
    case .saveLeases(let leases): leases.count == 1
    case .removeLeases(let ports): ports.count == 1
    case .appendJournal(let entries): entries.count == 1
    case .saveEnvironment, .removeEnvironment: false
    }
  }

  /// Whether what it takes away may have been secret.
  var removesSecrets: Bool { if case .removeEnvironment = self { true } else { false } }
}
