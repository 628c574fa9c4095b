package import LaunchContract

/// The places of dates that cannot be recognized by their form, and the keys that sign tokens again.
package struct ShiftRules: ConfigurationPart {
  package static var member: String { "dates" }

  /// Places of seconds since 1970: `$.expires_at`, `header:X-Expires`, `query:since`, `form:since`.
  @Omittable package var epochSeconds: [String] = []
  /// Places of milliseconds since 1970.
  @Omittable package var epochMilliseconds: [String] = []
  /// Places of dates without a time, such as `2018-10-08`.
  @Omittable package var dates: [String] = []
  /// Places whose dates stay as recorded.
  @Omittable package var keep: [String] = []
  /// Keys that sign tokens again after their dates have moved. The first matching key is used.
  @Omittable package var jwt: [Key] = []

  /// A signing key: its text, or where to find it.
  package struct Key: Codable, Sendable, Equatable {
    /// The secret of HS256, HS384 and HS512, or a private key in PEM for RS, PS and ES.
    package var text: Secret?
    /// `env:VAR` or `file:PATH`, instead of `text`.
    package var key: String?
    /// Only for tokens that name this key in their header.
    package var kid: String?

    package init(text: Secret? = nil, key: String? = nil, kid: String? = nil) {
      self.text = text
      self.key = key
      self.kid = kid
    }
  }

  package init() {}

  /// Returns these places and keys, and the others.
  package func adding(_ others: ShiftRules) -> ShiftRules {
    var all = self
    all.epochSeconds.appendNew(others.epochSeconds)
    all.epochMilliseconds.appendNew(others.epochMilliseconds)
    all.dates.appendNew(others.dates)
    all.keep.appendNew(others.keep)
    all.jwt += others.jwt
    return all
  }
}
