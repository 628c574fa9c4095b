package import Basics

/// What counts as the same request, and in which order interactions play.
///
/// All rules that match a request apply. What they ignore adds up; where two set the same part, the later one wins.
/// Two requests are equal if the same rules apply to both and all parts that count are equal. Rules are not stored in
/// the cassette, so changing them does not invalidate recordings.
///
/// ```json
/// {"order": "strict", "rules": [{"path": "/orders/**", "ignore": {"json": ["$.sentAt"], "query": ["_"]}}]}
/// ```
package struct MatchingRules: ConfigurationPart {
  package static var member: String { "matching" }

  /// Nil for ``PlaybackOrder/request``.
  package var order: PlaybackOrder?
  /// Whether each interaction plays once; else the last of equal ones repeats.
  package var playsUniquely: Bool?
  /// The rules in order.
  @Omittable package var rules: [Rule] = []

  package init() {}

  package init(rules: [Rule] = [], order: PlaybackOrder? = nil, playsUniquely: Bool? = nil) {
    self.rules = rules
    self.order = order
    self.playsUniquely = playsUniquely
  }

  /// A rule for some requests.
  package struct Rule: Codable, Sendable, Equatable {
    /// A note for the reader.
    package var note: String?
    /// Applies only to requests to this upstream.
    package var upstream: String?
    /// Applies only to requests with this method.
    package var method: String?
    /// Applies only to matching paths: `*` matches any text within a segment, `**` any text.
    package var path: String?
    @Omittable package var ignore = Ignored()
    @Omittable package var echo = Echoed()
    @Omittable package var compare = Compared()
    /// Whether these requests change the state in ``PlaybackOrder/state``; nil for the default, which is all methods
    /// except GET, HEAD, OPTIONS and TRACE.
    package var changesState: Bool?
    /// What messages call it, such as `rule 2 of diorama.json`; nil outside of a project file.
    package var source: String?
    /// Whether it applies to all cassettes of a project. Such a rule may name upstreams that a cassette does not have.
    package var isShared = false

    private enum CodingKeys: String, CodingKey {
      case note, upstream, method, path, ignore, echo, compare, changesState
    }

    package init(
      note: String? = nil, upstream: String? = nil, method: String? = nil, path: String? = nil,
      ignore: Ignored = Ignored(), echo: Echoed = Echoed(), compare: Compared = Compared(), changesState: Bool? = nil
    ) {
      self.note = note
      self.upstream = upstream
      self.method = method
      self.path = path
      self.ignore = ignore
      self.echo = echo
      self.compare = compare
      self.changesState = changesState
    }

    /// Its JSON with the members in the usual order: what it applies to, then what it does.
    package var document: JSON {
      let members = (try? JSON.encode(self)).flatMap { try? JSON.parse([UInt8]($0)) }?.object ?? []
      let order = ["note", "upstream", "method", "path", "ignore", "echo", "compare", "changesState"]
      return .object(order.compactMap { name in members[name].map { JSON.Member(name, $0) } })
    }

    /// Whether it leaves everything at the default.
    package var changesNothing: Bool {
      ignore == Ignored() && echo == Echoed() && compare == Compared() && changesState == nil
    }
  }

  /// Parts of a request to ignore. In names, `*` matches any text.
  package struct Ignored: Codable, Sendable, Equatable, EmptyInitializable {
    /// Names of headers that an earlier rule compares.
    @Omittable package var headers: [String] = []
    /// Names of query items.
    @Omittable package var query: [String] = []
    /// JSON paths; see `JSONPath` for the supported syntax.
    @Omittable package var json: [String] = []
    /// Names of form items and multipart parts.
    @Omittable package var form: [String] = []
    /// Regular expressions whose matches are removed from the path, the values of query items and compared headers,
    /// and the body: from JSON strings and numbers, form values, XML text and attributes, and any other text.
    @Omittable package var pattern: [String] = []

    package init() {}

    package init(
      headers: [String] = [], query: [String] = [], json: [String] = [], form: [String] = [], pattern: [String] = []
    ) {
      self.headers = headers
      self.query = query
      self.json = json
      self.form = form
      self.pattern = pattern
    }
  }

  /// Values of a request to ignore, and to put into the answer in place of the recorded ones. In names, `*` matches any
  /// text.
  package struct Echoed: Codable, Sendable, Equatable, EmptyInitializable {
    /// Names of headers.
    @Omittable package var headers: [String] = []
    /// Names of query items.
    @Omittable package var query: [String] = []
    /// JSON paths of strings and numbers; they cannot count from the end.
    @Omittable package var json: [String] = []
    /// Names of form items and multipart parts.
    @Omittable package var form: [String] = []

    package init() {}

    package init(headers: [String] = [], query: [String] = [], json: [String] = [], form: [String] = []) {
      self.headers = headers
      self.query = query
      self.json = json
      self.form = form
    }
  }

  /// Parts of a request to compare or not; nil for no change.
  package struct Compared: Codable, Sendable, Equatable, EmptyInitializable {
    package var method: Bool?
    /// The scheme of the upstream's origin.
    package var scheme: Bool?
    /// Host and port of the upstream's origin.
    package var host: Bool?
    package var path: Bool?
    package var query: Bool?
    /// Names of headers to compare, with all values of each in order.
    @Omittable package var headers: [String] = []
    package var body: BodyKind?
    /// Whether the order of multipart parts with different names counts. Parts of one name keep their order.
    package var partOrder: Bool?

    package init() {}

    package init(
      method: Bool? = nil, scheme: Bool? = nil, host: Bool? = nil, path: Bool? = nil, query: Bool? = nil,
      headers: [String] = [], body: BodyKind? = nil, partOrder: Bool? = nil
    ) {
      self.method = method
      self.scheme = scheme
      self.host = host
      self.path = path
      self.query = query
      self.headers = headers
      self.body = body
      self.partOrder = partOrder
    }
  }

  /// How to compare bodies. A body that does not parse is compared byte by byte.
  package enum BodyKind: String, Sendable, CaseIterable, Codable {
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
    /// By elements in order, with attributes in any order, resolved prefixes, and no white space between elements.
    case xml
    /// Not at all.
    case none
  }

  /// Combines these rules with more general ones: the general rules come first, and this order counts.
  func inside(_ general: MatchingRules) -> MatchingRules {
    MatchingRules(
      rules: general.rules + rules, order: order ?? general.order,
      playsUniquely: playsUniquely ?? general.playsUniquely)
  }
}

/// The order in which recorded interactions play.
package enum PlaybackOrder: String, Sendable, CaseIterable, Codable {
  /// Exactly the recorded order; interactions that overlapped in the recording come in any order.
  case strict
  /// Repeats of a request in recorded order, then the last one again.
  case request
  /// By state: a request gets the response recorded after the same state changes.
  case state
  /// Any order; of recordings that are equal only by rules, the exactly equal one first.
  case free

  /// Whether an interaction may have to wait for another.
  package var isSequence: Bool { self == .strict || self == .state }
}
