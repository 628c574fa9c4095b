import Basics
import Transforms
import Cassettes
import HTTPMessages
import Stubs

extension Environment {
  /// Everything that is needed to restore the environment after a restart.
  package func snapshot() -> EnvironmentSnapshot { versionedSnapshot().snapshot }

  /// A snapshot, and a version that shows whether a newer one differs.
  package func versionedSnapshot() -> (snapshot: EnvironmentSnapshot, version: SnapshotVersion) {
    // Before the state, whose version tells what is in the snapshot: a later change has a later version.
    let stubs = stubs.progress
    let faults = faults.state.withLock { $0 }
    let (progress, last, version) = state.withLock { state in
      let traffic = state.traffic(replay, faults.faults)
      return (
        EnvironmentSnapshot.Progress(
          live: state.live.state.snapshot, strings: state.ledger.progress, playback: traffic.playback,
          counts: traffic.counts, requests: traffic.requests, togglesRead: state.togglesRead,
          unmatched: state.unmatched, failures: state.failures, keptAsSent: state.keptAsSent,
          unechoed: state.echoWarnings.lines, redacted: state.redacted,
          contractFindings: state.contractFindings, upstreamFailures: state.upstreamFailures,
          brokenOff: state.brokenOff, stubs: stubs.sources, scenarioStates: stubs.states,
          collections: stubs.collections, stubUses: stubs.uses,
          faults: faults.faults.rules.map(\.settings), faultMatches: traffic.faultMatches,
          faultUses: traffic.faultUses),
        state.journal.last, state.version(stubs: stubs.changes + faults.changes)
      )
    }
    let snapshot = EnvironmentSnapshot(
      id: id, token: token, createdAt: createdAt, specification: specification, mode: provisionedMode,
      ports: [mainPort] + upstreams.map(\.port),
      upstreams: upstreams.map { .init(name: $0.name, origin: $0.origin) }, clock: clock, seed: seed,
      recordedAt: recordedAt, notes: notes, lastJournalNumber: last, progress: progress)
    return (snapshot, version)
  }
}
