import EnvironmentConfiguration

extension TestEnvironment {
  /// Rules for what counts as the same request. By default, requests are compared by method, upstream, path, query, and
  /// body by value.
  ///
  /// All rules that match a request apply to it: what they ignore adds up; where two set the same part, the later one
  /// wins. Ignored parts are treated as absent. Rules are not stored in the cassette, so changing them does not
  /// invalidate recordings.
  ///
  /// ```swift
  /// @Suite(.environment(rules: [
  ///   .rule(ignoringQuery: ["_"], json: ["$.sentAt"]),
  ///   .rule(path: "/search/**", comparingHeaders: ["Accept-Language"], body: .nothing),
  /// ]))
  /// struct BookingTests { … }
  /// ```
  ///
  /// The same rules can be written as `matching` in the project file, `diorama.json`; rules in code are added to them.
  /// The encoded form is the content of `matching`:
  ///
  /// ```json
  /// {"rules": [{"path": "/search/**", "ignore": {"json": ["$.sentAt"]}}]}
  /// ```
  ///
  /// Decoding rejects unknown members, with an error that names the place and the allowed members.
  public struct MatchingRules: Sendable, Equatable, Codable, ExpressibleByArrayLiteral {
    let rules: ConfiguredMatching

    /// Creates matching rules.
    ///
    /// - Parameters:
    ///   - rules: the rules, in order.
    ///   - order: the order in which interactions play; nil for ``TestEnvironment/PlaybackOrder/request``.
    public init(_ rules: [Rule], order: PlaybackOrder? = nil) {
      self.rules = ConfiguredMatching(
        rules: rules.map(\.rule), order: order.flatMap { ConfiguredOrder(rawValue: $0.rawValue) })
    }

    /// Creates matching rules from a list of rules, in order.
    public init(arrayLiteral elements: Rule...) { self.init(elements) }

    /// Decodes the content of `matching`.
    public init(from decoder: any Decoder) throws { rules = try ConfiguredMatching(strictlyFrom: decoder) }

    /// Encodes the content of `matching`.
    public func encode(to encoder: any Encoder) throws { try rules.encode(to: encoder) }
  }
}

extension TestEnvironment.MatchingRules {
  /// A rule for some requests; see ``TestEnvironment/MatchingRules``.
  public struct Rule: Sendable, Equatable {
    let rule: ConfiguredMatching.Rule

    /// Creates a rule for the requests with an upstream, a method and a path, or for all requests.
    ///
    /// - Parameters:
    ///   - upstream: the upstream's name; nil for all.
    ///   - method: the method; nil for all.
    ///   - path: a pattern for the path: `*` matches any text within a segment, `**` any text; nil for all paths.
    ///   - ignoringHeaders: names of headers to ignore that an earlier rule compares. In names, `*` matches any text.
    ///   - ignoringQuery: names of query items to ignore.
    ///   - json: JSON paths in the body to ignore, such as `$.orders[*].sentAt` or `$..id`.
    ///   - form: names of form items and multipart parts to ignore.
    ///   - patterns: PCRE2 regular expressions. Their matches are ignored in the path, in values of query items and
    ///     compared headers, and in the body.
    ///   - echoingHeaders: names of headers to ignore, and to put into the response in place of the recorded value.
    ///   - echoingQuery: names of query items to ignore and echo, such as `state`.
    ///   - echoingJSON: JSON paths of strings and numbers to ignore and echo, such as `$.id`.
    ///   - echoingForm: names of form items and multipart parts to ignore and echo.
    ///   - comparingMethod: whether to compare the method; nil for no change.
    ///   - scheme: whether to compare the scheme of the upstream's origin; nil for no change.
    ///   - host: whether to compare host and port of the upstream's origin; nil for no change.
    ///   - comparingPath: whether to compare the path; nil for no change.
    ///   - query: whether to compare the query; nil for no change.
    ///   - comparingHeaders: names of headers to compare.
    ///   - body: how to compare the body; nil for no change.
    ///   - partOrder: whether the order of multipart parts with different names counts; nil for no change.
    ///   - changesState: whether these requests change the state in ``TestEnvironment/PlaybackOrder/state``; nil for
    ///     the default: all methods except `GET`, `HEAD`, `OPTIONS` and `TRACE` do.
    /// - Returns: the rule.
    public static func rule(
      upstream: String? = nil, method: String? = nil, path: String? = nil, ignoringHeaders: [String] = [],
      ignoringQuery: [String] = [], json: [String] = [], form: [String] = [], patterns: [String] = [],
      echoingHeaders: [String] = [], echoingQuery: [String] = [], echoingJSON: [String] = [],
      echoingForm: [String] = [], comparingMethod: Bool? = nil, scheme: Bool? = nil, host: Bool? = nil,
      comparingPath: Bool? = nil,
      query: Bool? = nil, comparingHeaders: [String] = [], body: Body? = nil, partOrder: Bool? = nil,
      changesState: Bool? = nil
    ) -> Rule {
      Rule(
        rule: ConfiguredMatching.Rule(
          upstream: upstream, method: method, path: path,
          ignore: .init(headers: ignoringHeaders, query: ignoringQuery, json: json, form: form, pattern: patterns),
          echo: .init(headers: echoingHeaders, query: echoingQuery, json: echoingJSON, form: echoingForm),
          compare: .init(
            method: comparingMethod, scheme: scheme, host: host, path: comparingPath, query: query,
            headers: comparingHeaders, body: body.map { ConfiguredMatching.BodyKind($0) }, partOrder: partOrder),
          changesState: changesState))
    }
  }

  /// How to compare bodies. A body that does not parse is compared byte by byte.
  public enum Body: Sendable, Equatable, CaseIterable {
    /// By its `Content-Type`: JSON by value, forms like queries, multipart by parts, anything else byte by byte.
    case auto
    /// Byte by byte.
    case bytes
    /// JSON by value.
    case json
    /// By form items.
    case form
    /// By parts in order, with name, file name, content type and content; boundaries are ignored.
    case multipart
    /// By elements in order, with attributes in any order and prefixes resolved; white space between elements is
    /// ignored.
    case xml
    /// Not at all.
    case nothing
  }
}

extension TestEnvironment {
  /// The order in which recorded interactions play.
  public enum PlaybackOrder: String, Sendable, CaseIterable {
    /// Exactly the recorded order. Interactions that overlapped in the recording may play in any order.
    case strict
    /// Each request's own order: its repeats play as recorded, then the last one repeats. The default.
    case request
    /// By state: a request gets the response recorded after the same changes, so a `GET` may change after a `POST`.
    case state
    /// Any order. Of interactions that are equal only by rules, the exactly equal one plays first.
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
