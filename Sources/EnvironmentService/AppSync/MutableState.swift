import Basics
import Diorama
import Foundation
import LaunchContract

/// What of an environment can change while its apps run, and the steps by which it did: plain state, for one lock.
struct MutableState: Sendable {
  /// The most bytes of one step: an app reads answers of at most 1 MiB.
  static let stepLimit = 512 << 10
  /// Steps that are kept for apps that start late; each finds those before its contract in the contract.
  private static let keptLimit = 10_000

  private struct Kept {
    var step: LiveStep
    var size: Int
  }

  /// The environment's own time, which apps follow.
  let timeline: Timeline
  /// The last step's number.
  private(set) var revision = 0
  private(set) var mode: Mode
  private(set) var toggles: [String: JSON]
  private(set) var values: [String: JSON]
  /// All toggles that were ever set.
  private(set) var toggleNames: Set<String>
  private var kept: [Kept] = []
  private let provisionedMode: Mode
  private var base: LaunchContract.Clock
  /// Whether a hand has moved the clock since `base` was right.
  private var isMoved = false

  /// - Throws: a ``CodedError`` for a clock that nobody can keep.
  init(
    mode: Mode, provisionedMode: Mode? = nil, clock: LaunchContract.Clock, toggles: [String: JSON],
    values: [String: JSON]
  ) throws(CodedError) {
    do {
      timeline = try Timeline(clock)
    } catch {
      throw CodedError(.usage, error.description)
    }
    base = clock
    self.mode = mode
    self.provisionedMode = provisionedMode ?? mode
    self.toggles = toggles
    self.values = values
    toggleNames = Set(toggles.keys)
  }

  /// The environment as it was: time has gone on where it goes on by itself.
  ///
  /// - Throws: a ``CodedError`` for a clock that nobody can keep.
  init(restoring snapshot: MutableStateSnapshot) throws(CodedError) {
    try self.init(
      mode: snapshot.mode, provisionedMode: snapshot.provisionedMode, clock: snapshot.clock, toggles: snapshot.toggles,
      values: snapshot.values)
    revision = snapshot.revision
    toggleNames = Set(snapshot.toggleNames)
    kept = try snapshot.steps.map { step throws(CodedError) in Kept(step: step, size: try Self.size(of: step)) }
  }

  /// What a restart needs.
  var snapshot: MutableStateSnapshot {
    var size = 0
    let steps = kept.suffix(MutableStateSnapshot.stepLimit).reversed().prefix { kept in
      size += kept.size
      return size <= MutableStateSnapshot.stepSizeLimit
    }
    return MutableStateSnapshot(
      revision: revision, mode: mode, provisionedMode: provisionedMode, clock: clock, toggles: toggles, values: values,
      toggleNames: toggleNames.sorted(), steps: steps.reversed().map(\.step))
  }

  /// The clock for an app that starts now: it shows what the others show.
  var clock: LaunchContract.Clock {
    guard isMoved else { return base }
    var clock = base
    clock.start = RFC3339.format(timeline.now, exactly: true)
    clock.provisioned = RFC3339.format(Date(), exactly: true)
    return clock
  }

  /// The steps after one, as many as an answer holds.
  ///
  /// - Returns: nil where they are no longer kept.
  func steps(after revision: Int) -> [LiveStep]? {
    let count = self.revision - revision
    guard count > 0 else { return [] }
    guard count <= kept.count else { return nil }
    var size = 0
    return kept.suffix(count).prefix { kept in
      size += kept.size
      return size <= Self.stepLimit
    }.map(\.step)
  }

  // MARK: Changing

