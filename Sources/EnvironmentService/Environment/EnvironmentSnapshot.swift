import ControlAPI
package import Basics
import EnvironmentConfiguration
package import Cassettes
package import Foundation
package import LaunchContract

/// Everything that is needed to restore an environment after its process was killed.
///
/// It contains the credentials' secrets and the token, so store it where others cannot read it.
package struct EnvironmentSnapshot: Sendable, Codable {
  /// Stores the snapshot of an environment.
  // Declared here because the compiler does not count an error that only a closure throws as a use of a package import.
  package typealias Store = @Sendable () throws(CodedError) -> Void

  /// The version of the format.
  package static let format = 1

  private var format = Self.format
  /// The environment's id.
  package let id: String
  /// The token that the app sends to use the control paths.
  package let token: Secret
  /// RFC 3339.
  package let createdAt: String
  /// The requested environment.
  package let specification: EnvironmentSpecification
  /// The mode in which the environment was provisioned; never `once`.
  package let mode: Mode
  /// The main port, then each upstream's port, in the order in which ``EnvironmentHooks/reserve`` is called.
  package let ports: [UInt16]
  /// The upstreams, including those that the cassette named.
  package let upstreams: [CassetteHeader.Upstream]
  /// The clock when the environment was provisioned.
  package let clock: LaunchContract.Clock
  package let seed: String
  package let recordedAt: String?
  package let notes: [String]
  /// The number of the last journal entry. A store that keeps the journal separately sets this to its last stored
  /// entry, so that numbering continues from there.
  package var lastJournalNumber: Int
  var progress: Progress

  /// The state that changes while the environment runs.
  struct Progress: Sendable, Codable {
    var live: MutableStateSnapshot
    var strings: StringLedger.Progress
    var playback: PlaybackPosition?
    var counts: [Int]
    var requests: Int
    var togglesRead: [String: JSON]
    var unmatched: [Report.Unmatched]
    var failures: [String]
    /// Nil in a snapshot of an earlier version, like the next ones.
    var keptAsSent: [String]?
    var unechoed: [String]?
    var redacted: [String]?
    var contractFindings: ContractFindings?
    var upstreamFailures: [Report.FailedRequest]?
    var brokenOff: [Report.FailedRequest]?
    /// The stubs, if they differ from those of the folder, in the order of their addition.
    var stubs: [JSON]?
    /// The states of scenarios by name.
    var scenarioStates: [String: String]?
    /// The collections as JSON, if they differ from those of the file. A text, because items may be nested deeply.
    var collections: String?
    /// How often each key of the stubs' random values was used.
    var stubUses: [String: Int]?
    /// The current faults.
    var faults: [FaultSettings]?
    /// How many requests each fault's conditions met, and how many it affected.
    var faultMatches: [Int]?
    var faultUses: [Int]?
  }

  /// The position in a cassette that is being replayed.
  struct PlaybackPosition: Sendable, Codable {
    /// The recording's id. With the number of interactions, it identifies the cassette that the positions belong to.
    var recording: String?
    var interactions: Int
    var positions: Data
  }

  init(
    id: String, token: String, createdAt: Date, specification: EnvironmentSpecification, mode: Mode, ports: [UInt16],
    upstreams: [CassetteHeader.Upstream], clock: LaunchContract.Clock, seed: String, recordedAt: String?,
    notes: [String], lastJournalNumber: Int, progress: Progress
  ) {
    self.id = id
    self.token = Secret(token)
    self.createdAt = RFC3339.format(createdAt, exactly: true)
    self.specification = specification
    self.mode = mode
    self.ports = ports
    self.upstreams = upstreams
    self.clock = clock
    self.seed = seed
    self.recordedAt = recordedAt
    self.notes = notes
    self.lastJournalNumber = lastJournalNumber
    self.progress = progress
  }

  /// The snapshot as JSON.
  ///
  /// - Throws: a ``CodedError`` if a value cannot be represented in JSON.
  package func encoded() throws(CodedError) -> Data {
    try CodedError.translating(
      to: .inputOutput, at: "the environment \(id) cannot be written as JSON", try JSON.encode(self))
  }

  /// Decodes a snapshot from ``encoded()``.
  ///
  /// - Throws: a ``CodedError`` of kind `broken` if the data is invalid or has another format.
  package init(decoding data: Data) throws(CodedError) {
    self = try JSON.decode(Self.self, from: data, source: "a stored environment cannot be read")
    guard format == Self.format else {
      throw CodedError(
        .broken,
        "the stored environment \(id) has format \(format), not \(Self.format); use the Diorama that wrote it")
    }
  }
}

/// The stored form of a ``MutableState``.
struct MutableStateSnapshot: Sendable, Codable {
  /// The maximum number of stored steps, and their maximum size in bytes. Steps are stored for apps that have not
  /// received them yet. A connected app has received nearly all of them, and each change stores all of them again.
  static let stepLimit = 256
  static let stepSizeLimit = 1 << 20

  var revision: Int
  var mode: Mode
  var provisionedMode: Mode
  var clock: LaunchContract.Clock
  var toggles: [String: JSON]
  var values: [String: JSON]
  var toggleNames: [String]
  var steps: [LiveStep]
}
