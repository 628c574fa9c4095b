package import Foundation

/// Checks whether simultaneous calls for one key are linearizable (Herlihy and Wing).
///
/// They are if some sequential order, in which each call happens between its begin and its end, explains all results.
/// The search is Wing and Gong's: over the begins and ends in order.
package struct LinearizabilityChecker {
  /// The effect of a call on the key.
  package struct Step: Sendable {
    package enum Effect: Sendable {
      case add(Data)
      case update(Data)
      case set(Data)
      case delete
      case read
      /// Lists the keys.
      case list
    }

    var begin: Int
    var end: Int
    var effect: Effect
    /// Whether the call succeeded; for `list`, whether the key was in the list.
    var found: Bool
    /// The secret that was read.
    var value: Data?

    package init(begin: Int, end: Int, effect: Effect, found: Bool, value: Data?) {
      self.begin = begin
      self.end = end
      self.effect = effect
      self.found = found
      self.value = value
    }

    /// The state after the call; nil if the call cannot have had this result in the given state.
    fileprivate func after(_ state: Data?) -> State? {
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

  /// The secret, or nil if the key has none.
  fileprivate struct State: Hashable {
    var secret: Data?

    init(_ secret: Data?) { self.secret = secret }
  }

  /// One possible course of events so far.
  private struct Way: Hashable {
    var state: State
    /// Calls that have taken effect but have not ended.
    var early: Set<Int>
  }

  /// Finds the first call, by its end, that no order explains.
  ///
  /// - Returns: the call and those under way at its end; nil if the calls are linearizable.
  package static func contradiction(in steps: [Step]) -> (step: Int, underWay: [Int])? {
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
