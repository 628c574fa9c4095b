import EnvironmentConfiguration

extension TestEnvironment {
  /// What counts as the same request, where that is not the default: method, upstream, path, query and body by value.
  ///
  /// All rules that fit a request apply to it: what they ignore adds up, and where two say something different the later one
  /// counts. What is ignored is compared as if it were not there. Nothing of it is stored in a cassette, so that a changed
  /// rule needs no new recording.
  ///
  /// ```swift
  /// @Suite(.environment(rules: [
  ///   .rule(ignoringQuery: ["_"], json: ["$.sentAt"]),
  ///   .rule(path: "/search/**", comparingHeaders: ["Accept-Language"], body: .nothing),
  /// ]))
  /// struct BookingTests { … }
  /// ```
  ///
  /// The same rules can be in the project file, `diorama.json`, as `matching`; those of the code are added to them. As
  /// `Codable` it is the content of `matching`: `{"rules": [{"path": "/search/**", "ignore": {"json": ["$.sentAt"]}}]}`; an
  /// unknown member is an error that names its place and what is allowed.
  public struct MatchingRules: Sendable, Equatable, Codable, ExpressibleByArrayLiteral {
    let rules: ConfiguredMatching

    /// - Parameters:
    ///   - rules: in order.
    ///   - order: in which order interactions play; nil for `request`.
    public init(_ rules: [Rule], order: PlaybackOrder? = nil) {
      self.rules = ConfiguredMatching(
        rules: rules.map(\.rule), order: order.flatMap { ConfiguredOrder(rawValue: $0.rawValue) })
    }

    /// Rules, in order.
    public init(arrayLiteral elements: Rule...) { self.init(elements) }

    /// Reads the content of `matching`.
    public init(from decoder: any Decoder) throws { rules = try ConfiguredMatching(strictlyFrom: decoder) }

    /// Writes the content of `matching`.
    public func encode(to encoder: any Encoder) throws { try rules.encode(to: encoder) }
  }
}

extension TestEnvironment.MatchingRules {
  /// What is different for some requests; see ``TestEnvironment/MatchingRules``.
  public struct Rule: Sendable, Equatable {
    let rule: ConfiguredMatching.Rule

    /// A rule for the requests of an upstream, with a method, of a path, or for all.
    ///
    /// - Parameters:
    ///   - upstream: its name; nil for all.
    ///   - method: nil for all.
    ///   - path: `*` stands for anything within a segment, `**` for anything at all; nil for all.
    ///   - ignoringHeaders: names of headers that an earlier rule compares. In all names `*` stands for anything.
    ///   - ignoringQuery: names of query items.
    ///   - json: JSON paths in the body that are ignored, such as `$.orders[*].sentAt` or `$..id`.
    ///   - form: names of form items and of multipart parts that are ignored.
    ///   - patterns: regular expressions of PCRE2. Their matches are ignored in the path, in values of the query and of compared
    ///     headers, and in the body.
    ///   - comparingMethod: whether the method counts; nil: as it is.
    ///   - scheme: whether the scheme of the upstream's origin counts.
    ///   - host: whether host and port of the upstream's origin count.
    ///   - comparingPath: whether the path counts.
    ///   - query: whether the query counts.
    ///   - comparingHeaders: names of headers that count.
    ///   - body: as what the body is compared.
    ///   - changesState: whether such requests move the state in ``TestEnvironment/PlaybackOrder/state``; nil: all but `GET`,
    ///     `HEAD`, `OPTIONS` and `TRACE` do.
    /// - Returns: the rule.
    public static func rule(
      upstream: String? = nil, method: String? = nil, path: String? = nil, ignoringHeaders: [String] = [],
      ignoringQuery: [String] = [], json: [String] = [], form: [String] = [], patterns: [String] = [],
      comparingMethod: Bool? = nil, scheme: Bool? = nil, host: Bool? = nil, comparingPath: Bool? = nil,
      query: Bool? = nil, comparingHeaders: [String] = [], body: Body? = nil, changesState: Bool? = nil
    ) -> Rule {
      Rule(
        rule: ConfiguredMatching.Rule(
          upstream: upstream, method: method, path: path,
          ignore: .init(headers: ignoringHeaders, query: ignoringQuery, json: json, form: form, pattern: patterns),
          compare: .init(
            method: comparingMethod, scheme: scheme, host: host, path: comparingPath, query: query,
            headers: comparingHeaders, body: body.map { ConfiguredMatching.BodyKind($0) }),
          changesState: changesState))
    }
  }

  /// As what a body is compared; what cannot be read as that is compared byte by byte.
  public enum Body: Sendable, Equatable, CaseIterable {
    /// As its `Content-Type` says: JSON by value, forms as queries, multipart by parts, else bytes.
    case auto
    /// Byte by byte.
    case bytes
    /// JSON by value.
    case json
    /// Form items.
    case form
    /// Parts in order, by name, file name, content type and content, whatever the boundary.
    case multipart
    /// Elements in order with their attributes in any; prefixes are resolved, white space between elements is nothing.
    case xml
    /// Not at all.
    case nothing
  }
}

extension TestEnvironment {
  /// In which order recorded interactions play.
  public enum PlaybackOrder: String, Sendable, CaseIterable {
    /// The next interaction of all must be the one that is asked for; those that overlapped in the recording come in any
    /// order.
    case strict
    /// Repeats of one request come in recorded order, then the last again: the default.
    case request
    /// A request is answered as it was recorded after the same changes: a `GET` differently once the `POST` has been made.
    case state
    /// In any order: of recordings that only rules make equal, the one that is equal without them comes first.
    case free
  }
}

extension ConfiguredMatching.BodyKind {
  fileprivate init(_ body: TestEnvironment.MatchingRules.Body) {
    self =
      switch body {
      case .auto: .auto
      case .bytes: .bytes
      case .json: .json
      case .form: .form
      case .multipart: .multipart
      case .xml: .xml
      case .nothing: .none
      }
  }
}

typealias ConfiguredMatching = MatchingRules
typealias ConfiguredOrder = PlaybackOrder
