import Foundation

extension Duration {
  /// The end of all counting, some 36,000,000,000 years: a deadline there is never reached.
  ///
  /// So far from the ends of `Duration` that two of them can be added.
  static let forever = Duration.seconds(1 << 60)

  /// Itself, but no further away than ``forever``: what is put together from such durations does not overflow.
  var bounded: Duration { min(max(self, .zero - .forever), .forever) }

  /// In seconds, with the fraction; no more than those of ``forever``.
  var seconds: Double {
    let (seconds, attoseconds) = bounded.components
    return Double(seconds) + Double(attoseconds) / 1e18
  }

  /// From one date to another, to the nearest microsecond: a `Date` of our century holds a tenth of one, and by
  /// rounding, a tenth of a second between two dates is just that.
  init(from start: Date, to end: Date) {
    let microseconds = (end.timeIntervalSince(start) * 1e6).rounded()
    guard !microseconds.isNaN else {
      self = .forever
      return
    }
    self = .microseconds(Int64(min(max(microseconds, -9e18), 9e18)))
  }

  /// From the reference date on, in the order of the dates; without an end for those that are no date at all.
  init(sinceReferenceDate date: Date) {
    let seconds = date.timeIntervalSinceReferenceDate
    self = abs(seconds) < 0x1p60 ? .seconds(seconds) : seconds < 0 ? .zero - .forever : .forever
  }
}
