#if DEBUG || Controlled
  import Foundation
  import LaunchContract

  extension DioramaClock {
    /// The clock that a contract asks for.
    ///
    /// - Throws: ``DioramaError`` when the machine does not know the time zone, or an instant is none.
    init(_ clock: LaunchContract.Clock) throws(DioramaError) {
      let pace: Timeline.Pace =
        switch clock.kind {
        case .system: .system
        case .frozen: .frozen
        case .ticking: .ticking
        case .scaled: .scaled(clock.rate)
        case .manual: .manual
        }
      let real = Date()
      var start = real
      if clock.kind != .system { start = try Self.instant(clock.start, "start") }
      // An app that starts later than its environment finds the time that the others have.
      var age = 0.0
      if let provisioned = clock.provisioned {
        age = max(0, real.timeIntervalSince(try Self.instant(provisioned, "provisioned")))
      }
      self.init(
        timeline: Timeline(pace: pace, start: start), origin: .now - .seconds(age),
        timeZone: try Self.timeZone(clock.timeZone), locale: clock.locale.map(Locale.init(identifier:)) ?? .current)
    }

    private static func instant(_ text: String?, _ field: String) throws(DioramaError) -> Date {
      guard let date = text.flatMap(RFC3339.parse) else {
        throw DioramaError(
          .contract, "launch contract: clock.\(field): '\(text ?? "")' is not an instant such as 2018-10-08T09:00:00Z")
      }
      return date
    }

    private static func timeZone(_ identifier: String?) throws(DioramaError) -> TimeZone {
      guard let identifier else { return .current }
      guard let zone = TimeZone(identifier: identifier) else {
        throw DioramaError(
          .contract,
          "launch contract: clock.timeZone: '\(identifier)' is no zone that this machine knows, such as Europe/London")
      }
      return zone
    }
  }
#endif
