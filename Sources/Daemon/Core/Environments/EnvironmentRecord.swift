import EnvironmentService
import Foundation
import LaunchContract

/// What the store keeps of an environment: all that it takes to bring it back on the same ports, or to finish its end.
struct EnvironmentRecord: Codable, Sendable {
  enum State: String, Codable, Sendable {
    case ready
    /// Its end has begun: it does not come back, whatever of the end was done.
    case ending
  }

  var state = State.ready
  var name: String
  var createdAt: Date
  var lifetime: Lifetime
  /// Absolute path of its launch contract.
  var contract: String
  /// What it records, as ``Lifecycle`` has it.
  var recording: String?
  var snapshot: EnvironmentSnapshot
  /// How often it was saved. It makes each save a write, which tells whether there is room: SQLite leaves alone what is
  /// the same already.
  var saves: Int?

  /// What of a stored environment tells which version has written it.
  private struct Version: Decodable {
    struct Snapshot: Decodable { var format: Int }
    var snapshot: Snapshot
  }

  /// Refuses what a later version has written: it would be taken for less than it is, and be stored so.
  ///
  /// - Throws: a ``StoreError`` of kind `newer`. What cannot be read at all passes: it is the whole record's to say so.
  static func check(_ stored: StoredEnvironment) throws(StoreError) {
    guard let format = try? JSONDecoder().decode(Version.self, from: stored.document).snapshot.format,
      format > EnvironmentSnapshot.format
    else { return }
    throw StoreError(
      "environment \(stored.id) in the daemon's state is of format \(format), and this diorama knows formats up to "
        + "\(EnvironmentSnapshot.format); use the newer diorama that wrote it, or choose another folder with --state",
      kind: .newer(version: format))
  }

  /// As the store has it.
  ///
  /// - Throws: a ``StoreError`` for what JSON cannot hold.
  func encoded() throws(StoreError) -> Data {
    do {
      return try ContractJSON.encode(self)
    } catch {
      throw StoreError("environment '\(name)' cannot be written as JSON: \(error)")
    }
  }
}
