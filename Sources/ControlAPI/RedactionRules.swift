/// What is taken out of a recording beside what always is: credentials that the environment knows, and the headers that
/// carry them.
///
/// The member `redact` of a request, and the content of `NAME.redact.json` and `redact.json` beside a cassette.
package struct RedactionRules: RulesDocument {
  /// Header fields whose whole value goes; in any case of letters.
  package var headers: [String] = []
  /// Items of a URL's query whose value goes, in the request's and in URLs in headers and text; in any case of letters.
  package var query: [String] = []
  /// Places in JSON bodies: JSON paths (RFC 9535) of names, indices, `*` and `..`.
  package var json: [String] = []
  /// Fields of form bodies, urlencoded and multipart; in any case of letters.
  package var form: [String] = []
  /// Regular expressions for what goes wherever it stands.
  package var patterns: [String] = []
  /// Defaults that do not hold.
  package var keep = Keep()

  /// Defaults that do not hold.
  package struct Keep: Codable, Sendable, Equatable {
    /// Header fields that would be redacted without being named.
    package var headers: [String] = []
    /// Credentials, as `SERVICE/ACCOUNT`, that are no secrets, such as a user's name.
    package var credentials: [String] = []

    package init(headers: [String] = [], credentials: [String] = []) {
      self.headers = headers
      self.credentials = credentials
    }

    private enum CodingKeys: String, CodingKey, CaseIterable {
      case headers, credentials
    }

    package init(from decoder: any Decoder) throws {
      let container = try decoder.strictContainer(CodingKeys.self)
      headers = try container.texts(.headers)
      credentials = try container.texts(.credentials)
    }

    package func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: CodingKeys.self)
      try container.encode(texts: headers, .headers)
      try container.encode(texts: credentials, .credentials)
    }
  }

  package init() {}

  private enum CodingKeys: String, CodingKey, CaseIterable {
    case headers, query, json, form, patterns, keep
  }

  package static var members: [String] { CodingKeys.allCases.map(\.rawValue) }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.strictContainer(CodingKeys.self)
    headers = try container.texts(.headers)
    query = try container.texts(.query)
    json = try container.texts(.json)
    form = try container.texts(.form)
    patterns = try container.texts(.patterns)
    keep = try container.decodeIfPresent(Keep.self, forKey: .keep) ?? Keep()
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(texts: headers, .headers)
    try container.encode(texts: query, .query)
    try container.encode(texts: json, .json)
    try container.encode(texts: form, .form)
    try container.encode(texts: patterns, .patterns)
    if keep != Keep() { try container.encode(keep, forKey: .keep) }
  }

  /// All of these and all of the others: rules only add up.
  package func adding(_ others: RedactionRules) -> RedactionRules {
    func united(_ left: [String], _ right: [String]) -> [String] { left + right.filter { !left.contains($0) } }
    var all = self
    all.headers = united(headers, others.headers)
    all.query = united(query, others.query)
    all.json = united(json, others.json)
    all.form = united(form, others.form)
    all.patterns = united(patterns, others.patterns)
    all.keep.headers = united(keep.headers, others.keep.headers)
    all.keep.credentials = united(keep.credentials, others.keep.credentials)
    return all
  }
}
