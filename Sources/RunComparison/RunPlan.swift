/// How the runs of a verification are scheduled: which ones at once, and under which conditions.
///
/// The first run is alone and undisturbed, and so is the second of more than three. The others run in pairs and, with
/// stress, under conditions that differ.
package struct RunPlan: Sendable, Equatable {
  /// The conditions of a run.
  package struct Conditions: Sendable, Equatable {
    /// The number of the run, from 1.
    package var run: Int
    /// How many other runs there are at the same time.
    package var beside = 0
    /// The processor that the run is bound to, modulo their number; nil for any.
    package var processor: Int?
    /// The nice value; 0 for that of the caller.
    package var nice = 0
    /// Whether as many threads as there are processors are busy at normal priority.
    package var isBusy = false

    package var isUndisturbed: Bool { self == Self(run: run) }

    /// Such as `beside 1 other, on one processor`.
    package var text: String {
      var parts = [beside == 0 ? "alone" : "beside \(beside == 1 ? "1 other" : "\(beside) others")"]
      if processor != nil { parts.append("on one processor") }
      if nice > 0 { parts.append("nice \(nice)") }
      if isBusy { parts.append("with busy processors") }
      return parts.joined(separator: ", ")
    }
  }

  /// The runs at the same time, one group after another.
  package private(set) var groups: [[Conditions]] = []

  /// - Parameters:
  ///   - count: the number of runs.
  ///   - isStressed: whether to disturb them.
  ///   - isSequential: whether to run one at a time.
  package init(runs count: Int, isStressed: Bool, isSequential: Bool) {
    var next = 1
    let undisturbed = count > 3 ? 2 : 1
    func conditions(_ run: Int, beside: Int) -> Conditions {
      var conditions = Conditions(run: run, beside: beside)
      guard isStressed, run > undisturbed else { return conditions }
      // Each kind of disturbance alone, then together: one processor makes threads take turns, busy processors
      // interrupt them, and a low priority makes them wait.
      let kind = (run - undisturbed - 1) % 4
      if kind == 0 || kind == 3 { conditions.processor = run }
      if kind == 1 || kind == 3 { conditions.isBusy = true }
      if kind == 2 { (conditions.nice, conditions.isBusy) = (10, true) }
      return conditions
    }
    while next <= count {
      let isAlone = next <= undisturbed || next == count || isSequential
      let size = isAlone ? 1 : 2
      groups.append((next..<next + size).map { conditions($0, beside: size - 1) })
      next += size
    }
  }

  /// All runs in order.
  var all: [Conditions] { groups.flatMap(\.self) }
}
