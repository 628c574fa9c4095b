import Basics
import CassetteChecks
import Cassettes
import Diorama
import LaunchContract

/// The random values of one environment: those that are recorded, those that were asked for, and the rule by which
/// the two must agree.
struct StringLedger: Sendable {
  /// What kind of value is asked for, with what it depends on beside seed, key and ordinal.
  typealias Shape = StringParameters

  /// What came of a request for a value.
  enum Answer: Sendable {
    /// The value, which was recorded before.
    case stored(String)
    /// A new value, which is to be recorded before it is answered.
    case new(String)
    /// A value that belongs in no recording (`proxy`, `mock`).
    case derived(String)
    /// In replay: not recorded.
    case missing(String)
  }

  private(set) var stored: StringStoreFile
  /// The environment's; what is recorded stays when it changes.
  var mode: Mode
  private let derivation: StringDerivation
  private var read: [String: OrdinalRanges] { didSet { version += 1 } }
  private var next: [String: Int] { didSet { version += 1 } }
  private(set) var missing: [Report.StringUse] { didSet { version += 1 } }
  /// Another one whenever ``progress`` may be another.
  private(set) var version = 0

  /// The store has a place for each ordinal up to the highest: one far off would only fill memory and disk.
  static let ordinalLimit = 1_000_000

  private static func check(ordinal: Int) throws(CodedError) {
    guard 0..<ordinalLimit ~= ordinal else {
      throw CodedError(
        .usage, "there is no ordinal \(ordinal); a key has at most \(ordinalLimit) values, counted from 0")
    }
  }

  /// What a restart needs beside what is stored.
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

  /// How far it has come.
  var progress: Progress { Progress(read: read, next: next, missing: missing) }

  /// The ordinal that comes next for a program that does not count itself.
  func nextOrdinal(of key: String) -> Int { next[key, default: 0] }

  /// That ordinal has been used.
  mutating func advance(_ key: String) { next[key, default: 0] += 1 }

  /// The use of that ordinal came to nothing; where others have followed, it stays used.
  mutating func takeBack(_ key: String, _ ordinal: Int) {
    if next[key] == ordinal + 1 { next[key] = ordinal }
  }

  /// The value for a key and an ordinal.
  ///
  /// - Throws: when the key, the alphabet or the range is not a valid one, or the length or the ordinal is beyond
  ///   what a store can hold.
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

  /// Keeps a new value, once it is written.
  mutating func keep(_ value: String, key: String, ordinal: Int, shape: Shape) {
    var entries = stored.entries[key] ?? []
    while entries.count <= ordinal { entries.append(nil) }
    entries[ordinal] = StringEntry(value: value, parameters: shape)
    stored.entries[key] = entries
    read[key, default: OrdinalRanges()].insert(ordinal)
  }

  /// The app says itself that a value is not recorded.
  ///
  /// - Throws: for what no app can have asked for.
  mutating func reportMissing(key: String, ordinal: Int, shape: Shape) throws -> String {
    guard ordinal >= 0 else { throw CodedError(.usage, "there is no ordinal \(ordinal); they count from 0") }
    try StringDerivation.check(key: key)
    try StringDerivation.check(shape)
    let recorded = entry(key, ordinal).map { "it is recorded as \($0.parameters)" }
    return miss(key, ordinal, shape, because: recorded ?? nearest(to: key, ordinal))
  }

  /// The app has read recorded values by itself; what is not recorded it cannot have read.
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

  /// What the launch contract carries in replay.
  var contractEntries: [String: [StringEntry?]] { stored.entries }

  /// What is recorded and was never read.
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
    guard !keys.isEmpty else { return "the string store is empty; record again" }
    return "the nearest keys are " + keys.map { "'\($0)'" }.joined(separator: ", ")
  }
}
