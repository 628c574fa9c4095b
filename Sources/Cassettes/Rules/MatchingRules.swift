package import Basics
import LaunchContract

/// Changes to the rules by which requests match, and to the playback order.
///
/// All rules that match a request apply. What they ignore adds up; where two set the same part, the later one wins.
/// Two requests are equal if the same rules apply to both and all parts that count are equal. Rules are not stored in
/// the cassette, so changing them does not invalidate recordings.
///
/// ```json
/// {"rules": [{"path": "/orders/**", "ignore": {"json": ["$.sentAt"], "query": ["_"]}}]}
/// ```
package struct MatchingRules: Sendable, Equatable {
  /// The rules in order.
  package var rules: [Rule]
  /// Nil for ``PlaybackOrder/request``.
  package var order: PlaybackOrder?

  package init(rules: [Rule] = [], order: PlaybackOrder? = nil) {
    self.rules = rules
    self.order = order
  }

  /// A rule for some requests.
  package struct Rule: Sendable, Equatable {
    /// A note for the reader.
    package var note: String?
    /// Applies only to requests to this upstream.
    package var upstream: String?
    /// Applies only to requests with this method.
    package var method: String?
    /// Applies only to matching paths: `*` matches any text within a segment, `**` any text.
    package var path: String?
    package var ignore: Ignored
    package var compare: Compared
    /// Whether these requests change the state in ``PlaybackOrder/state``; nil for the default, which is all methods
    /// except GET, HEAD, OPTIONS and TRACE.
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

  /// Parts of a request to ignore. In names, `*` matches any text.
  package struct Ignored: Sendable, Equatable {
    /// Names of headers that an earlier rule compares.
    package var headers: [String]
    /// Names of query items.
    package var query: [String]
    /// JSON paths; see ``JSONPath`` for the supported syntax.
    package var json: [String]
    /// Names of form items and multipart parts.
    package var form: [String]
    /// Regular expressions whose matches are removed from the path, the values of query items and compared headers,
    /// and the body: from JSON strings and numbers, form values, XML text and attributes, and any other text.
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

  /// Parts of a request to compare or not; nil for no change.
  package struct Compared: Sendable, Equatable {
    package var method: Bool?
    /// The scheme of the upstream's origin.
    package var scheme: Bool?
    /// Host and port of the upstream's origin.
    package var host: Bool?
    package var path: Bool?
    package var query: Bool?
    /// Names of headers to compare, with all values of each in order.
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

extension MatchingRules: Codable {
  /// - Throws: `CodedError` with the JSON path of the first invalid value and what is allowed there.
  package init(from decoder: any Decoder) throws {
    try self.init(JSON(from: decoder))
  }

  package func encode(to encoder: any Encoder) throws {
    try document.encode(to: encoder)
  }

  /// Reads a rules file.
  ///
  /// - Parameters:
  ///   - bytes: JSON.
  ///   - name: the file's name, for errors.
  /// - Returns: the rules.
  /// - Throws: ``CodedError`` with a one-line message.
  package static func read(_ bytes: [UInt8], name: String) throws(CodedError) -> MatchingRules {
    do {
      let rules = try MatchingRules(try JSON.parse(bytes))
      _ = try RuleBook(rules, upstreams: [])
      return rules
    } catch let error as CodedError {
      throw CodedError(
        name: name, problem: error.problem, advice: "fix the rules; the documentation describes their format")
    } catch {
      throw CodedError(
        name: name, problem: "it is not valid JSON (\(error))", advice: "write rules such as {\"rules\": []}")
    }
  }

  /// - Parameter json: the content of a rules file.
  /// - Throws: `CodedError` with the JSON path of the first invalid value and what is allowed there.
  package init(_ json: JSON) throws(CodedError) {
    let members = try StrictMembers(json, at: "$", allowed: ["rules", "order"])
    order = try members.word("order", PlaybackOrder.self)
    rules = []
    for (index, element) in try members.elements("rules").enumerated() {
      rules.append(try Rule(element, at: "$.rules[\(index)]"))
    }
  }

  /// The rules as JSON.
  package var document: JSON {
    var members: [String: JSON] = [:]
    if !rules.isEmpty { members["rules"] = .array(rules.map(\.document)) }
    members["order"] = order.map { .string($0.rawValue) }
    return .object(members)
  }
}

extension MatchingRules.Rule {
  fileprivate init(_ json: JSON, at place: String) throws(CodedError) {
    let members = try StrictMembers(
      json, at: place, allowed: ["note", "upstream", "method", "path", "ignore", "compare", "changesState"])
    self.init(
      note: try members.text("note"), upstream: try members.text("upstream"), method: try members.text("method"),
      path: try members.text("path"), changesState: try members.flag("changesState"))
    if let json = members["ignore"] {
      let ignored = try StrictMembers(
        json, at: "\(place).ignore", allowed: ["headers", "query", "json", "form", "pattern"])
      ignore = MatchingRules.Ignored(
        headers: try ignored.texts("headers"), query: try ignored.texts("query"), json: try ignored.texts("json"),
        form: try ignored.texts("form"), pattern: try ignored.texts("pattern"))
    }
    if let json = members["compare"] {
      let compared = try StrictMembers(
        json, at: "\(place).compare", allowed: ["method", "scheme", "host", "path", "query", "headers", "body"])
      compare = MatchingRules.Compared(
        method: try compared.flag("method"), scheme: try compared.flag("scheme"), host: try compared.flag("host"),
        path: try compared.flag("path"), query: try compared.flag("query"), headers: try compared.texts("headers"),
        body: try compared.word("body", MatchingRules.BodyKind.self))
    }
    guard ignore != .init() || compare != .init() || changesState != nil else {
      throw CodedError(.broken, "\(place) changes nothing; give it ignore, compare or changesState")
    }
  }

  fileprivate var document: JSON {
    var members: [String: JSON] = [:]
    members["note"] = note.map(JSON.string)
    members["upstream"] = upstream.map(JSON.string)
    members["method"] = method.map(JSON.string)
    members["path"] = path.map(JSON.string)
    members["changesState"] = changesState.map(JSON.bool)
    var ignored: [String: JSON] = [:]
    for (name, values) in [
      ("headers", ignore.headers), ("query", ignore.query), ("json", ignore.json), ("form", ignore.form),
      ("pattern", ignore.pattern),
    ] where !values.isEmpty { ignored[name] = .array(values.map(JSON.string)) }
    if !ignored.isEmpty { members["ignore"] = .object(ignored) }
    var compared: [String: JSON] = [:]
    for (name, flag) in [
      ("method", compare.method), ("scheme", compare.scheme), ("host", compare.host), ("path", compare.path),
      ("query", compare.query),
    ] { compared[name] = flag.map(JSON.bool) }
    if !compare.headers.isEmpty { compared["headers"] = .array(compare.headers.map(JSON.string)) }
    compared["body"] = compare.body.map { .string($0.rawValue) }
    if !compared.isEmpty { members["compare"] = .object(compared) }
    return .object(members)
  }
}

/// Strict access to an object's members: unknown members, duplicates and wrong types are errors, which say where and
/// what is allowed.
struct StrictMembers {
  private let place: String
  private let members: [JSON.Member]

  /// - Parameters:
  ///   - json: the object.
  ///   - place: its JSON path.
  ///   - allowed: the names of allowed members.
  /// - Throws: `CodedError` if the value is not an object, or has an unknown or duplicate member.
  init(_ json: JSON, at place: String, allowed: [String]) throws(CodedError) {
    guard let members = json.object else { throw CodedError(.broken, "\(place) must be an object") }
    self.place = place
    self.members = members
    var seen: [String] = []
    for member in members {
      guard allowed.contains(member.key) else {
        let name = String(member.key.prefix(60))
        let near = EditDistance.nearest(to: name, among: allowed).first
        throw CodedError(
          .broken,
          "\(place) has no member '\(name)'" + (near.map { ", did you mean '\($0)'?" } ?? ";")
            + " It can have \(allowed.joined(separator: ", "))")
      }
      guard !seen.contains(member.key) else { throw CodedError(.broken, "\(place) has '\(member.key)' twice") }
      seen.append(member.key)
    }
  }

  subscript(_ name: String) -> JSON? { members.first { $0.key == name }?.value }

  func text(_ name: String) throws(CodedError) -> String? {
    guard let value = self[name] else { return nil }
    return try Self.text(value, at: "\(place).\(name)")
  }

  func texts(_ name: String) throws(CodedError) -> [String] {
    var texts: [String] = []
    for (index, element) in try elements(name).enumerated() {
      texts.append(try Self.text(element, at: "\(place).\(name)[\(index)]"))
    }
    return texts
  }

  func flag(_ name: String) throws(CodedError) -> Bool? {
    guard let value = self[name] else { return nil }
    guard let flag = value.bool else { throw CodedError(.broken, "\(place).\(name) must be true or false") }
    return flag
  }

  func elements(_ name: String) throws(CodedError) -> [JSON] {
    guard let value = self[name] else { return [] }
    guard let elements = value.array else { throw CodedError(.broken, "\(place).\(name) must be an array") }
    guard elements.count <= 1000 else { throw CodedError(.broken, "\(place).\(name) has more than 1000 elements") }
    return elements
  }

  func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Word.Type
  ) throws(CodedError) -> Word? where Word.RawValue == String {
    guard let text = try text(name) else { return nil }
    guard let word = Word(rawValue: text) else {
      throw CodedError(
        .broken,
        "\(place).\(name) is '\(text.prefix(60))'; it can be "
          + Word.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return word
  }

  private static func text(_ value: JSON, at place: String) throws(CodedError) -> String {
    guard let text = value.string, !text.isEmpty, text.utf8.count <= 4096 else {
      throw CodedError(.broken, "\(place) must be a string of 1 to 4096 bytes")
    }
    return text
  }
}

extension MatchingRules {
  /// A hash of the rules and the order: equal for equal rules across runs, ignoring notes. Nil if there are no rules
  /// and the order is ``PlaybackOrder/request``.
  package var fingerprint: String? {
    var meant = self
    for index in meant.rules.indices { meant.rules[index].note = nil }
    if meant.order == .request { meant.order = nil }
    // Encoding cannot fail: rules consist of strings and booleans.
    guard meant != MatchingRules(), let document = try? JSON.encode(meant) else { return nil }
    var hash = SipHash()
    [UInt8](document).withUnsafeBytes { hash.append($0) }
    let (high, low) = hash.finish()
    return String(high, radix: 16) + "-" + String(low, radix: 16)
  }
}
