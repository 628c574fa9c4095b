package import LaunchContract

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

extension MatchingRules: Codable {
  /// - Throws: `ContractError` that names the JSON path of the first thing at fault, and what is allowed there.
  package init(from decoder: any Decoder) throws {
    try self.init(try ContractValue(from: decoder))
  }

  /// - Parameter value: what a rules file has.
  /// - Throws: `ContractError` that names the JSON path of the first thing at fault, and what is allowed there.
  package init(_ value: ContractValue) throws(ContractError) {
    try self.init(JSON(value))
  }

  package func encode(to encoder: any Encoder) throws {
    try document.encode(to: encoder)
  }

  /// Reads a rules file.
  ///
  /// - Parameters:
  ///   - bytes: JSON.
  ///   - name: of the file, for errors.
  /// - Returns: the rules.
  /// - Throws: ``CassetteError`` in one line.
  package static func read(_ bytes: [UInt8], name: String) throws(CassetteError) -> MatchingRules {
    do {
      let rules = try MatchingRules(try JSON.parse(bytes))
      _ = try RuleBook(rules, upstreams: [])
      return rules
    } catch let error as ContractError {
      throw CassetteError(
        name: name, problem: error.problem, advice: "mend the rules; the README has all that a rule can say")
    } catch {
      throw CassetteError(
        name: name, problem: "it is no JSON (\(error))", advice: "write rules such as {\"rules\": []}")
    }
  }

  private init(_ json: JSON) throws(ContractError) {
    let members = try StrictMembers(json, at: "$", allowed: ["rules", "order"])
    order = try members.word("order", PlaybackOrder.self)
    rules = []
    for (index, element) in try members.elements("rules").enumerated() {
      rules.append(try Rule(element, at: "$.rules[\(index)]"))
    }
  }

  /// As it is written.
  package var document: ContractValue {
    var members: [String: ContractValue] = [:]
    if !rules.isEmpty { members["rules"] = .array(rules.map(\.document)) }
    members["order"] = order.map { .string($0.rawValue) }
    return .object(members)
  }
}

extension MatchingRules.Rule {
  fileprivate init(_ json: JSON, at place: String) throws(ContractError) {
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
      throw ContractError("\(place) changes nothing; give it ignore, compare or changesState")
    }
  }

  fileprivate var document: ContractValue {
    var members: [String: ContractValue] = [:]
    members["note"] = note.map(ContractValue.string)
    members["upstream"] = upstream.map(ContractValue.string)
    members["method"] = method.map(ContractValue.string)
    members["path"] = path.map(ContractValue.string)
    members["changesState"] = changesState.map(ContractValue.bool)
    var ignored: [String: ContractValue] = [:]
    for (name, values) in [
      ("headers", ignore.headers), ("query", ignore.query), ("json", ignore.json), ("form", ignore.form),
      ("pattern", ignore.pattern),
    ] where !values.isEmpty { ignored[name] = .array(values.map(ContractValue.string)) }
    if !ignored.isEmpty { members["ignore"] = .object(ignored) }
    var compared: [String: ContractValue] = [:]
    for (name, flag) in [
      ("method", compare.method), ("scheme", compare.scheme), ("host", compare.host), ("path", compare.path),
      ("query", compare.query),
    ] { compared[name] = flag.map(ContractValue.bool) }
    if !compare.headers.isEmpty { compared["headers"] = .array(compare.headers.map(ContractValue.string)) }
    compared["body"] = compare.body.map { .string($0.rawValue) }
    if !compared.isEmpty { members["compare"] = .object(compared) }
    return .object(members)
  }
}

extension JSON {
  fileprivate init(_ value: ContractValue) {
    switch value {
    case .null: self = .null
    case .bool(let flag): self = .bool(flag)
    case .int(let number): self = .number("\(number)")
    case .double(let number): self = .number("\(number)")
    case .string(let text): self = .string(text)
    case .array(let elements): self = .array(elements.map(JSON.init))
    case .object(let members):
      self = .object(members.sorted { $0.key < $1.key }.map { Member($0.key, JSON($0.value)) })
    }
  }
}

