import EnvironmentConfiguration

extension TestEnvironment {
  /// What is redacted in a recording in addition to the default: the test's credentials, wherever they occur, and the
  /// values of `Authorization`, `Cookie`, `Set-Cookie` and the usual headers of API keys.
  ///
  /// Only what is saved is redacted; the app gets the original. In replay, a request is redacted before it is matched, so
  /// that another secret finds the same recording. The project file has the same members as `redaction`; all rules add up.
  ///
  /// ```swift
  /// .environment(redaction: .init(query: ["token"], json: ["$.user.password", "$..ssn"], patterns: ["sk_live_[A-Za-z0-9]+"]))
  /// ```
  ///
  /// Decoding refuses unknown members: a misspelled rule would redact nothing.
  public struct RedactionRules: Codable, Equatable, Sendable {
    /// Defaults that do not hold.
    public struct Keep: Equatable, Sendable {
      fileprivate let headers: [String]
      fileprivate let credentials: [String]

      /// - Parameters:
      ///   - headers: header fields that would be redacted without being named.
      ///   - credentials: credentials that are no secrets, as `SERVICE/ACCOUNT`, such as a user's name.
      public init(headers: [String] = [], credentials: [String] = []) {
        self.headers = headers
        self.credentials = credentials
      }
    }

    let rules: ConfiguredRedaction

    /// - Parameters:
    ///   - headers: header fields whose whole value goes; in any case of letters.
    ///   - query: items of a URL's query whose value goes, in the request's and in URLs in headers and text; in any case.
    ///   - json: places in JSON bodies, as JSON paths (RFC 9535) of names, indices, `*` and `..`: `$.user.password`, `$..ssn`,
    ///     `$.items[*].pin`. A string becomes a mark, a number 0, a Boolean `false`, so that an app still reads it.
    ///   - form: fields of form bodies, urlencoded and multipart; in any case.
    ///   - patterns: regular expressions for what goes wherever it stands.
    ///   - keep: defaults that do not hold.
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
      rules.keep = .init(headers: keep.headers, credentials: keep.credentials)
      self.init(rules)
    }

    init(_ rules: ConfiguredRedaction) { self.rules = rules }

    /// Reads rules as a file has them.
    ///
    /// - Throws: for a member that is not known, or of another type.
    public init(from decoder: any Decoder) throws { rules = try ConfiguredRedaction(strictlyFrom: decoder) }

    /// Writes rules as a file has them.
    public func encode(to encoder: any Encoder) throws { try rules.encode(to: encoder) }
  }
}

// Inside of `TestEnvironment` the name means the type above.
typealias ConfiguredRedaction = RedactionRules
