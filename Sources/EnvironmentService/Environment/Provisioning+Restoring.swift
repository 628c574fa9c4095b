import Basics
import Cassettes
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract
import Stubs
import Transforms

extension Provisioning {
  /// Plans an environment that continues from a snapshot.
  ///
  /// - Throws: a ``CodedError`` if its cassette is missing or corrupt, or another process has ended its
  ///   recording.
  static func plan(
    restoring snapshot: EnvironmentSnapshot, cache: CassetteCache
  ) throws(CodedError) -> Environment.Plan {
    let specification = snapshot.specification
    let progress = snapshot.progress
    if snapshot.mode.mayReachNetwork { for upstream in snapshot.upstreams { try specification.checkIsNamed(upstream) } }
    var notes = snapshot.notes
    var stored: OpenCassette?
    if snapshot.mode.replays, let location = specification.cassette {
      guard location.exists || snapshot.mode == .extend else { throw specification.missing(location) }
      if location.exists { stored = try cache.open(location) }
    }
    var strings = stored?.strings ?? StringStoreFile(seed: snapshot.seed, recording: nil, entries: [:])
    var requests = progress.requests
    var recorder: CassetteRecorder?
    if snapshot.mode.mayRecord, let location = specification.cassette {
      let resumed = try CassetteRecorder.resume(location, seed: snapshot.seed, recordedAt: snapshot.recordedAt)
      strings.take(resumed.partial.strings)
      requests = max(requests, resumed.partial.places.last?.number ?? 0)
      recorder = resumed.recorder
    }
    do {
      var state = Environment.State(
        ledger: StringLedger(
          stored: strings, mode: progress.live.mode, seed: snapshot.seed, progress: progress.strings),
        live: AppSync(try MutableState(restoring: progress.live), isRestored: true),
        redactor: try specification.redactor(
          token: snapshot.token.revealed, schemas: try grpcSchemas(specification, stored?.cassette.header)))
      state.journal = Journal(counts: progress.counts, last: snapshot.lastJournalNumber)
      state.requests = requests
      state.togglesRead = progress.togglesRead
      state.failures = progress.failures
      state.keptAsSent = progress.keptAsSent ?? []
      state.echoWarnings.lines = progress.unechoed ?? []
      state.redacted = progress.redacted ?? []
      state.contractFindings = progress.contractFindings ?? ContractFindings()
      state.upstreamFailures = progress.upstreamFailures ?? []
      state.brokenOff = progress.brokenOff ?? []
      for unmatched in progress.unmatched { state.addUnmatched(unmatched) }
      let stubs = try stubs(specification, mode: snapshot.mode, seed: snapshot.seed)
      try stubs.restore(
        sources: progress.stubs, states: progress.scenarioStates ?? [:], collections: progress.collections,
        uses: progress.stubUses ?? [:])
      var faults = try FaultSet(progress.faults ?? specification.faults ?? [])
      faults.restore(matches: progress.faultMatches ?? [], uses: progress.faultUses ?? [])
      var replay: Replay?
      if let stored, let location = specification.cassette {
        let opened = try stored.replay(
          snapshot.upstreams, rules: specification.rules ?? MatchingRules(), order: specification.order,
          redactor: state.redactor)
        var playback = Playback(index: opened.index, uniquely: specification.playsUniquely)
        if let position = progress.playback, !playback.resume(position, of: opened) {
          notes.append(
            "\(location.har) changed during the restart; it plays from the beginning")
        }
        state.playback = playback
        var shifter = try specification.dateShifter(
          snapshot.mode, recordedAt: stored.cassette.header.recordedAt, clock: snapshot.clock
        ).shifter
        shifter?.schemas = state.redactor.schemas
        replay = opened.shifted(by: shifter)
      }
      return Environment.Plan(
        id: snapshot.id, specification: specification, mode: snapshot.mode, token: snapshot.token.revealed,
        clock: snapshot.clock, seed: snapshot.seed, recordedAt: snapshot.recordedAt, notes: notes,
        upstreams: snapshot.upstreams, replay: replay, recorder: recorder,
        stubs: stubs, faults: faults, state: state,
        createdAt: RFC3339.parse(snapshot.createdAt) ?? Date(), isRestored: true)
    } catch {
      recorder?.release()
      throw error
    }
  }
}

extension Playback {
  /// Continues from a stored position, if it is for the same cassette and rules.
  fileprivate mutating func resume(_ position: EnvironmentSnapshot.PlaybackPosition, of replay: Replay) -> Bool {
    position.recording == replay.header.recording && position.interactions == replay.interactions.count
      && resume(at: [UInt8](position.positions))
  }
}

extension StringStoreFile {
  /// Adds the values of an unfinished recording.
  fileprivate mutating func take(_ recorded: [String: [Int: Entry]]) {
    for (key, byOrdinal) in recorded {
      var uses = entries[key] ?? []
      let count = max(uses.count, (byOrdinal.keys.max() ?? -1) + 1)
      uses += Array(repeating: nil, count: count - uses.count)
      for (ordinal, entry) in byOrdinal { uses[ordinal] = entry }
      entries[key] = uses
    }
  }
}
