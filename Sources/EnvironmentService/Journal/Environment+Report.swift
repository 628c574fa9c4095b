package import ControlAPI
import Basics
import Transforms
import Cassettes
import Diorama
import HTTPMessages
import LaunchContract
import Stubs

extension Environment {
  /// The report so far.
  package func report() -> Report {
    let seconds = (ContinuousClock.now - started) / .seconds(1)
    let (journal, unmatched, ledger, togglesRead, failed, playback, current, redactor) = state.withLock {
      ($0.journal, $0.unmatched, $0.ledger, $0.togglesRead, $0.failures, $0.playback, $0.live.state, $0.redactor)
    }
    let (messages, upstreamFailures, brokenOff) = state.withLock {
      ($0.unmatchedMessages, $0.upstreamFailures, $0.brokenOff)
    }
    let contract = state.withLock { $0.contractFindings }
    let mode = current.mode
    var requests = Report.Requests()
    requests.replayed = journal.count(.replayed)
    requests.recorded = journal.count(.recorded)
    requests.forwarded = journal.count(.forwarded)
    requests.mocked = journal.count(.mocked)
    requests.unmatched = journal.count(.unmatched)
    requests.failed = journal.count(.failed)
    let left = journal.count(.left)
    if left > 0 { requests.left = left }
    let faulted = journal.count(.faulted)
    if faulted > 0 { requests.faulted = faulted }
    requests.total =
      requests.replayed + requests.recorded + requests.forwarded + requests.mocked
      + requests.unmatched + requests.failed + left + faulted - messages
    let unused = (mode == .replay ? playback?.unused ?? [] : []).map { index in
      let request = replay?.interactions[index].request
      return Report.Unused(method: request?.method ?? "", url: redactor.redactURL(request?.url ?? ""), index: index)
    }
    var failures = failed + redactor.rules.patterns.givenUp.map(Report.slowPattern)
    if specification.policies?.unused == .fail, !unused.isEmpty {
      failures.append(Report.unusedFailure(unused.count))
    }
    let allowsFailures = specification.policies?.allowsUpstreamFailures == true && mode.mayReachNetwork
    let held =
      ledger.missing.isEmpty
      && (allowsFailures
        || (requests.unmatched == 0 && (recorder == nil || (upstreamFailures.isEmpty && brokenOff.isEmpty))))
    return Report(
      environment: .init(id: id, name: specification.name), mode: mode.rawValue,
      cassette: specification.cassette.map(\.har), recordedAt: recordedAt,
      clock: .init(
        kind: current.clock.kind.rawValue, start: clock.start, now: RFC3339.format(current.timeline.now),
        rate: current.clock.kind == .scaled ? current.clock.rate : nil),
      requests: requests, unmatched: unmatched, unused: unused,
      upstreamFailures: upstreamFailures.isEmpty ? nil : upstreamFailures,
      brokenOff: brokenOff.isEmpty ? nil : brokenOff, interactions: replay?.interactions.count,
      ended: shutdown.withLock { $0.outcome } == nil ? nil : true, resources: specification.heldResources,
      strings: .init(
        read: ledger.readCount, recorded: recorder?.stringCount ?? 0, missing: ledger.missing,
        unused: mode == .replay ? ledger.unused : []),
      toggles: .init(
        read: togglesRead.mapValues { $0.redacted(redactor) },
        unread: current.toggleNames.filter { togglesRead[$0] == nil }.sorted()),
      durationSeconds: (seconds * 1000).rounded() / 1000, failures: failures,
      keptAsSent: state.withLock { $0.keptAsSent.isEmpty ? nil : $0.keptAsSent },
      unechoed: state.withLock { $0.echoWarnings.lines.isEmpty ? nil : $0.echoWarnings.lines },
      unusedStubs: unusedStubs(), faults: faultUses(),
      contractViolations: contract.violations.isEmpty ? nil : contract.violations,
      contractNotes: contract.notes.isEmpty ? nil : contract.notes,
      isolation: isolationReport(),
      redacted: state.withLock { $0.redacted.isEmpty ? nil : $0.redacted.sorted() }, recording: recording(),
      advice: mode != .mock && unmatched.contains { $0.refusal == nil && $0.fix?.isRecordable ?? true }
        ? redactor.redact(recordAdvice) : nil,
      ok: held && failures.isEmpty && contract.violations.isEmpty)
  }

  /// How commands were isolated, at the end with the settings that had no effect; nil if none was.
  private func isolationReport() -> Report.Isolation? {
    guard var isolation = state.withLock({ $0.isolation }) else { return nil }
    if let intercepted, mode.mayReachNetwork, shutdown.withLock({ $0.outcome }) != nil {
      let unused = intercepted.policy.unusedMaps(upstreams.map(\.origin)).map(redactor.redact)
      if !unused.isEmpty { isolation.missing = (isolation.missing ?? []) + unused }
    }
    return isolation
  }

