import Basics
import Cassettes
import Foundation
import HTTPMessages
import Stubs

/// The small part of an ``EnvironmentSnapshot`` that changes with each request. It is stored with each batch of the
/// journal; the rest is stored only when it changes.
package struct EnvironmentTraffic: Sendable, Codable {
  var playback: EnvironmentSnapshot.PlaybackPosition?
  var counts: [Int]
  var requests: Int
  var faultMatches: [Int]?
  var faultUses: [Int]?
}

/// The version of a snapshot without its ``EnvironmentTraffic``. If two versions are equal, that part has not changed.
package struct SnapshotVersion: Sendable, Equatable {
  let revision: Int
  let strings: Int
  // Counts that never decrease.
  let togglesRead: Int
  let unmatched: Int
  let failures: Int
  let lost: Int
  let stubs: Int
}

extension Environment {
  /// The current traffic, and the version of the rest of the snapshot.
  package func traffic() -> (EnvironmentTraffic, SnapshotVersion) {
    let faults = faults.state.withLock { $0 }
    let changes = stubs.changeCount + faults.changes
    return state.withLock { ($0.traffic(replay, faults.faults), $0.version(stubs: changes)) }
  }
}

extension Environment.State {
  func traffic(_ replay: Replay?, _ faults: FaultSet) -> EnvironmentTraffic {
    EnvironmentTraffic(
      playback: replay.flatMap { replay in
        playback.map {
          .init(
            recording: replay.header.recording, interactions: replay.interactions.count,
            positions: Data($0.positions))
        }
      }, counts: journal.counts, requests: requests,
      faultMatches: faults.rules.isEmpty ? nil : faults.matches, faultUses: faults.rules.isEmpty ? nil : faults.uses)
  }

  func version(stubs: Int) -> SnapshotVersion {
    SnapshotVersion(
      revision: live.state.revision, strings: ledger.version, togglesRead: togglesRead.count,
      unmatched: unmatched.count, failures: failures.count,
      lost: upstreamFailures.count + brokenOff.count, stubs: stubs)
  }
}

extension EnvironmentSnapshot {
  /// Updates the snapshot with later traffic.
  package mutating func take(_ traffic: EnvironmentTraffic) {
    progress.playback = traffic.playback
    progress.counts = traffic.counts
    progress.requests = traffic.requests
    progress.faultMatches = traffic.faultMatches
    progress.faultUses = traffic.faultUses
  }
}
