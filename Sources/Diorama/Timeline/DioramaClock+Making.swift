public import Foundation

// Clocks for unit tests of an app's own code. Zone and locale are never the machine's unless asked for: a test is to
// give the same result everywhere.
extension DioramaClock {
  /// A clock whose times stand until they are moved.
  ///
  /// ```swift
  /// let clock = DioramaClock.manual(start: start)
  /// let session = Session(clock: clock)
  /// try await clock.waitForSleepers(1)        // the session's time-out waits
  /// try clock.advance(by: .seconds(900))
  /// ```
  ///
  /// - Parameters:
  ///   - start: what it shows at first.
  ///   - timeZone: the app's zone.
  ///   - locale: the app's region and language.
  /// - Returns: a clock of its own, which nothing else moves.
  public static func manual(
    start: Date, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) -> DioramaClock {
    DioramaClock(Timeline(pace: .manual, start: start, timeZone: timeZone, locale: locale))
  }

  /// A clock whose wall time stands, while sleeps take their real time; it can be moved all the same.
  ///
  /// For code that asks what day it is, and also waits for things that really happen.
  ///
  /// - Parameters:
  ///   - instant: what it shows.
  ///   - timeZone: the app's zone.
  ///   - locale: the app's region and language.
  /// - Returns: a clock of its own, which nothing else moves.
  public static func frozen(
    at instant: Date, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) -> DioramaClock {
    DioramaClock(Timeline(pace: .frozen, start: instant, timeZone: timeZone, locale: locale))
  }

  /// A clock that goes on from some instant as time really does; it can be moved all the same.
  ///
  /// - Parameters:
  ///   - start: what it shows at first.
  ///   - timeZone: the app's zone.
  ///   - locale: the app's region and language.
  /// - Returns: a clock of its own, which nothing else moves.
  public static func ticking(
    from start: Date, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) -> DioramaClock {
    DioramaClock(Timeline(pace: .ticking, start: start, timeZone: timeZone, locale: locale))
  }

  /// A clock that goes on faster or slower than time really does; it can be moved all the same.
  ///
  /// - Parameters:
  ///   - start: what it shows at first.
  ///   - rate: seconds of the app in a real second, from 0.000001 to 1,000,000.
  ///   - timeZone: the app's zone.
  ///   - locale: the app's region and language.
  /// - Returns: a clock of its own, which nothing else moves.
  /// - Throws: ``DioramaError`` for another rate.
  public static func scaled(
    from start: Date, rate: Double, timeZone: TimeZone = .gmt, locale: Locale = Locale(identifier: "en_US_POSIX")
  ) throws(DioramaError) -> DioramaClock {
    let pace = Pace.scaled(try Pace.checked(rate, .clock))
    return DioramaClock(Timeline(pace: pace, start: start, timeZone: timeZone, locale: locale))
  }
}
