import Foundation

/// Looks for an order in which simultaneous calls about one key can have happened, one at a time, each between its begin
/// and its end: then the store is what it promises to be, whatever the threads did. (Herlihy and Wing call it
/// linearizable; the search is theirs as Wing and Gong do it, over the begins and ends in order.)
struct LinearizabilityChecker {
  /// A call about the key, as far as it counts here.
  struct Step: Sendable {
    enum Effect: Sendable {
      case add(Data)
      case update(Data)
      case set(Data)
      case delete
      case read
      /// The key was in a list.
      case list
    }

    var begin: Int
    var end: Int
    var effect: Effect
    /// Whether it found what it needed (`list`: whether the key was there); nothing else can have gone wrong.
    var found: Bool
    /// What was read.
    var value: Data?

    /// What there is afterwards; nil when it cannot have happened in this state.
    func after(_ state: Data?) -> State? {
      switch effect {
      case .add(let secret): found == (state == nil) ? State(state ?? secret) : nil
      case .update(let secret): found == (state != nil) ? State(found ? secret : state) : nil
      case .set(let secret): found ? State(secret) : nil
      case .delete: found == (state != nil) ? State(nil) : nil
      case .read: found == (state != nil) && (!found || value == state) ? State(state) : nil
      case .list: found == (state != nil) ? State(state) : nil
      }
    }
  }

  /// The secret that there is, or none.
  struct State: Hashable {
    var secret: Data?

    init(_ secret: Data?) { self.secret = secret }
  }

  /// One way in which it can have gone so far.
  private struct Way: Hashable {
    var state: State
    /// Calls that have happened, but have not ended.
    var early: Set<Int>
  }

  /// - Returns: the first call, by its end, for which no order is left, and those under way then; nil when there is one.
  static func contradiction(in steps: [Step]) -> (step: Int, underWay: [Int])? {
    let moments =
      (steps.indices.map { (time: steps[$0].begin, step: $0, isEnd: false) }
      + steps.indices.map { (time: steps[$0].end, step: $0, isEnd: true) }).sorted { $0.time < $1.time }
    var underWay: Set<Int> = []
    var ways: Set<Way> = [Way(state: State(nil), early: [])]
    for moment in moments {
      guard moment.isEnd else {
        underWay.insert(moment.step)
        continue
      }
      var next: Set<Way> = []
      var seen = ways
      var open = Array(ways)
      while var way = open.popLast() {
        if way.early.remove(moment.step) != nil {
          next.insert(way)
          continue
        }
        for step in underWay where !way.early.contains(step) {
          guard let state = steps[step].after(way.state.secret) else { continue }
          let later = Way(state: state, early: way.early.union([step]))
          if seen.insert(later).inserted { open.append(later) }
        }
      }
      guard !next.isEmpty else { return (moment.step, underWay.sorted()) }
      underWay.remove(moment.step)
      ways = next
    }
    return nil
  }
}
