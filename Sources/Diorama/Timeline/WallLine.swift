import Foundation
import Synchronization

/// Wall time as a line over real time: all that ``DioramaClock/now`` needs.
struct WallLine: Sendable, Equatable {
  /// Seconds since the reference date, shown at the anchor.
  var shown: Double
  /// Nanoseconds of real time.
  var anchor: Int64
  /// Seconds in a real second; nil for the machine's own wall time.
  var rate: Double?

  @inline(__always)
  func date(nanoseconds: @autoclosure () -> Int64, machine: @autoclosure () -> Date) -> Date {
    guard let rate else { return machine() }
    guard rate != 0 else { return Date(timeIntervalSinceReferenceDate: shown) }
    return Date(timeIntervalSinceReferenceDate: shown + Double(nanoseconds() - anchor) / 1e9 * rate)
  }
}

/// A ``WallLine`` that any number of threads read without a lock while one that holds the timeline's writes it.
///
/// A sequence lock: odd while it is written, and another number afterwards. Its words are atomic, each stored with
/// release and loaded with acquire, so that whoever sees a new word sees a new sequence too.
struct PublishedWallLine: ~Copyable {
  private let sequence = Atomic<UInt64>(0)
  private let shown: Atomic<UInt64>
  private let anchor: Atomic<Int64>
  /// Not a number for the machine's own wall time.
  private let rate: Atomic<UInt64>

  init(_ line: WallLine) {
    shown = Atomic(line.shown.bitPattern)
    anchor = Atomic(line.anchor)
    rate = Atomic((line.rate ?? .nan).bitPattern)
  }

  /// Only under the timeline's lock.
  func publish(_ line: WallLine) {
    let before = sequence.load(ordering: .relaxed)
    sequence.store(before + 1, ordering: .relaxed)
    shown.store(line.shown.bitPattern, ordering: .releasing)
    anchor.store(line.anchor, ordering: .releasing)
    rate.store((line.rate ?? .nan).bitPattern, ordering: .releasing)
    sequence.store(before + 2, ordering: .releasing)
  }

  /// Nil while it is being written.
  @inline(__always)
  func read() -> WallLine? {
    let before = sequence.load(ordering: .acquiring)
    let shown = Double(bitPattern: shown.load(ordering: .acquiring))
    let anchor = anchor.load(ordering: .acquiring)
    let rate = Double(bitPattern: rate.load(ordering: .acquiring))
    guard before & 1 == 0, sequence.load(ordering: .relaxed) == before else { return nil }
    return WallLine(shown: shown, anchor: anchor, rate: rate.isNaN ? nil : rate)
  }
}
