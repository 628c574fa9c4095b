/// What has been played in an order in which more counts than the repeats of one request: ``PlaybackOrder/strict``,
/// ``PlaybackOrder/state`` and ``PlaybackOrder/free``.
struct OrderedPlayback: Sendable {
  private let index: CassetteIndex
  private let uniquely: Bool
  private(set) var played: [Bool]
  /// For each group how many have been played without a gap: a poll that was recorded a hundred thousand times is no
  /// longer search each time.
  private var begun: [Int32]
  /// How many of the sequence's movers have been played without a gap.
  private var front = 0

  init(index: CassetteIndex, uniquely: Bool) {
    self.index = index
    self.uniquely = uniquely
    played = [Bool](repeating: false, count: index.interactionCount)
    begun = [Int32](repeating: 0, count: index.groupCount)
  }

  /// The interaction to play, which counts as played then; nil for a miss.
  ///
  /// - Parameters:
  ///   - group: of the request.
  ///   - plain: the request's key without rules; nil where there are none.
  ///   - isPlayable: whether the caller can play this interaction; if not, all stays as it is.
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

  /// Whether a group of which none can be played has one for later.
  ///
  /// It is not asked what that one waits for: the last one awaited may have been played since.
  func isEarly(_ group: Int) -> Bool { !played[index.interaction(index.count(of: group) - 1, of: group)] }

  /// The recordings of the latest state that has been reached count: the first that was not played, else the last again.
  private func nextInState(in group: Int) -> Int? {
    let next = Int(begun[group])
    // A change comes in its turn, for what follows waits for each; none is made again that is recorded once more for later.
    if next < index.count(of: group), index.sequence?.isMover(index.interaction(next, of: group)) == true {
      return nextInSequence(in: group)
    }
    var state = -1
    var choice: Int?
    // Of those that have all been played the last is of the latest state.
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

  /// The interaction that has to be played before another one; nil where that may be played.
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

  /// The first interaction that has not been played, where the sequence has all of them.
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

  /// Which have been played: a bit each, no zero bytes at the end.
  var positions: [UInt8] {
    var bytes = [UInt8](repeating: 0, count: (played.count + 7) / 8)
    for (number, isPlayed) in played.enumerated() where isPlayed { bytes[number / 8] |= 1 << UInt8(number % 8) }
    while bytes.last == 0 { bytes.removeLast() }
    return bytes
  }

  /// Goes on from where another one had come; false where the positions are not of this cassette.
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
