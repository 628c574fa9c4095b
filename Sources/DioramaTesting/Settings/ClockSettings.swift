import Basics
import EnvironmentConfiguration
public import Foundation
import LaunchContract

extension TestEnvironment {
  /// The time that the app sees: when it starts, and how it advances.
  ///
  /// By default the clock is frozen: in `replay` and `extend` at the recording date, otherwise at the time of
  /// provisioning.
  ///
  /// ```swift
  /// .environment(clock: .manual(at: "2018-10-08T09:00:00Z", timeZone: "Europe/London", locale: "en_GB"))
  /// ```
  ///
  /// A time zone is an IANA name such as `Europe/London`, a locale an identifier such as `en_GB`. Each defaults to the
  /// recorded one, or the machine's if none is recorded.
  public struct ClockSettings: Sendable, Equatable {
    /// An instant: a string literal in RFC 3339 format, or a `Date`.
    public struct Instant: Sendable, Equatable, ExpressibleByStringLiteral {
      let text: String

      /// Creates an instant from a string literal. Provisioning fails if its format is invalid.
      ///
      /// - Parameter value: an RFC 3339 date and time, such as `2018-10-08T09:00:00Z`.
      public init(stringLiteral value: String) { text = value }

      /// Creates an instant from a date.
      ///
      /// - Parameter date: the date, with millisecond precision.
      public init(_ date: Date) { text = RFC3339.format(date) }

      func date() throws(DioramaTestingError) -> Date {
        guard let date = RFC3339.parse(text) else {
          throw DioramaTestingError(
            .usage, "'\(text)' is not an RFC 3339 instant; use one such as 2018-10-08T09:00:00Z")
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
    /// Wall time stands still; monotonic time is real.
    public static var frozen: Self { Self(kind: .frozen) }
    /// Wall time runs from its start; monotonic time is real.
    public static var ticking: Self { Self(kind: .ticking) }
    /// Wall time and monotonic time stand still until the test moves them. Sleeping tasks wake only then.
    public static var manual: Self { Self(kind: .manual) }

    /// The machine's own time, in another time zone or locale.
    public static func system(timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .system, timeZone: timeZone, locale: locale)
    }

    /// Wall time stands still at an instant; monotonic time is real.
    public static func frozen(at start: Instant? = nil, timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .frozen, start: start, timeZone: timeZone, locale: locale)
    }

    /// Wall time runs from an instant; monotonic time is real.
    public static func ticking(from start: Instant? = nil, timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .ticking, start: start, timeZone: timeZone, locale: locale)
    }

    /// Wall time runs from an instant; wall time and monotonic time both run at a rate.
    ///
    /// - Parameters:
    ///   - rate: seconds of the app per real second, 0.000001 to 1,000,000.
    ///   - start: the instant at which wall time starts.
    ///   - timeZone: an IANA name, such as `Europe/London`.
    ///   - locale: an identifier, such as `en_GB`.
    /// - Returns: the settings.
    public static func scaled(
      by rate: Double, from start: Instant? = nil, timeZone: String? = nil, locale: String? = nil
    ) -> Self {
      Self(kind: .scaled, rate: rate, start: start, timeZone: timeZone, locale: locale)
    }

    /// Wall time, set to an instant, and monotonic time stand still until the test moves them.
    public static func manual(at start: Instant? = nil, timeZone: String? = nil, locale: String? = nil) -> Self {
      Self(kind: .manual, start: start, timeZone: timeZone, locale: locale)
    }

    var configuration: EnvironmentConfiguration.Clock {
      .init(
        kind: kind.rawValue, start: start?.text, rate: kind == .scaled ? rate : nil, timeZone: timeZone, locale: locale)
    }
  }
}