/// The members of an object whose names are fixed: what is not known, twice there or of another type is refused, in one
/// line that says where and what is allowed.
struct StrictMembers {
  private let place: String
  private let members: [JSON.Member]

  /// - Parameters:
  ///   - json: what is to be an object.
  ///   - place: its JSON path.
  ///   - allowed: the names of its members.
  /// - Throws: `ContractError` for another value than an object, and for a member that is not known or there twice.
  init(_ json: JSON, at place: String, allowed: [String]) throws(ContractError) {
    guard let members = json.object else { throw ContractError("\(place) is to be an object") }
    self.place = place
    self.members = members
    var seen: [String] = []
    for member in members {
      guard allowed.contains(member.key) else {
        let name = String(member.key.prefix(60))
        let near = EditDistance.nearest(to: name, among: allowed).first
        throw ContractError(
          "\(place) has no member '\(name)'" + (near.map { ", did you mean '\($0)'?" } ?? ";")
            + " It can have \(allowed.joined(separator: ", "))")
      }
      guard !seen.contains(member.key) else { throw ContractError("\(place) has '\(member.key)' twice") }
      seen.append(member.key)
    }
  }

  subscript(_ name: String) -> JSON? { members.first { $0.key == name }?.value }

  func text(_ name: String) throws(ContractError) -> String? {
    guard let value = self[name] else { return nil }
    return try Self.text(value, at: "\(place).\(name)")
  }

  func texts(_ name: String) throws(ContractError) -> [String] {
    var texts: [String] = []
    for (index, element) in try elements(name).enumerated() {
      texts.append(try Self.text(element, at: "\(place).\(name)[\(index)]"))
    }
    return texts
  }

  func flag(_ name: String) throws(ContractError) -> Bool? {
    guard let value = self[name] else { return nil }
    guard let flag = value.bool else { throw ContractError("\(place).\(name) is to be true or false") }
    return flag
  }

  func elements(_ name: String) throws(ContractError) -> [JSON] {
    guard let value = self[name] else { return [] }
    guard let elements = value.array else { throw ContractError("\(place).\(name) is to be an array") }
    guard elements.count <= 1000 else { throw ContractError("\(place).\(name) has more than 1000 elements") }
    return elements
  }

  func word<Word: RawRepresentable & CaseIterable>(
    _ name: String, _ type: Word.Type
  ) throws(ContractError) -> Word? where Word.RawValue == String {
    guard let text = try text(name) else { return nil }
    guard let word = Word(rawValue: text) else {
      throw ContractError(
        "\(place).\(name) is '\(text.prefix(60))'; it can be "
          + Word.allCases.map(\.rawValue).joined(separator: ", "))
    }
    return word
  }

  private static func text(_ value: JSON, at place: String) throws(ContractError) -> String {
    guard let text = value.string, !text.isEmpty, text.utf8.count <= 4096 else {
      throw ContractError("\(place) is to be a text of 1 to 4096 bytes")
    }
    return text
  }
}

extension MatchingRules {
  /// The same text for rules and an order by which the same requests count as the same, from one run to the next; nil for
  /// none and ``PlaybackOrder/request``. Notes do not count.
  package var fingerprint: String? {
    var meant = self
    for index in meant.rules.indices { meant.rules[index].note = nil }
    if meant.order == .request { meant.order = nil }
    // A rule is made of texts and flags, which JSON can hold.
    guard meant != MatchingRules(), let document = try? ContractJSON.encode(meant) else { return nil }
    var hash = SipHash()
    [UInt8](document).withUnsafeBytes { hash.append($0) }
    let (high, low) = hash.finish()
    return String(high, radix: 16) + "-" + String(low, radix: 16)
  }
}
