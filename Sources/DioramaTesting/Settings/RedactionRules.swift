import EnvironmentConfiguration

extension TestEnvironment {
  /// What to redact in recordings, in addition to the default: the test's credentials, wherever they occur, the values
  /// of `Authorization`, `Cookie`, `Set-Cookie` and common API key headers, and fields such as `password` and
  /// `access_token` in queries and bodies.
  ///
  /// Only saved data is redacted; the app receives the original. In replay, requests are redacted before they are
  /// matched, so a different secret matches the same recording. The same rules can be written as `redaction` in the
  /// project file; all rules add up.
  ///
  /// ```swift
  /// .environment(
  ///   redaction: .init(query: ["token"], json: ["$.user.pin", "$..ssn"], patterns: ["sk_live_[A-Za-z0-9]+"]))
  /// ```
  ///
  /// Decoding rejects unknown members, because a misspelled rule would redact nothing.
  public struct RedactionRules: Codable, Equatable, Sendable {
    /// Exceptions from the default.
    public struct Keep: Equatable, Sendable {
      fileprivate let headers: [String]
      fileprivate let fields: [String]
      fileprivate let credentials: [String]

      /// Creates exceptions.
      ///
      /// - Parameters:
      ///   - headers: header fields that are redacted by default.
      ///   - fields: fields of queries and bodies that are redacted by default, such as `password`.
      ///   - credentials: credentials that are not secret, such as a user name, as `SERVICE/ACCOUNT`.
      public init(headers: [String] = [], fields: [String] = [], credentials: [String] = []) {
        self.headers = headers
        self.fields = fields
        self.credentials = credentials
      }
    }

    let rules: ConfiguredRedaction

    /// Creates rules. Names of headers, query items and form fields are case-insensitive.
    ///
    /// - Parameters:
    ///   - headers: header fields whose whole value is redacted.
    ///   - query: query items whose value is redacted, in the request's URL and in URLs in headers and text.
    ///   - json: places in JSON bodies, as JSON paths (RFC 9535) of names, indices, `*` and `..`: `$.user.password`,
    ///     `$..ssn`, `$.items[*].pin`. A string is replaced by a placeholder, a number by 0 and a Boolean by `false`,
    ///     so that the app can still decode the body.
    ///   - form: fields of form bodies, urlencoded and multipart.
    ///   - patterns: regular expressions; every match is redacted.
    ///   - keep: exceptions from the default.
    public init(
      headers: [String] = [], query: [String] = [], json: [String] = [], form: [String] = [], patterns: [String] = [],
      keep: Keep = Keep()
    ) {
      var rules = ConfiguredRedaction()
      rules.headers = headers
      rules.query = query
      rules.json = json
      rules.form = form
      rules.patterns = patterns
      rules.keep = .init(headers: keep.headers, fields: keep.fields, credentials: keep.credentials)
      self.init(rules)
    }

    init(_ rules: ConfiguredRedaction) { self.rules = rules }

    /// Decodes rules in the format of the project file.
    ///
    /// - Throws: an error for an unknown member or a wrong type.
    public init(from decoder: any Decoder) throws { rules = try ConfiguredRedaction(strictlyFrom: decoder) }

    /// Encodes rules in the format of the project file.
    public func encode(to encoder: any Encoder) throws { try rules.encode(to: encoder) }
  }
}

// Inside `TestEnvironment`, `RedactionRules` is the type above.
typealias ConfiguredRedaction = RedactionRules
