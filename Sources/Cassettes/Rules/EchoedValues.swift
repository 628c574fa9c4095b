package import Basics
import EnvironmentConfiguration
package import HTTPMessages

/// The place of a value that a rule ignores, with or without an echo.
package struct EchoPlace: Sendable, Hashable, CustomStringConvertible {
  /// The kind of place; the raw value is the member of the rule.
  package enum Kind: String, Sendable {
    case json, query, form, headers
  }

  package let kind: Kind
  /// The JSON path, or the name with its wildcards, as the rule has it.
  package let pattern: String
  /// The index of the rule.
  package let rule: Int
  /// Whether the rule echoes the value, or only ignores it.
  package let isEchoed: Bool

  /// Such as `$.id` and ``query item `state` ``.
  package var description: String {
    switch kind {
    case .json: pattern
    case .query: "query item `\(pattern)`"
    case .form: "form item `\(pattern)`"
    case .headers: "header `\(pattern)`"
    }
  }
}

/// A value at an echoed or ignored place in two equal requests: the recorded one and the app's.
package struct EchoedValue: Sendable, Equatable {
  package let place: EchoPlace
  /// The name of the member, query item, form field or header; nil for an element of an array.
  package let name: String?
  /// The path in the rule; nil if the value is not in JSON.
  package let path: JSONPath?
  /// A string or a number; for anything but JSON, a string.
  package let recorded: JSON
  package let sent: JSON

  /// The maximum length in bytes of either value.
  package static let longest = 4096
  /// The maximum number of values of one request.
  package static let most = 1000
}

