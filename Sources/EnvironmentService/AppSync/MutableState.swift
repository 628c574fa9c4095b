import Basics
import Diorama
import Foundation
import LaunchContract

/// What can change in an environment while its apps run, and the steps that changed it. A plain value, guarded by a
/// lock.
struct MutableState: Sendable {
  /// The maximum size of a step in bytes. Apps read answers of at most 1 MiB.
  static let stepLimit = 512 << 10
  /// The number of steps kept for apps that start late. Earlier steps are already in an app's launch contract.
  private static let keptLimit = 10_000

  private struct Kept {
    var step: LiveStep
    var size: Int
  }

  /// The environment's own timeline, which apps follow.
  let timeline: Timeline
  /// The last step's number.
  private(set) var revision = 0
  private(set) var mode: Mode
  private(set) var toggles: [String: JSON]
  private(set) var values: [String: JSON]
  /// The names of all toggles that were ever set.
  private(set) var toggleNames: Set<String>
  private var kept: [Kept] = []
  private let provisionedMode: Mode
  private var base: LaunchContract.Clock
  /// Whether the clock was moved since `base` was set.
  private var isMoved = false

  /// - Throws: a ``CodedError`` for a clock that is not valid.
  init(
    mode: Mode, provisionedMode: Mode? = nil, clock: LaunchContract.Clock, toggles: [String: JSON],
    values: [String: JSON]
  ) throws(CodedError) {
    timeline = try CodedError.translating(to: .usage, try Timeline(clock))
    base = clock
    self.mode = mode
    self.provisionedMode = provisionedMode ?? mode
    self.toggles = toggles
    self.values = values
    toggleNames = Set(toggles.keys)
  }

  /// Restores the state from a snapshot. A running clock has moved on in the meantime.
  ///
  /// - Throws: a ``CodedError`` for a clock that is not valid.
  init(restoring snapshot: MutableStateSnapshot) throws(CodedError) {
    try self.init(
      mode: snapshot.mode, provisionedMode: snapshot.provisionedMode, clock: snapshot.clock, toggles: snapshot.toggles,
      values: snapshot.values)
    revision = snapshot.revision
    toggleNames = Set(snapshot.toggleNames)
    kept = try snapshot.steps.map { step throws(CodedError) in Kept(step: step, size: try Self.size(of: step)) }
  }

  /// What has to be stored for a restart.
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

  /// What the clock shows now.
  var reading: Environment.ClockReading {
    Environment.ClockReading(kind: base.kind, rate: base.rate, date: timeline.now)
  }

  /// The clock for an app that starts now, which shows the same time as the others.
  var clock: LaunchContract.Clock {
    guard isMoved else { return base }
    var clock = base
    clock.start = RFC3339.format(timeline.now, exactly: true)
    clock.provisioned = RFC3339.format(Date(), exactly: true)
    return clock
  }

  /// The steps after a revision, as many as fit into one answer.
  ///
  /// - Returns: nil if they are no longer kept.
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
  /// - Throws: a ``CodedError`` if the clock cannot be moved that way; nothing has changed then.
  mutating func move(_ move: Environment.ClockMove) throws(CodedError) {
    var step = LiveStep(revision: revision + 1)
    do {
      switch move {
      case .advance(let duration):
        try timeline.advance(by: duration)
        step.advance = .init(duration)
      case .set(let date):
        let text = RFC3339.format(date, exactly: true)
        // Use the date as apps will parse it, so that all show exactly the same time. A date without such a text fails.
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

  /// Applies the whole update, or nothing.
  ///
  /// - Throws: a ``CodedError`` if any part of it is not valid.
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
      // The last step that can fail.
      try CodedError.translating(to: .usage, try timeline.change(to: clock))
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
    // Removing moves all remaining steps, so it is done rarely.
    if kept.count >= 2 * Self.keptLimit { kept.removeFirst(kept.count - Self.keptLimit) }
  }

  private static func size(of step: LiveStep) throws(CodedError) -> Int {
    let size = try CodedError.translating(
      to: .usage, at: "the change cannot be written as JSON", try JSON.encode(step).count)
    guard size <= stepLimit else {
      throw CodedError(.usage, "the change has \(size) bytes of JSON; the limit is \(stepLimit)")
    }
    return size
  }

  private func check(_ mode: Mode) throws(CodedError) {
    if mode == self.mode { return }
    // The only change of mode that needs nothing new: an environment that extends can also just replay, and go back.
    if provisionedMode == .extend, mode == .replay || mode == .extend { return }
    throw CodedError(
      .usage,
      "an environment provisioned in mode \(provisionedMode.rawValue) cannot change to mode \(mode.rawValue); "
        + "mode extend can change to replay and back; for other modes provision a new environment")
  }

  private func patched(_ patch: Environment.ClockPatch) throws(CodedError) -> LaunchContract.Clock {
    var clock = base
    if let kind = patch.kind { clock.kind = kind }
    if let rate = patch.rate { clock.rate = rate }
    if let timeZone = patch.timeZone { clock.timeZone = timeZone }
    if let locale = patch.locale { clock.locale = locale }
    if clock.kind == .system {
      guard patch.start == nil else {
        throw CodedError(.usage, "a system clock has no start; choose another kind of clock")
      }
      clock.start = nil
    } else {
      let start = patch.start ?? timeline.now
      let text = RFC3339.format(start, exactly: true)
      guard let exact = RFC3339.parse(text), abs(exact.timeIntervalSince(start)) < 1 else {
        throw CodedError(.usage, "a clock cannot start at \(start); give a date in the years 0 to 9999")
      }
      clock.start = text
    }
    clock.provisioned = RFC3339.format(Date(), exactly: true)
    return clock
  }
}
