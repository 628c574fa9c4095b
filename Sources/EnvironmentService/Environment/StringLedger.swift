import ControlAPI
import Basics
import CassetteChecks
import Cassettes
import Diorama
import LaunchContract

/// An environment's random values: which are recorded, which were used, and whether the two agree.
struct StringLedger: Sendable {
  /// The kind of value requested, with all that determines it besides seed, key and ordinal.
  typealias Shape = StringParameters

  /// The result of a request for a value.
  enum Answer: Sendable {
    /// A recorded value.
    case stored(String)
    /// A new value, which must be recorded before it is returned.
    case new(String)
    /// A value that is not recorded (`proxy`, `mock`).
    case derived(String)
    /// Not recorded, in replay; with an explanation.
    case missing(String)
  }

  private(set) var stored: StringStoreFile
  /// The environment's mode. A change does not affect recorded values.
  var mode: Mode
  private let derivation: StringDerivation
  private var read: [String: OrdinalRanges] { didSet { version += 1 } }
  private var next: [String: Int] { didSet { version += 1 } }
  private(set) var missing: [Report.StringUse] { didSet { version += 1 } }
  /// Changes whenever ``progress`` may have changed.
  private(set) var version = 0

  /// The store has a slot for each ordinal up to the highest, so a very high one would only fill memory and disk.
  static let ordinalLimit = 1_000_000

  private static func check(ordinal: Int) throws(CodedError) {
    guard 0..<ordinalLimit ~= ordinal else {
      throw CodedError(
        .usage, "ordinal \(ordinal) is out of range; a key has at most \(ordinalLimit) values, counted from 0")
    }
  }

  /// What a restart needs in addition to the string store.
  struct Progress: Sendable, Codable {
    var read: [String: OrdinalRanges] = [:]
    var next: [String: Int] = [:]
    var missing: [Report.StringUse] = []
  }

  init(stored: StringStoreFile, mode: Mode, seed: String, progress: Progress = Progress()) {
    self.stored = stored
    self.mode = mode
    derivation = StringDerivation(seed: seed)
    read = progress.read
    next = progress.next
    missing = progress.missing
  }

  /// The current progress.
  var progress: Progress { Progress(read: read, next: next, missing: missing) }

  /// The next ordinal for a program that does not count its own uses.
  func nextOrdinal(of key: String) -> Int { next[key, default: 0] }

  /// Marks the next ordinal as used.
  mutating func advance(_ key: String) { next[key, default: 0] += 1 }

  /// Takes back the use of an ordinal, unless later ones have been used since.
  mutating func takeBack(_ key: String, _ ordinal: Int) {
    if next[key] == ordinal + 1 { next[key] = ordinal }
  }

  /// The value for a key and an ordinal.
  ///
  /// - Throws: an error if the key, alphabet, range, length or ordinal is not valid.
  mutating func value(key: String, ordinal: Int, shape: Shape) throws -> Answer {
    try Self.check(ordinal: ordinal)
    try StringDerivation.check(key: key)
    try StringDerivation.check(shape)
    if mode.replays, let entry = entry(key, ordinal) {
      guard entry.parameters == shape else {
        return .missing(miss(key, ordinal, shape, because: "it is recorded as \(entry.parameters)"))
      }
      read[key, default: OrdinalRanges()].insert(ordinal)
      return .stored(entry.value)
    }
    if mode == .replay {
      return .missing(miss(key, ordinal, shape, because: nearest(to: key, ordinal)))
    }
    let value = try derivation.value(key: key, ordinal: ordinal, shape)
    guard mode.mayRecord else { return .derived(value) }
    if let entry = entry(key, ordinal), entry.parameters == shape { return .stored(entry.value) }
    return .new(value)
  }

  /// Adds a new value, once it is written.
  mutating func keep(_ value: String, key: String, ordinal: Int, shape: Shape) {
    var entries = stored.entries[key] ?? []
    while entries.count <= ordinal { entries.append(nil) }
    entries[ordinal] = StringEntry(value: value, parameters: shape)
    stored.entries[key] = entries
    read[key, default: OrdinalRanges()].insert(ordinal)
  }

  /// Notes that the app itself found a value missing.
  ///
  /// - Throws: an error if the key, shape or ordinal is not valid.
  mutating func reportMissing(key: String, ordinal: Int, shape: Shape) throws -> String {
    guard ordinal >= 0 else { throw CodedError(.usage, "ordinal \(ordinal) is invalid; ordinals count from 0") }
    try StringDerivation.check(key: key)
    try StringDerivation.check(shape)
    let recorded = entry(key, ordinal).map { "it is recorded as \($0.parameters)" }
    return miss(key, ordinal, shape, because: recorded ?? nearest(to: key, ordinal))
  }

  /// Notes recorded values that the app has read from its contract. Values that are not recorded are ignored.
  mutating func noteReading(_ readings: [String: OrdinalRanges]) {
    for (key, ordinals) in readings {
      guard let entries = stored.entries[key] else { continue }
      for range in ordinals.ranges where range.overlaps(entries.indices) {
        for ordinal in range.clamped(to: 0...(entries.count - 1)) where entries[ordinal] != nil {
          read[key, default: OrdinalRanges()].insert(ordinal)
        }
      }
    }
  }

  /// How many different values were read or recorded.
  var readCount: Int { read.values.reduce(0) { $0 + $1.count } }

  /// The entries for the launch contract in replay.
  var contractEntries: [String: [StringEntry?]] { stored.entries }

  /// Recorded values that were never read.
  var unused: [Report.StringUse] {
    stored.entries.sorted { $0.key < $1.key }.flatMap { key, entries in
      entries.indices.filter { entries[$0] != nil && read[key]?.contains($0) != true }
        .map { Report.StringUse(key: key, ordinal: $0) }
    }
  }

  private func entry(_ key: String, _ ordinal: Int) -> StringStoreFile.Entry? {
    guard let entries = stored.entries[key], entries.indices.contains(ordinal) else { return nil }
    return entries[ordinal]
  }

  private mutating func miss(_ key: String, _ ordinal: Int, _ shape: Shape, because reason: String) -> String {
    let use = Report.StringUse(key: key, ordinal: ordinal)
    if !missing.contains(use), missing.count < 1000 { missing.append(use) }
    return "\(shape) for key '\(key)', ordinal \(ordinal), is not in the string store: \(reason)"
  }

  private func nearest(to key: String, _ ordinal: Int) -> String {
    if let entries = stored.entries[key] {
      return "the recording has \(entries.count) for this key, ordinals from 0"
    }
    let keys = EditDistance.nearest(to: key, among: stored.entries.keys)
    guard !keys.isEmpty else { return "the string store is empty; re-record" }
    return "the nearest keys are " + keys.map { "'\($0)'" }.joined(separator: ", ")
  }
}