/// The places of a request, or of the messages of a WebSocket, whose values the rules echo or ignore.
package struct EchoPlaces: Sendable {
  /// A request as far as its values are concerned.
  package struct Content {
    let target: String
    let headers: Headers
    let body: [UInt8]

    /// - Parameters:
    ///   - target: in origin form, with the query.
    ///   - headers: as sent.
    ///   - body: without transfer coding and content coding.
    package init(target: String, headers: Headers, body: [UInt8]) {
      self.target = target
      self.headers = headers
      self.body = body
    }
  }

  private struct Named: Sendable {
    let name: Glob
    let place: EchoPlace
  }

  private var paths: [(path: JSONPath, place: EchoPlace)] = []
  private var query: [Named] = []
  private var form: [Named] = []
  private var headers: [Named] = []
  private var body = MatchingRules.BodyKind.auto

  /// No places.
  package init() {}

  /// Whether the rules name no place.
  package var isEmpty: Bool { paths.isEmpty && query.isEmpty && form.isEmpty && headers.isEmpty }
  /// Whether any value is echoed.
  package private(set) var echoes = false

  /// The places of one rule.
  ///
  /// - Parameters:
  ///   - rule: the index of the rule.
  ///   - isEchoed: whether these are the echoed or the ignored ones.
  ///   - json: the JSON paths.
  ///   - query: the names of query items, as the rule has them.
  ///   - form: the names of form items and parts.
  ///   - headers: the names of headers.
  init(rule: Int, isEchoed: Bool, json: [JSONPath], query: [String], form: [String], headers: [String]) {
    func place(_ kind: EchoPlace.Kind, _ pattern: String) -> EchoPlace {
      EchoPlace(kind: kind, pattern: pattern, rule: rule, isEchoed: isEchoed)
    }
    paths = json.map { ($0, place(.json, $0.description)) }
    self.query = query.map { Named(name: Glob(name: $0), place: place(.query, $0)) }
    self.form = form.map { Named(name: Glob(name: $0), place: place(.form, $0)) }
    self.headers = headers.map { Named(name: Glob(name: $0, ignoringCase: true), place: place(.headers, $0)) }
    echoes = isEchoed && !isEmpty
  }

  /// Adds the places of another rule.
  mutating func add(_ other: EchoPlaces) {
    paths += other.paths
    query += other.query
    form += other.form
    headers += other.headers
    echoes = echoes || other.echoes
  }

  /// Sets how bodies are compared. A body that is not compared is read by its type.
  mutating func set(body kind: MatchingRules.BodyKind) { body = kind == .none ? .auto : kind }

  /// Finds the values of two requests.
  ///
  /// - Parameters:
  ///   - recorded: the recorded request.
  ///   - sent: the app's request, which is equal by the rules.
  /// - Returns: the values at the same places in both, at most ``EchoedValue/most``.
  package func values(_ recorded: Content, _ sent: Content) -> [EchoedValue] {
    var pairs = Pairs(places: self)
    if !query.isEmpty { pairs.add(Self.items(recorded.target), Self.items(sent.target), query) }
    for name in Set(headers.isEmpty ? [] : recorded.headers.fields.map { $0.name.lowercased() }).sorted() {
      guard let place = headers.first(where: { $0.name.matches(Array(name.utf8)) })?.place else { continue }
      for (one, other) in zip(recorded.headers.all(name), sent.headers.all(name)) {
        pairs.add(place, name: name, .string(one), .string(other))
      }
    }
    guard !paths.isEmpty || !form.isEmpty else { return pairs.values }
    recorded.body.withUnsafeBytes { one in
      sent.body.withUnsafeBytes { other in
        guard let one = BodyContent(one, type: recorded.headers["Content-Type"] ?? "", as: body),
          let other = BodyContent(other, type: sent.headers["Content-Type"] ?? "", as: body)
        else { return }
        pairs.add(one, other, name: nil)
      }
    }
    return pairs.values
  }

  /// Finds the values of two messages of a WebSocket, as ``values(_:_:)`` does.
  package func values(_ recorded: WebSocketMessage, _ sent: WebSocketMessage) -> [EchoedValue] {
    guard !paths.isEmpty, recorded.kind == .text, sent.kind == .text else { return [] }
    var pairs = Pairs(places: self)
    recorded.payload.withUnsafeBytes { one in
      sent.payload.withUnsafeBytes { other in
        guard let one = MessageRules.content(one, as: body), let other = MessageRules.content(other, as: body) else {
          return
        }
        pairs.add(one, other, name: nil)
      }
    }
    return pairs.values
  }

  private static func items(_ target: String) -> QueryItems {
    let query = target.utf8.prefix { $0 != UInt8(ascii: "#") }.drop { $0 != UInt8(ascii: "?") }.dropFirst()
    return Array(query).withUnsafeBytes { QueryItems($0) }
  }

  /// Collects the values at the same places of two requests.
  private struct Pairs {
    let places: EchoPlaces
    var values: [EchoedValue] = []

    mutating func add(_ place: EchoPlace, name: String?, path: JSONPath? = nil, _ recorded: JSON, _ sent: JSON) {
      guard values.count < EchoedValue.most, let one = recorded.scalarText, let other = sent.scalarText,
        !one.isEmpty, one.utf8.count <= EchoedValue.longest, other.utf8.count <= EchoedValue.longest
      else { return }
      values.append(EchoedValue(place: place, name: name, path: path, recorded: recorded, sent: sent))
    }

    mutating func add(_ recorded: BodyContent, _ sent: BodyContent, name: String?) {
      switch (recorded, sent) {
      case (.json(let recorded), .json(let sent)):
        guard !places.paths.isEmpty else { return }
        add(recorded, sent, places.paths.map(\.path.start), name: nil)
      case (.form(let recorded), .form(let sent)): add(recorded, sent, places.form)
      case (.multipart(let recorded), .multipart(let sent)):
        let others = Dictionary(grouping: sent.parts) { $0.name ?? "" }
        var counts: [String: Int] = [:]
        for part in recorded.parts {
          let count = counts[part.name ?? "", default: 0]
          counts[part.name ?? ""] = count + 1
          guard let parts = others[part.name ?? ""], count < parts.count else { continue }
          add(part.content, parts[count].content, name: part.name)
        }
      case (.bytes(let recorded), .bytes(let sent)):
        guard let name, let place = Self.place(of: Array(name.utf8), in: places.form),
          max(recorded.count, sent.count) <= EchoedValue.longest,
          let one = String(validating: recorded, as: UTF8.self), let other = String(validating: sent, as: UTF8.self)
        else { return }
        add(place, name: name, .string(one), .string(other))
      default: break
      }
    }

    /// Items are sorted by name.
    mutating func add(_ recorded: QueryItems, _ sent: QueryItems, _ named: [Named]) {
      var other = 0
      for item in recorded.items {
        let name = recorded.text[item.name]
        while other < sent.items.count, sent.text[sent.items[other].name].lexicographicallyPrecedes(name) { other += 1 }
        guard other < sent.items.count, sent.text[sent.items[other].name].elementsEqual(name) else { continue }
        defer { other += 1 }
        guard let value = item.value, let sentValue = sent.items[other].value,
          let place = Self.place(of: Array(name), in: named)
        else { continue }
        add(
          place, name: String(decoding: name, as: UTF8.self),
          .string(String(decoding: recorded.text[value], as: UTF8.self)),
          .string(String(decoding: sent.text[sentValue], as: UTF8.self)))
      }
    }

    private static func place(of name: [UInt8], in named: [Named]) -> EchoPlace? {
      named.first { $0.name.matches(name) }?.place
    }

    /// Walks two JSON values in parallel: members by name, elements by index.
    private mutating func add(_ recorded: JSON, _ sent: JSON, _ progress: [JSONPath.Progress], name: String?) {
      switch (recorded, sent) {
      case (.object(let members), .object(let others)):
        var next = Dictionary(grouping: others, by: \.key).mapValues { $0.reversed() as [JSON.Member] }
        for member in members {
          guard let other = next[member.key]?.popLast() else { continue }
          descend(member.value, other.value, .name(member.key), progress, name: member.key)
        }
      case (.array(let elements), .array(let others)):
        for (index, (one, other)) in zip(elements, others).enumerated() {
          descend(one, other, .index(index, of: elements.count), progress, name: nil)
        }
      default: break
      }
    }

    private mutating func descend(
      _ recorded: JSON, _ sent: JSON, _ child: JSONPath.Child, _ progress: [JSONPath.Progress], name: String?
    ) {
      guard values.count < EchoedValue.most else { return }
      var next: [JSONPath.Progress] = []
      var leadsOn = false
      for (number, (path, place)) in places.paths.enumerated() {
        let entered = path.enter(progress[number], child)
        if path.isAtEnd(entered) { return add(place, name: name, path: path, recorded, sent) }
        leadsOn = leadsOn || entered.leadsOn
        next.append(entered)
      }
      if leadsOn { add(recorded, sent, next, name: name) }
    }
  }
}

extension JSON {
  /// The text of a string or number; nil for any other value.
  package var scalarText: String? {
    switch self {
    case .string(let text), .number(let text): text
    default: nil
    }
  }
}
