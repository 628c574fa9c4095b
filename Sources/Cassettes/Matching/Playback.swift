import EnvironmentConfiguration

/// The state of playing a cassette: which interactions were played, and which comes next.
///
/// A value without a lock; the environment guards it with its own.
package struct Playback: Sendable {
  private let index: CassetteIndex
  private let uniquely: Bool
  /// How many interactions of each group have been played.
  private var played: [Int32]
  /// The state of playback in orders other than ``PlaybackOrder/request``.
  private var ordered: OrderedPlayback?

  /// Starts from the beginning.
  ///
  /// - Parameters:
  ///   - index: the cassette's index.
  ///   - uniquely: whether each interaction plays only once, like Vinyl's `playTracksUniquely`, after which the
  ///     request is a miss. Otherwise the last of its repeats plays again.
  package init(index: CassetteIndex, uniquely: Bool) {
    self.index = index
    self.uniquely = uniquely
    played = [Int32](repeating: 0, count: index.groupCount)
    ordered = index.order == .request ? nil : OrderedPlayback(index: index, uniquely: uniquely)
  }

  /// Returns the interaction to play for a request. Repeats play in recorded order. Allocates nothing.
  ///
  /// - Parameters:
  ///   - key: the request's key.
  ///   - plain: the request's key without rules; nil if there are no rules.
  ///   - isPlayable: whether the caller can play this interaction; if not, it remains the next one.
  /// - Returns: an index into the interactions; nil for a miss.
  @inline(__always)
  package mutating func next(
    for key: MatchKey, plain: MatchKey? = nil, if isPlayable: (Int) -> Bool = { _ in true }
  ) -> Int? {
    guard let group = index.group(of: key) else { return nil }
    guard ordered == nil else { return ordered?.next(in: group, plain: plain, if: isPlayable) }
    let count = index.count(of: group)
    let place = Int(played[group])
    guard place < count || !uniquely else { return nil }
    let interaction = index.interaction(min(place, count - 1), of: group)
    guard isPlayable(interaction) else { return nil }
    if place < count { played[group] += 1 }
    return interaction
  }

  /// The state of playback, to be restored later with the same cassette: a count per group, seven bits per byte,
  /// without trailing zeros.
  package var positions: [UInt8] {
    if let ordered { return ordered.positions }
    var bytes: [UInt8] = []
    let end = (played.lastIndex { $0 != 0 } ?? -1) + 1
    for count in played[..<end] {
      var rest = UInt32(count)
      while rest > 0x7F {
        bytes.append(UInt8(rest & 0x7F) | 0x80)
        rest >>= 7
      }
      bytes.append(UInt8(rest))
    }
    return bytes
  }

  /// Restores saved positions.
  ///
  /// - Returns: false if the positions do not fit this cassette; nothing changes then.
  package mutating func resume(at positions: [UInt8]) -> Bool {
    guard ordered == nil else { return ordered?.resume(at: positions) ?? false }
    var counts: [Int32] = []
    var count: UInt32 = 0
    var shift: UInt32 = 0
    for byte in positions {
      guard shift < 28 else { return false }
      count |= UInt32(byte & 0x7F) << shift
      shift += 7
      guard byte < 0x80 else { continue }
      guard counts.count < played.count, count <= index.count(of: counts.count) else { return false }
      counts.append(Int32(count))
      (count, shift) = (0, 0)
    }
    guard shift == 0 else { return false }
    played.replaceSubrange(..<counts.count, with: counts)
    return true
  }

  /// Whether the request is recorded, even if all its interactions have been played.
  package func contains(_ key: MatchKey) -> Bool {
    index.group(of: key) != nil
  }

  /// Whether a request that cannot be played now is recorded for later, after other interactions.
  package func isEarly(_ key: MatchKey) -> Bool {
    guard let ordered, index.order.isSequence, let group = index.group(of: key) else { return false }
    return ordered.isEarly(group)
  }

  /// The interaction that has to be played before this one; nil if none has to.
  package func awaited(by interaction: Int) -> Int? {
    guard let ordered, !ordered.played[interaction] else { return nil }
    return ordered.awaited(by: interaction)
  }

  /// The interaction that has to come next; nil if any may.
  package var expected: Int? { ordered?.expected }

  /// The interactions that were never played, in recorded order, including those of undeclared upstreams.
  package var unused: [Int] {
    if let ordered { return ordered.played.indices.filter { !ordered.played[$0] } }
    var unused = index.unassigned
    for group in 0..<index.groupCount {
      for place in Int(played[group])..<index.count(of: group) {
        unused.append(index.interaction(place, of: group))
      }
    }
    return unused.sorted()
  }
}
