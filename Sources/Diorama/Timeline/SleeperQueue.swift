/// All who wait for a timeline: by monotonic time, by wall time.
///
/// A move by hand moves both times by the same amount, so that sleepers of both scales have one order: by how long it
/// is to their deadlines, then by registration.
struct SleeperQueue {
  private var uptime = SleeperHeap()
  private var wall = SleeperHeap()

  var count: Int { uptime.count + wall.count }

  mutating func insert(_ sleeper: Sleeper) {
    switch sleeper.scale {
    case .uptime: uptime.insert(sleeper)
    case .wall: wall.insert(sleeper)
    }
  }

  mutating func remove(_ sleeper: Sleeper) {
    switch sleeper.scale {
    case .uptime: uptime.remove(sleeper)
    case .wall: wall.remove(sleeper)
    }
  }

  /// Takes out those of one scale, in order.
  mutating func removeAll(of scale: Sleeper.Scale) -> [Sleeper] {
    switch scale {
    case .uptime: uptime.removeAll()
    case .wall: wall.removeAll()
    }
  }

  /// The first of each scale.
  var firsts: [Sleeper] { [uptime.first, wall.first].compactMap { $0 } }

  /// Who is woken next, and how long it is until then.
  func next(_ time: TimelineState, at moment: Moment) -> (sleeper: Sleeper, remaining: Duration)? {
    firsts.map { sleeper in
      let remaining = sleeper.deadline - time.reading(of: sleeper.scale, at: moment)
      guard sleeper.scale == .wall else { return (sleeper, remaining) }
      // As the moves do, so that a deadline of either scale can fall together with one of the other.
      let microseconds = (remaining / .microseconds(1)).rounded()
      return (sleeper, abs(microseconds) < 9e18 ? .microseconds(Int64(microseconds)) : remaining)
    }.min { one, other in
      (one.remaining, one.sleeper.registration ?? 0) < (other.remaining, other.sleeper.registration ?? 0)
    }
  }

  /// Takes out all whose deadline has come, in order.
  mutating func takeDue(_ time: TimelineState, at moment: Moment) -> [Sleeper] {
    guard count > 0 else { return [] }
    var due: [Sleeper] = []
    let readings = (
      uptime: time.reading(of: .uptime, at: moment), wall: time.reading(of: .wall, at: moment)
    )
    let isDue = { (sleeper: Sleeper) in
      sleeper.deadline <= (sleeper.scale == .uptime ? readings.uptime : readings.wall)
    }
    while true {
      // One scale alone in nearly all worlds: then its own order is the whole.
      let candidates = firsts.filter(isDue)
      let next = candidates.count < 2 ? candidates.first : self.next(time, at: moment)?.sleeper
      guard let next else { return due }
      remove(next)
      due.append(next)
    }
  }
}
