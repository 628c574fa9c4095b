import EnvironmentConfiguration
import LaunchContract

extension TestEnvironment {
  /// Moves dates in replayed responses by the clock's time minus the recording date, for an app that cannot freeze its
  /// clock. Dates in the app's requests are moved back before they are matched.
  ///
  /// Dates in ISO 8601 with a time, HTTP dates, and the `Expires` of cookies are found by their form. Declare all others
  /// here, or in the project file as `dates`; both add up. The clock is `system` by default. Only replay moves dates:
  /// recordings and live responses stay as they are.
  ///
  /// ```swift
  /// .environment(.replay, dates: .init(epochSeconds: ["$.expires_at"], jwt: [.init("the signing secret")]))
  /// ```
  public struct DateShift: Equatable, Sendable {
    /// A key that signs tokens again after their dates have been moved.
    public struct Key: Equatable, Sendable {
      fileprivate let key: ShiftRules.Key

      /// - Parameters:
      ///   - text: the secret of HS256, HS384 and HS512; or a private key as PEM.
      ///   - kid: only for tokens that name this key in their header; left out, for any.
      public init(_ text: String, kid: String? = nil) {
        key = ShiftRules.Key(text: Secret(text), kid: kid)
      }
    }

    let rules: ShiftRules

    /// Places are JSON paths (`$.expires_at`), `header:NAME`, `query:NAME` and `form:NAME`.
    ///
    /// - Parameters:
    ///   - epochSeconds: where numbers of seconds since 1970 stand.
    ///   - epochMilliseconds: where numbers of milliseconds since 1970 stand.
    ///   - dates: where dates without a time stand, as `2018-10-08`.
    ///   - keep: where dates stay.
    ///   - jwt: keys that sign moved JSON Web Tokens; the first that fits is used. Tokens without a key stay unchanged.
    public init(
      epochSeconds: [String] = [], epochMilliseconds: [String] = [], dates: [String] = [], keep: [String] = [],
      jwt: [Key] = []
    ) {
      var rules = ShiftRules()
      rules.epochSeconds = epochSeconds
      rules.epochMilliseconds = epochMilliseconds
      rules.dates = dates
      rules.keep = keep
      rules.jwt = jwt.map(\.key)
      self.rules = rules
    }
  }
}
