import Basics
import EnvironmentConfiguration

/// The state of playback in the orders ``PlaybackOrder/strict``, ``PlaybackOrder/state`` and ``PlaybackOrder/free``.
struct OrderedPlayback: Sendable {
  private let index: CassetteIndex
  private let uniquely: Bool
  private(set) var played: [Bool]
  /// For each group, how many interactions have been played without a gap. Keeps the search short for a poll that was
  /// recorded a hundred thousand times.
  private var begun: [Int32]
  /// How many of the sequence's movers have been played without a gap.
  private var front = 0

  init(index: CassetteIndex, uniquely: Bool) {
    self.index = index
    self.uniquely = uniquely
    played = [Bool](repeating: false, count: index.interactionCount)
    begun = [Int32](repeating: 0, count: index.groupCount)
  }

  /// Returns the interaction to play and marks it as played; nil for a miss.
  ///
  /// - Parameters:
  ///   - group: the request's group.
  ///   - plain: the request's key without rules; nil if there are no rules.
  ///   - isPlayable: whether the caller can play this interaction; if not, nothing changes.
  /// - Returns: an index into the interactions.
  mutating func next(in group: Int, plain: MatchKey?, if isPlayable: (Int) -> Bool) -> Int? {
    let choice =
      switch index.order {
      case .strict: nextInSequence(in: group)
      case .state: nextInState(in: group)
      case .free, .request: nextOfAny(in: group, plain: plain)
      }
    guard let choice, isPlayable(choice) else { return nil }
    mark(choice)
    skipPlayed(in: group)
    return choice
  }

  private func nextInSequence(in group: Int) -> Int? {
    let place = Int(begun[group])
    guard place < index.count(of: group) else { return nil }
    let interaction = index.interaction(place, of: group)
    return awaited(by: interaction) == nil ? interaction : nil
  }

  /// Whether a group with no playable interaction has one for later.
  ///
  /// Does not check what that one waits for, which may have been played since.
  func isEarly(_ group: Int) -> Bool { !played[index.interaction(index.count(of: group) - 1, of: group)] }

  /// Chooses among the recordings of the latest state reached: the first not yet played, otherwise the last again.
  private func nextInState(in group: Int) -> Int? {
    let next = Int(begun[group])
    // A state change plays only in its turn because later interactions wait for it, and it is not repeated if it was
    // recorded again for later.
    if next < index.count(of: group), index.sequence?.isMover(index.interaction(next, of: group)) == true {
      return nextInSequence(in: group)
    }
    var state = -1
    var choice: Int?
    // If all have been played, the last belongs to the latest state.
    for place in max(0, Int(begun[group]) - 1)..<index.count(of: group) {
      let interaction = index.interaction(place, of: group)
      let own = index.sequence?.state(of: interaction) ?? 0
      guard own >= state, awaited(by: interaction) == nil else { continue }
      if own > state { (state, choice) = (own, nil) }
      if let before = choice, !played[before] { continue }
      choice = interaction
    }
    guard let choice, !uniquely || !played[choice] else { return nil }
    return choice
  }

  private func nextOfAny(in group: Int, plain: MatchKey?) -> Int? {
    let count = index.count(of: group)
    let start = Int(begun[group])
    let isExact = { (place: Int) in
      plain != nil && index.plainKey(of: index.interaction(place, of: group)) == plain
    }
    guard start < count else {
      guard !uniquely else { return nil }
      let place = plain == nil ? nil : (0..<count).last(where: isExact)
      return index.interaction(place ?? count - 1, of: group)
    }
    let first = index.interaction(start, of: group)
    guard plain != nil else { return first }
    for place in start..<count where isExact(place) {
      let interaction = index.interaction(place, of: group)
      if !played[interaction] { return interaction }
    }
    return first
  }

  /// The interaction that has to be played before this one; nil if this one may be played.
  func awaited(by interaction: Int) -> Int? {
    guard let sequence = index.sequence else { return nil }
    let end = sequence.moversBefore(interaction)
    var place = front
    while place < end {
      let mover = Int(sequence.movers[place])
      if !played[mover], sequence.precedes(mover, interaction) { return mover }
      place += 1
    }
    return nil
  }

  /// The first interaction not yet played, in strict order.
  var expected: Int? {
    guard index.order == .strict, let sequence = index.sequence, front < sequence.movers.count else { return nil }
    return Int(sequence.movers[front])
  }

