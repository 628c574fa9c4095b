/// The sleepers of one scale, the next to be woken first; any other can leave as well.
struct SleeperHeap {
  private var sleepers: [Sleeper] = []

  var count: Int { sleepers.count }
  var first: Sleeper? { sleepers.first }

  mutating func insert(_ sleeper: Sleeper) {
    sleepers.append(sleeper)
    place(sleeper, at: sleepers.count - 1)
    rise(from: sleepers.count - 1)
  }

  /// Does nothing where it is not in here.
  mutating func remove(_ sleeper: Sleeper) {
    guard let position = sleeper.position else { return }
    sleeper.position = nil
    let last = sleepers.removeLast()
    guard last !== sleeper else { return }
    place(last, at: position)
    rise(from: position)
    sink(from: position)
  }

  /// Takes all out, the next to be woken first.
  mutating func removeAll() -> [Sleeper] {
    let all = sleepers.sorted { $0.isBefore($1) }
    sleepers = []
    for sleeper in all { sleeper.position = nil }
    return all
  }

  private mutating func place(_ sleeper: Sleeper, at position: Int) {
    sleepers[position] = sleeper
    sleeper.position = position
  }

  private mutating func rise(from start: Int) {
    var position = start
    while position > 0 {
      let parent = (position - 1) / 2
      guard sleepers[position].isBefore(sleepers[parent]) else { return }
      exchange(position, parent)
      position = parent
    }
  }

  private mutating func sink(from start: Int) {
    var position = start
    while true {
      var first = position
      for child in [2 * position + 1, 2 * position + 2] where child < sleepers.count {
        if sleepers[child].isBefore(sleepers[first]) { first = child }
      }
      guard first != position else { return }
      exchange(position, first)
      position = first
    }
  }

  private mutating func exchange(_ one: Int, _ other: Int) {
    sleepers.swapAt(one, other)
    sleepers[one].position = one
    sleepers[other].position = other
  }
}
