import Basics
import Cassettes
import Foundation
import HTTPMessages

/// How far requests alone have brought an environment: the small part of its ``EnvironmentSnapshot`` that changes with
/// each of them, to be stored with each batch of the journal, while all else is stored when it has changed.
package struct EnvironmentTraffic: Sendable, Codable {
  var playback: EnvironmentSnapshot.PlaybackPosition?
  var counts: [Int]
  var requests: Int
}

/// Tells whether anything of a snapshot but its ``EnvironmentTraffic`` has changed: equal where nothing has.
package struct SnapshotVersion: Sendable, Equatable {
  let revision: Int
  let strings: Int
  // These only grow.
  let togglesRead: Int
  let unmatched: Int
  let failures: Int
}

extension Environment {
  /// How far requests have brought it, and the version of all else.
  package func traffic() -> (EnvironmentTraffic, SnapshotVersion) {
    state.withLock { ($0.traffic(replay), $0.version) }
  }
}

extension Environment.State {
  func traffic(_ replay: Replay?) -> EnvironmentTraffic {
    EnvironmentTraffic(
      playback: replay.flatMap { replay in
        playback.map {
          .init(
            recording: replay.header.recording, interactions: replay.interactions.count,
            rules: replay.rulesFingerprint, positions: Data($0.positions))
        }
      }, counts: journal.counts, requests: requests)
  }

  var version: SnapshotVersion {
    SnapshotVersion(
      revision: live.state.revision, strings: ledger.version, togglesRead: togglesRead.count,
      unmatched: unmatched.count, failures: failures.count)
  }
}

extension EnvironmentSnapshot {
  /// Goes on to where requests have come since it was made.
  package mutating func take(_ traffic: EnvironmentTraffic) {
    progress.playback = traffic.playback
    progress.counts = traffic.counts
    progress.requests = traffic.requests
  }
}