  /// Moves the clock.
  ///
  /// - Throws: a ``CodedError`` where it cannot be moved so; nothing has changed then.
  mutating func move(_ move: Environment.ClockMove) throws(CodedError) {
    var step = LiveStep(revision: revision + 1)
    do throws(DioramaError) {
      switch move {
      case .advance(let duration):
        try timeline.advance(by: duration)
        step.advance = .init(duration)
      case .set(let date):
        let text = RFC3339.format(date, exactly: true)
        // As the apps will read it: they are to show the same to the bit. What cannot be written is refused there.
        let exact = RFC3339.parse(text).flatMap { abs($0.timeIntervalSince(date)) < 1 ? $0 : nil }
        try timeline.set(to: exact ?? date)
        step.set = text
      }
    } catch {
      throw CodedError(.usage, error.description)
    }
    isMoved = true
    keep(step, size: 200)
  }

  /// Changes all that is said, or nothing.
  ///
  /// - Throws: a ``CodedError`` where some of it cannot be.
  mutating func update(_ update: Environment.Update) throws(CodedError) {
    if update.isEmpty { return }
    var step = LiveStep(revision: revision + 1)
    if let mode = update.mode {
      try check(mode)
      step.mode = mode.rawValue
    }
    if !update.toggles.isEmpty { step.toggles = update.toggles.mapValues { $0 ?? .null } }
    if !update.values.isEmpty { step.values = update.values.mapValues { $0 ?? .null } }
    step.clock = try update.clock.map { patch throws(CodedError) in try patched(patch) }
    let size = try Self.size(of: step)
    if let clock = step.clock {
      // Last of what can fail.
      do {
        try timeline.change(to: clock)
      } catch {
        throw CodedError(.usage, error.description)
      }
      base = clock
      isMoved = false
    }
    if let patch = step.toggles {
      toggles.merge(patch: patch)
      toggleNames.formUnion(toggles.keys)
    }
    if let patch = step.values { values.merge(patch: patch) }
    if let mode = update.mode { self.mode = mode }
    keep(step, size: size)
  }

  private mutating func keep(_ step: LiveStep, size: Int) {
    revision = step.revision
    kept.append(Kept(step: step, size: size))
    // Seldom, since it moves all that stay.
    if kept.count >= 2 * Self.keptLimit { kept.removeFirst(kept.count - Self.keptLimit) }
  }

  private static func size(of step: LiveStep) throws(CodedError) -> Int {
    let size: Int
    do {
      size = try JSON.encode(step).count
    } catch {
      throw CodedError(.usage, "the change cannot be written as JSON: \(error)")
    }
    guard size <= stepLimit else {
      throw CodedError(.usage, "the change has \(size) bytes of JSON; one has at most \(stepLimit)")
    }
    return size
  }

  private func check(_ mode: Mode) throws(CodedError) {
    if mode == self.mode { return }
    // The one change for which everything is at hand: what records can also just replay, and go back to it.
    if provisionedMode == .extend, mode == .replay || mode == .extend { return }
    throw CodedError(
      .usage,
      "an environment provisioned in mode \(provisionedMode.rawValue) cannot go over to \(mode.rawValue): while it runs, "
        + "one of mode extend can change to replay and back; for all else provision another one")
  }

  private func patched(_ patch: Environment.ClockPatch) throws(CodedError) -> LaunchContract.Clock {
    var clock = base
    if let kind = patch.kind { clock.kind = kind }
    if let rate = patch.rate { clock.rate = rate }
    if let timeZone = patch.timeZone { clock.timeZone = timeZone }
    if let locale = patch.locale { clock.locale = locale }
    if clock.kind == .system {
      guard patch.start == nil else {
        throw CodedError(.usage, "a system clock shows the machine's time; a start needs another kind of clock")
      }
      clock.start = nil
    } else {
      let start = patch.start ?? timeline.now
      let text = RFC3339.format(start, exactly: true)
      guard let exact = RFC3339.parse(text), abs(exact.timeIntervalSince(start)) < 1 else {
        throw CodedError(.usage, "a clock cannot start at \(start): its time goes from the year 0 to 9999")
      }
      clock.start = text
    }
    clock.provisioned = RFC3339.format(Date(), exactly: true)
    return clock
  }
}
