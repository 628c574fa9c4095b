/// What counts as the same request, where that is not what INTERFACE.md says, and the order in which recordings play.
///
/// All rules that fit a request apply to it: what they leave out adds up, and where two say something different about one
/// part the later one counts. Two requests are the same when the same rules fit both and all that still counts is equal.
/// Nothing of it is stored in a cassette: a changed rule invalidates no recording.
///
/// ```json
/// {"rules": [{"path": "/orders/**", "ignore": {"json": ["$.sentAt"], "query": ["_"]}}]}
/// ```
package struct MatchingRules: Sendable, Equatable {
  /// In order.
  package var rules: [Rule]
  /// Nil for ``PlaybackOrder/request``.
  package var order: PlaybackOrder?

  package init(rules: [Rule] = [], order: PlaybackOrder? = nil) {
    self.rules = rules
    self.order = order
  }

  /// What is different for some requests.
  package struct Rule: Sendable, Equatable {
    /// Why, in a person's words.
    package var note: String?
    /// Requests of this upstream only.
    package var upstream: String?
    /// Requests with this method only.
    package var method: String?
    /// Requests with such a path only: `*` is anything within a segment, `**` anything at all.
    package var path: String?
    package var ignore: Ignored
    package var compare: Compared
    /// Whether such requests move the state in ``PlaybackOrder/state``; nil for all but GET, HEAD, OPTIONS and TRACE.
    package var changesState: Bool?

    package init(
      note: String? = nil, upstream: String? = nil, method: String? = nil, path: String? = nil,
      ignore: Ignored = Ignored(), compare: Compared = Compared(), changesState: Bool? = nil
    ) {
      self.note = note
      self.upstream = upstream
      self.method = method
      self.path = path
      self.ignore = ignore
      self.compare = compare
      self.changesState = changesState
    }
  }

  /// Parts that are compared as if they were not there.
  package struct Ignored: Sendable, Equatable {
    /// Names of headers that an earlier rule compares. In a name of any kind `*` stands for anything.
    package var headers: [String]
    /// Names of query items.
    package var query: [String]
    /// JSON paths: a documented part of RFC 9535, see ``JSONPath``.
    package var json: [String]
    /// Names of form items and of multipart parts.
    package var form: [String]
    /// Regular expressions, whose matches are left out of the path, of the values of the query and of compared headers,
    /// and of the body: of JSON strings and numbers, form values, XML text and attributes, any other text.
    package var pattern: [String]

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

  /// Which parts count; what is nil stays as it is.
  package struct Compared: Sendable, Equatable {
    package var method: Bool?
    /// The scheme of the upstream's origin.
    package var scheme: Bool?
    /// Host and port of the upstream's origin.
    package var host: Bool?
    package var path: Bool?
    package var query: Bool?
    /// Names of headers that count, all values of each in order.
    package var headers: [String]
    package var body: BodyKind?

    package init(
      method: Bool? = nil, scheme: Bool? = nil, host: Bool? = nil, path: Bool? = nil, query: Bool? = nil,
      headers: [String] = [], body: BodyKind? = nil
    ) {
      self.method = method
      self.scheme = scheme
      self.host = host
      self.path = path
      self.query = query
      self.headers = headers
      self.body = body
    }
  }

  /// As what a body is compared; what cannot be read as that is compared byte by byte.
  package enum BodyKind: String, Sendable, CaseIterable, Codable {
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
    /// Elements in order, with their attributes in any; prefixes resolved, white space between elements left out.
    case xml
    /// Not at all.
    case none
  }
}

/// In which order recorded interactions play.
package enum PlaybackOrder: String, Sendable, CaseIterable, Codable {
  /// The next interaction of all must be the one asked for; those that overlapped in the recording come in any order.
  case strict
  /// Repeats of one request in recorded order, then the last again.
  case request
  /// As the app's requests moved the state: a request is answered as it was recorded after the same changes.
  case state
  /// In any order: of recordings that only rules make equal, the one that is equal without them first.
  case free

  /// Whether an interaction may have to wait for another one.
  package var isSequence: Bool { self == .strict || self == .state }
}