  private func faultUses() -> [Report.Fault]? {
    let (faults, replaced) = faults.state.withLock { ($0.faults, $0.replaced) }
    let all = replaced + zip(faults.rules.map(\.label), faults.uses).map { (label: $0, uses: $1) }
    return all.isEmpty ? nil : all.map { .init(fault: redactor.redact($0.label), requests: $0.uses) }
  }

  private func unusedStubs() -> [String]? {
    let unused = stubs.state.withLock { $0.store.unused }
    return unused.isEmpty ? nil : unused.prefix(1000).map { redactor.redact($0.label) }
  }

  /// How to save the recording of a program that succeeded, if only responses are missing.
  private func permission() -> String? {
    let lacksResponses = state.withLock { !$0.upstreamFailures.isEmpty || !$0.brokenOff.isEmpty }
    guard lacksResponses, shutdown.withLock({ $0.hasSucceeded }),
      specification.policies?.allowsUpstreamFailures != true
    else { return nil }
    return specification.upstreamFailuresAdvice
  }

  /// What happened to the recording; nil if there is none, or it has not ended yet.
  private func recording() -> Report.Recording? {
    switch shutdown.withLock({ $0.outcome }) {
    case .success(let outcome?) where outcome.isWritten && outcome.aside != nil:
      Report.Recording(
        outcome: .aside, interactions: outcome.interactions, file: outcome.aside?.har, permission: permission())
    case .success(let outcome?) where outcome.isWritten:
      Report.Recording(outcome: .written, interactions: outcome.interactions)
    case .success(.some):
      Report.Recording(outcome: specification.cassette?.exists == true ? .unchanged : .nothing, interactions: 0)
    case .failure: Report.Recording(outcome: .unsealed, interactions: 0)
    case .success(.none), nil: nil
    }
  }
}

extension Report {
  /// The failure if a replay left interactions unused and the policy is to fail.
  static func unusedFailure(_ count: Int) -> String {
    "\(counted(count, "interaction")) of the cassette unused: "
      + "request what was recorded, re-record, or remove it with diorama cassette prune"
  }

  /// The failure if a redaction pattern was given up.
  static func slowPattern(_ pattern: String) -> String {
    "the redaction pattern '\(pattern.prefix(80))' takes too long on some text, which was removed entirely; "
      + "avoid nested repetitions such as (a+)+"
  }

  /// Whether the report is ok except for unused interactions.
  var heldButForUnused: Bool {
    ok
      || (requests.unmatched == 0 && strings.missing.isEmpty && contractViolations == nil
        && failures == [Self.unusedFailure(unused.count)])
  }
}

extension Report.Unmatched {
  func redacted(_ redactor: Redactor) -> Self {
    Self(
      method: redactor.redact(method), url: redactor.redactURL(url),
      nearest: nearest.map {
        .init(
          index: $0.index, method: $0.method, url: redactor.redactURL($0.url),
          differences: $0.differences.map(redactor.redact), rules: $0.rules?.map(redactor.redact))
      },
      nearestStubs: nearestStubs?.map {
        .init(stub: redactor.redact($0.stub), differences: $0.differences.map(redactor.redact))
      }, fix: fix.map { $0.redacted(redactor) }, refusal: refusal.map(redactor.redact))
  }

  /// The approximate size in memory, in bytes.
  var size: Int {
    nearest.reduce(100 + method.utf8.count + url.utf8.count + (refusal?.utf8.count ?? 0)) { size, nearest in
      (nearest.differences + (nearest.rules ?? [])).reduce(size + 100 + nearest.url.utf8.count) {
        $0 + 16 + $1.utf8.count
      }
    } + (fix?.size ?? 0)
      + (nearestStubs ?? []).reduce(0) { size, near in near.differences.reduce(size) { $0 + $1.utf8.count } }
  }
}

extension Report.Fix {
  fileprivate func redacted(_ redactor: Redactor) -> Self {
    var fix = self
    fix.advice = redactor.redact(advice)
    for index in causes.indices { fix.causes[index].location = redactor.redact(causes[index].location) }
    // A rule with a mark in place of its text would not match.
    if let setting, setting.redacted(redactor) != setting { (fix.rule, fix.redaction) = (nil, nil) }
    return fix
  }

  /// The approximate size in memory, in bytes.
  fileprivate var size: Int {
    causes.reduce(200 + advice.utf8.count + (setting?.encoded().count ?? 0)) { $0 + 50 + $1.location.utf8.count }
  }
}
