import Cassettes
import Foundation
import HTTPMessages
import LaunchContract

extension Environment {
  /// All that a restart needs to bring the environment back.
  package func snapshot() -> EnvironmentSnapshot {
    let (progress, last) = state.withLock { state in
      (
        EnvironmentSnapshot.Progress(
          live: state.live.world.snapshot, strings: state.ledger.progress,
          playback: replay.flatMap { replay in
            state.playback.map {
              .init(
                recording: replay.header.recording, interactions: replay.interactions.count,
                positions: Data($0.positions))
            }
          },
          counts: state.journal.counts, requests: state.requests, togglesRead: state.togglesRead,
          unmatched: state.unmatched, failures: state.failures),
        state.journal.last
      )
    }
    return EnvironmentSnapshot(
      id: id, token: token, createdAt: createdAt, specification: specification, mode: provisionedMode,
      ports: [mainPort] + upstreams.map(\.port),
      upstreams: upstreams.map { .init(name: $0.name, origin: $0.origin) }, clock: clock, seed: seed,
      recordedAt: recordedAt, notes: notes, lastJournalNumber: last, progress: progress)
  }
}
