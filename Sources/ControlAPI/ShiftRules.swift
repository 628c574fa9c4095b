package import LaunchContract

/// The places of dates that do not look like dates, and the keys that sign moved tokens.
///
/// The member `shift` of a request, and the content of `NAME.shift.json` and `shift.json` beside a cassette.
package struct ShiftRules: RulesDocument {
  /// Places of numbers of seconds since 1970: `$.expires_at`, `header:X-Expires`, `query:since`, `form:since`.
  package var epochSeconds: [String] = []
  /// Places of numbers of milliseconds since 1970.
  package var epochMilliseconds: [String] = []
  /// Places of dates without a time, as `2018-10-08`.
  package var dates: [String] = []
  /// Places at which dates stay.
  package var keep: [String] = []
  /// Keys that sign moved tokens. The first that fits is used.
  package var jwt: [Key] = []

  /// A key of tokens: its text, or where it is found.
  package struct Key: Codable, Sendable, Equatable {
    /// The secret of HS256, HS384 and HS512; or a private key as PEM, for RS, PS and ES.
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

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case text, key, kid
    }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.strictContainer(CodingKeys.self)
      text = try container.decodeIfPresent(Secret.self, forKey: .text)
      key = try container.decodeIfPresent(String.self, forKey: .key)
      kid = try container.decodeIfPresent(String.self, forKey: .kid)
    }
  }

  package init() {}

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case epochSeconds, epochMilliseconds, dates, keep, jwt
  }

  package static var members: [String] { CodingKeys.allCases.map(\.rawValue) }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(CodingKeys.self)
    epochSeconds = try container.texts(.epochSeconds)
    epochMilliseconds = try container.texts(.epochMilliseconds)
    dates = try container.texts(.dates)
    keep = try container.texts(.keep)
    jwt = try container.decodeIfPresent([Key].self, forKey: .jwt) ?? []
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(texts: epochSeconds, .epochSeconds)
    try container.encode(texts: epochMilliseconds, .epochMilliseconds)
    try container.encode(texts: dates, .dates)
    try container.encode(texts: keep, .keep)
    if !jwt.isEmpty { try container.encode(jwt, forKey: .jwt) }
  }
}
