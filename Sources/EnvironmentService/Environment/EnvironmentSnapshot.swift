package import Basics
package import Cassettes
package import Foundation
package import LaunchContract

/// All that brings an environment back after its process was killed.
///
/// It has the credentials' secrets and the token in it: whoever stores it keeps it from others.
package struct EnvironmentSnapshot: Sendable, Codable {
  /// Stores the snapshot of an environment.
  // Here, since the compiler does not count an error that only a closure throws as a use of a package import.
  package typealias Store = @Sendable () throws(CodedError) -> Void

  /// The version of its layout.
  package static let format = 1

  private var format = Self.format
  /// The environment's id.
  package let id: String
  /// What the app shows to reach the control paths.
  package let token: Secret
  /// RFC 3339.
  package let createdAt: String
  /// What was asked for.
  package let specification: EnvironmentSpecification
  /// The mode in which it was provisioned: never `once`.
  package let mode: Mode
  /// The main port first, then that of each upstream, in the order in which ``EnvironmentHooks/listen`` is called.
  package let ports: [UInt16]
  /// The backends, also where the cassette named them.
  package let upstreams: [CassetteHeader.Upstream]
  /// The clock at the beginning.
  package let clock: LaunchContract.Clock
  package let seed: String
  package let recordedAt: String?
  package let notes: [String]
  /// The number of the last journal entry. Whoever stores the journal apart sets it to that of the last stored one, so
  /// that the numbers go on from there.
  package var lastJournalNumber: Int
  var progress: Progress

  /// How far it has come.
  struct Progress: Sendable, Codable {
    var live: MutableStateSnapshot
    var strings: StringLedger.Progress
    var playback: PlaybackPosition?
    var counts: [Int]
    var requests: Int
    var togglesRead: [String: JSON]
    var unmatched: [Report.Unmatched]
    var failures: [String]
    /// Nil in a snapshot of an earlier version.
    var keptAsSent: [String]?
  }

  /// How far a cassette has been played.
  struct PlaybackPosition: Sendable, Codable {
    /// The recording id, and how many interactions it has: in another cassette the positions mean nothing.
    var recording: String?
    var interactions: Int
    /// What tells the rules and the order apart: with others the positions mean nothing. Nil for none.
    var rules: String?
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
  /// - Throws: a ``CodedError`` where some value has no JSON.
  package func encoded() throws(CodedError) -> Data {
    do {
      return try JSON.encode(self)
    } catch {
      throw CodedError(.inputOutput, "the environment \(id) cannot be written as JSON: \(error)")
    }
  }

  /// Reads what ``encoded()`` has written.
  ///
  /// - Throws: a ``CodedError`` of kind `broken`.
  package init(decoding data: Data) throws(CodedError) {
    self = try JSON.decode(Self.self, from: data, source: "a stored environment cannot be read")
    guard format == Self.format else {
      throw CodedError(
        .broken,
        "the stored environment \(id) is of format \(format), not \(Self.format); use the Diorama that wrote it")
    }
  }
}

/// What changed in a ``MutableState``.
struct MutableStateSnapshot: Sendable, Codable {
  /// The most steps that are kept for apps that were not told of them yet, and their size in bytes: an app that follows
  /// knows nearly all, and each change writes them down again.
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
