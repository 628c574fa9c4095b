/// What has been played of a cassette, and what comes next.
///
/// A value without a lock: the environment keeps it under its own.
package struct Playback: Sendable {
  private let index: CassetteIndex
  private let uniquely: Bool
  /// How many of each group have been played.
  private var played: [Int32]

  /// Begins at the beginning.
  ///
  /// - Parameters:
  ///   - index: of the cassette.
  ///   - uniquely: whether each interaction is played once, as Vinyl's `playTracksUniquely` has it, and after that the
  ///     request is a miss; else the last one of its repeats is played again and again.
  package init(index: CassetteIndex, uniquely: Bool) {
    self.index = index
    self.uniquely = uniquely
    played = [Int32](repeating: 0, count: index.groupCount)
  }

  /// The interaction to play for a request.
  ///
  /// Repeats come in recorded order. Allocates nothing.
  ///
  /// - Parameters:
  ///   - key: of the request.
  ///   - isPlayable: whether the caller can play this interaction; if not, it stays the next one.
  /// - Returns: an index into the interactions; nil for a miss.
  @inline(__always)
  package mutating func next(for key: MatchKey, if isPlayable: (Int) -> Bool = { _ in true }) -> Int? {
    guard let group = index.group(of: key) else { return nil }
    let count = index.count(of: group)
    let place = Int(played[group])
    guard place < count || !uniquely else { return nil }
    let interaction = index.interaction(min(place, count - 1), of: group)
    guard isPlayable(interaction) else { return nil }
    if place < count { played[group] += 1 }
    return interaction
  }

  /// Whether the request is recorded at all, even when all its interactions have been played.
  package func contains(_ key: MatchKey) -> Bool {
    index.group(of: key) != nil
  }

  /// The interactions that were never played, in recorded order; those of no declared upstream are among them.
  package var unused: [Int] {
    var unused = index.unassigned
    for group in 0..<index.groupCount {
      for place in Int(played[group])..<index.count(of: group) {
        unused.append(index.interaction(place, of: group))
      }
    }
    return unused.sorted()
  }
}
