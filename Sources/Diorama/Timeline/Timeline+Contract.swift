import Foundation
package import LaunchContract

// Not only where apps read a contract: environments are held by release builds too.
extension Timeline {
  /// The time that a contract asks for.
  ///
  /// - Throws: ``DioramaError`` when the machine does not know the time zone, an instant is none, or the rate is not
  ///   between 0.000001 and 1,000,000.
  package convenience init(_ clock: LaunchContract.Clock) throws(DioramaError) {
    let pace = try Pace(clock)
    let start = try clock.startDate
    guard start != nil || pace == .system else { throw LaunchContract.Clock.noInstant(nil, "start") }
    self.init(
      pace: pace, start: start ?? Date(), age: try clock.age(at: Date()), timeZone: try clock.zone,
      locale: clock.locale.map(Locale.init(identifier:)))
  }

  /// Puts another clock in the place of this one while it runs; monotonic time goes on.
  ///
  /// Sleepers stay: those whose date the new clock shows as past are woken, the others wait for their deadlines at the
  /// new pace.
  ///
  /// - Parameter clock: the whole of it. Without `start`, wall time goes on from where it is. With `provisioned`, it
  ///   has shown `start` then, so that all apps of an environment show the same.
  /// - Throws: as the making of one; nothing is changed then.
  package func change(to clock: LaunchContract.Clock) throws(DioramaError) {
    let pace = try Pace(clock)
    let start = try clock.startDate
    let zone = try clock.zone
    let age = try clock.age(at: real.date)
    update { inside, moment in
      inside.time.change(to: pace, start: start, age: age, at: moment)
      inside.timeZone = zone
      inside.locale = clock.locale.map(Locale.init(identifier:))
      publish(inside)
    }
  }
}

extension Pace {
  fileprivate init(_ clock: LaunchContract.Clock) throws(DioramaError) {
    switch clock.kind {
    case .system: self = .system
    case .frozen: self = .frozen
    case .ticking: self = .ticking
    case .scaled: self = .scaled(try Pace.checked(clock.rate, .contract))
    case .manual: self = .manual
    }
  }

  /// - Throws: ``DioramaError`` for a rate that is not between 0.000001 and 1,000,000.
  static func checked(_ rate: Double, _ kind: DioramaError.Kind) throws(DioramaError) -> Double {
    guard 0.000_001...1_000_000 ~= rate else {
      throw DioramaError(kind, "clock.rate: \(rate) is not between 0.000001 and 1000000")
    }
    return rate
  }
}

extension LaunchContract.Clock {
  fileprivate var startDate: Date? {
    get throws(DioramaError) {
      guard kind != .system, let start else { return nil }
      return try Self.instant(start, "start")
    }
  }

  /// How many nanoseconds ago the clock showed its start.
  ///
  /// An app that starts later than its environment finds the time that the others have.
  fileprivate func age(at date: Date) throws(DioramaError) -> Int64 {
    guard let provisioned else { return 0 }
    let seconds = date.timeIntervalSince(try Self.instant(provisioned, "provisioned"))
    // No environment is older than thirty years.
    return Int64(min(max(0, seconds), 1e9) * 1e9)
  }

  fileprivate var zone: TimeZone? {
    get throws(DioramaError) {
      guard let timeZone else { return nil }
      guard let zone = TimeZone(identifier: timeZone) else {
        throw DioramaError(
          .contract, "clock.timeZone: '\(timeZone)' is no zone that this machine knows, such as Europe/London")
      }
      return zone
    }
  }

  private static func instant(_ text: String, _ field: String) throws(DioramaError) -> Date {
    guard let date = RFC3339.parse(text) else { throw noInstant(text, field) }
    return date
  }

  fileprivate static func noInstant(_ text: String?, _ field: String) -> DioramaError {
    DioramaError(.contract, "clock.\(field): '\(text ?? "")' is not an instant such as 2018-10-08T09:00:00Z")
  }
}
