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
  var terms: Terms
  /// Absolute path of its launch contract.
  var contract: String
  /// What it records, as ``Lifecycle`` has it.
  var recording: String?
  var snapshot: EnvironmentSnapshot

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
