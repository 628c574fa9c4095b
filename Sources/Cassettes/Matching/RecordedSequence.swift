/// What has to be played before what: the recorded order of those interactions that count for it, except that what
/// overlapped in the recording has no order.
///
/// Two interactions overlapped where the later one is known to have begun before the earlier one had ended. A time in
/// whole milliseconds, as many tools write it, says less than one in microseconds, as ours are: in doubt one came after
/// the other.
struct RecordedSequence: Sendable {
  /// The interactions that others wait for, in recorded order.
  let movers: [Int32]
  /// For each interaction, how many movers come before it.
  private let before: [Int32]
  /// When each may have begun at the latest, and when it had ended, in nanoseconds.
  private let begins: [Int]
  private let ends: [Int]

  /// - Parameters:
  ///   - interactions: in recorded order.
  ///   - isMover: whether others wait for an interaction.
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
    // What has no time came after all that was before it, and before all that follows.
    guard let stamp = HAR.Timestamp(interaction.startedAt), abs(stamp.seconds) < 1 << 33 else { return (.max, .min) }
    let start = stamp.seconds * 1_000_000_000 + stamp.nanoseconds
    let fraction = interaction.startedAt.utf8.drop { $0 != UInt8(ascii: ".") && $0 != UInt8(ascii: ",") }.dropFirst()
    let digits = fraction.prefix { 0x30...0x39 ~= $0 }.count
    // What a time with fewer digits than ours leaves open.
    var slack = digits < 6 ? 1_000_000_000 : 0
    for _ in 0..<min(digits, 6) { slack /= 10 }
    let length = max(0, min(interaction.milliseconds, 1e12)) * 1_000_000
    return (start + slack, start + Int(length.isFinite ? length : 0))
  }

  /// How many movers come before an interaction, those that overlapped with it among them.
  func moversBefore(_ interaction: Int) -> Int { Int(before[interaction]) }

  /// Whether others wait for an interaction.
  func isMover(_ interaction: Int) -> Bool {
    let place = moversBefore(interaction)
    return place < movers.count && movers[place] == interaction
  }

  /// Whether a mover that comes before an interaction was over when that began.
  func precedes(_ mover: Int, _ interaction: Int) -> Bool { ends[mover] <= begins[interaction] }

  /// How many movers had made the state in which an interaction was recorded.
  func state(of interaction: Int) -> Int {
    var count = moversBefore(interaction)
    while count > 0, !precedes(Int(movers[count - 1]), interaction) { count -= 1 }
    return count
  }
}
