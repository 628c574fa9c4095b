import Foundation

/// When a clinic still has time: the next half-hours, so that the answer is another one every hour.
enum Schedule {
  private static let slotLength: TimeInterval = 30 * 60
  private static let day: TimeInterval = 24 * 60 * 60

  /// The starts of the slots to offer.
  ///
  /// A client's day need not be ours, being in its own time zone: what is within a day of now is today, and today
  /// starts at the next full hour and may last beyond midnight.
  ///
  /// - Parameters:
  ///   - dayStart: midnight in UTC, at which the day that was asked for begins; nil asks for the next slots.
  ///   - now: the time it is.
  /// - Returns: six starts in order; none for a day that is over.
  static func slots(onDayFrom dayStart: Date?, now: Date) -> [Date] {
    if let dayStart, now >= dayStart + 2 * day { return [] }
    var first = Date(timeIntervalSince1970: (now.timeIntervalSince1970 / 3_600).rounded(.up) * 3_600)
    if let dayStart, dayStart > now + day { first = dayStart + 9 * 3_600 }
    return (0..<6).map { first + Double($0) * slotLength }
  }
}
