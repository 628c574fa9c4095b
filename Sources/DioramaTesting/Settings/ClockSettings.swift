import Basics
import EnvironmentConfiguration
public import Foundation
import LaunchContract

extension TestEnvironment {
  /// The app's time when it starts, and how it advances.
  ///
  /// Left out, time stands: in `replay` and `extend` at the date of the recording, else at the moment of provisioning.
  ///
  /// ```swift
  /// .environment(clock: .manual(at: "2018-10-08T09:00:00Z", timeZone: "Europe/London", locale: "en_GB"))
  /// ```
  ///
  /// The time zone is an IANA name and the locale one such as `en_GB`; left out, they are as recorded, else the
  /// machine's.
  public struct ClockSettings: Sendable, Equatable {
    /// An instant: an RFC 3339 text as a literal, or a `Date`.
    public struct Instant: Sendable, Equatable, ExpressibleByStringLiteral {
      let text: String

      /// - Parameter value: such as `2018-10-08T09:00:00Z`; another text is an error when the environment is
      ///   provisioned.
      public init(stringLiteral value: String) { text = value }

      /// - Parameter date: the instant; milliseconds count, no less.
      public init(_ date: Date) { text = RFC3339.format(date) }

      func date() throws(DioramaTestingError) -> Date {
        guard let date = RFC3339.parse(text) else {
          throw DioramaTestingError(
            .usage, "'\(text)' is no RFC 3339 instant for a clock; write one such as 2018-10-08T09:00:00Z")
        }
        return date
      }
    }

    let kind: LaunchContract.Clock.Kind
    var rate = 1.0
    var start: Instant?
    var timeZone: String?
    var locale: String?

    /// The machine's own time.
    public static var system: Self { Self(kind: .system) }
    /// Wall time stands, monotonic time is real.
    public static var frozen: Self { Self(kind: .frozen) }
    /// Wall time runs on from its start.
    public static var ticking: Self { Self(kind: .ticking) }
    /// Wall and monotonic time stand until the test moves them: sleeps last until then, too.
    public static var manual: Self { Self(kind: .manual) }

    /// The machine's own time in another time zone or locale.
    public static func system(timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .system, timeZone: timeZone, locale: locale)
    }

    /// Wall time stands at an instant, monotonic time is real.
    public static func frozen(at start: Instant? = nil, timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .frozen, start: start, timeZone: timeZone, locale: locale)
    }

    /// Wall time runs on from an instant.
    public static func ticking(from start: Instant? = nil, timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .ticking, start: start, timeZone: timeZone, locale: locale)
    }

    /// Wall time runs from an instant, wall and monotonic time both at a rate.
    ///
    /// - Parameters:
    ///   - rate: seconds of the app in a real second, 0.000001 to 1,000,000.
    ///   - start: the first instant.
    ///   - timeZone: an IANA name.
    ///   - locale: such as `en_GB`.
    /// - Returns: the settings.
    public static func scaled(
      by rate: Double, from start: Instant? = nil, timeZone: String? = nil, locale: String? = nil
    ) -> Self {
      Self(kind: .scaled, rate: rate, start: start, timeZone: timeZone, locale: locale)
    }

    /// Wall and monotonic time stand, wall time at an instant, until the test moves them.
    public static func manual(at start: Instant? = nil, timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .manual, start: start, timeZone: timeZone, locale: locale)
    }

    var configuration: EnvironmentConfiguration.Clock {
      .init(
        kind: kind.rawValue, start: start?.text, rate: kind == .scaled ? rate : nil, timeZone: timeZone, locale: locale)
    }
  }
}
