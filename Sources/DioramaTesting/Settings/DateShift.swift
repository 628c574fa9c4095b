import EnvironmentConfiguration
import LaunchContract

extension TestEnvironment {
  /// Moves dates in replayed responses by the clock's time minus the recording date, for an app that cannot freeze its
  /// clock. Dates in the app's requests are moved back before they are matched.
  ///
  /// ISO 8601 dates with a time, HTTP dates, and the `Expires` attribute of cookies are recognized by their format.
  /// Declare other dates here or as `dates` in the project file; both apply. The clock defaults to `system`. Only
  /// replay moves dates: recordings and live responses are unchanged.
  ///
  /// ```swift
  /// .environment(.replay, dates: .init(epochSeconds: ["$.expires_at"], jwt: [.init("the signing secret")]))
  /// ```
  public struct DateShift: Equatable, Sendable {
    /// A key that signs JSON Web Tokens again after their dates have been moved.
    public struct Key: Equatable, Sendable {
      fileprivate let key: ShiftRules.Key

      /// Creates a key.
      ///
      /// - Parameters:
      ///   - text: the secret for HS256, HS384 and HS512, or a private key in PEM format.
      ///   - kid: the `kid` header of the tokens to sign; nil for all tokens.
      public init(_ text: String, kid: String? = nil) {
        key = ShiftRules.Key(text: Secret(text), kid: kid)
      }
    }

    let rules: ShiftRules

    /// Creates rules. A place is a JSON path (`$.expires_at`), `header:NAME`, `query:NAME` or `form:NAME`.
    ///
    /// - Parameters:
    ///   - epochSeconds: places of seconds since 1970.
    ///   - epochMilliseconds: places of milliseconds since 1970.
    ///   - dates: places of dates without a time, such as `2018-10-08`.
    ///   - keep: places whose dates are not moved.
    ///   - jwt: keys that sign moved JSON Web Tokens; the first matching key is used. Tokens without a matching key are
    ///     not changed.
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