  private mutating func skipPlayed(in group: Int) {
    let count = index.count(of: group)
    while begun[group] < count, played[index.interaction(Int(begun[group]), of: group)] { begun[group] += 1 }
  }

  private mutating func mark(_ interaction: Int) {
    played[interaction] = true
    guard let movers = index.sequence?.movers else { return }
    while front < movers.count, played[Int(movers[front])] { front += 1 }
  }

  /// Which interactions have been played: one bit each, without trailing zero bytes.
  var positions: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: (played.count + 7) / 8)
    for (number, isPlayed) in played.enumerated() where isPlayed { bytes[number / 8] |= 1 << UInt8(number % 8) }
    while bytes.last == 0 { bytes.removeLast() }
    return bytes
  }

  /// Restores saved positions; false if they do not fit this cassette.
  mutating func resume(at positions: [UInt8]) -> Bool {
    var marked: [Int] = []
    for (number, byte) in positions.enumerated() {
      for bit in 0..<8 where byte >> UInt8(bit) & 1 == 1 { marked.append(number * 8 + bit) }
    }
    guard marked.allSatisfy({ $0 < played.count }) else { return false }
    for interaction in marked { mark(interaction) }
    for group in begun.indices { skipPlayed(in: group) }
    return true
  }
}

/// The order constraints between recorded interactions. Interactions that overlapped in the recording are unordered.
///
/// Two interactions overlapped if the later one certainly began before the earlier one ended. Other tools often write
/// times in whole milliseconds, Diorama in microseconds; in doubt, one came after the other.
struct RecordedSequence: Sendable {
  /// The interactions that others wait for ("movers"), in recorded order.
  let movers: [Int32]
  /// For each interaction, how many movers precede it.
  private let before: [Int32]
  /// The latest time at which each may have begun, and the time at which it ended, in nanoseconds.
  private let begins: [Int]
  private let ends: [Int]

  /// - Parameters:
  ///   - interactions: in recorded order.
  ///   - isMover: whether later interactions wait for this one.
  init(_ interactions: [Interaction], isMover: (Int) -> Bool) {
    var movers: [Int32] = []
    var before: [Int32] = []
    var begins: [Int] = []
    var ends: [Int] = []
    before.reserveCapacity(interactions.count)
    begins.reserveCapacity(interactions.count)
    ends.reserveCapacity(interactions.count)
    var index = 0
    for interaction in interactions {
      before.append(Int32(movers.count))
      if isMover(index) { movers.append(Int32(index)) }
      let time = Self.time(interaction)
      begins.append(time.begin)
      ends.append(time.end)
      index += 1
    }
    self.movers = movers
    self.before = before
    self.begins = begins
    self.ends = ends
  }

  private static func time(_ interaction: Interaction) -> (begin: Int, end: Int) {
    // An interaction without a time overlaps with no other.
    guard let stamp = Instant(interaction.startedAt), abs(stamp.seconds) < 1 << 33 else { return (.max, .min) }
    let start = stamp.seconds * 1_000_000_000 + stamp.nanoseconds
    let fraction = interaction.startedAt.utf8.drop { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ",") }.dropFirst()
    let digits = fraction.prefix { 0x30...0x39 ~= $0 }.count
    // The uncertainty of a time with fewer digits than Diorama writes.
    var slack = digits < 6 ? 1_000_000_000 : 0
    for _ in 0..<min(digits, 6) { slack /= 10 }
    let length = max(0, min(interaction.milliseconds, 1e12)) * 1_000_000
    return (start + slack, start + Int(length.isFinite ? length : 0))
  }

  /// The number of movers recorded before an interaction, including overlapping ones.
  func moversBefore(_ interaction: Int) -> Int { Int(before[interaction]) }

  /// Whether later interactions wait for this one.
  func isMover(_ interaction: Int) -> Bool {
    let place = moversBefore(interaction)
    return place < movers.count && movers[place] == interaction
  }

  /// Whether a mover had ended when an interaction began.
  func precedes(_ mover: Int, _ interaction: Int) -> Bool { ends[mover] <= begins[interaction] }

  /// The number of movers that had ended when an interaction was recorded.
  func state(of interaction: Int) -> Int {
    var count = moversBefore(interaction)
    while count > 0, !precedes(Int(movers[count - 1]), interaction) { count -= 1 }
    return count
  }
}
