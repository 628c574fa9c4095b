package import Basics
package import EnvironmentConfiguration
import LaunchContract

/// Compiled matching rules.
package struct RuleBook: Sendable {
  private struct Compiled: Sendable {
    let rule: MatchingRules.Rule
    let path: Glob?
    let json: [JSONPath]
    let patterns: [Pattern]
    let query: [Glob]
    let form: [Glob]
    let headers: [Glob]
    let echoed: EchoPlaces
    let ignored: EchoPlaces

    func applies(to method: String, _ upstream: String?, _ path: [UInt8]) -> Bool {
      // Calls of gRPC are sent with POST.
      let method = method == RecordedRequest.streamMethod ? "POST" : method
      return (rule.upstream == nil || rule.upstream == upstream) && (rule.method == nil || rule.method == method)
        && self.path?.matches(path) ?? true
    }
  }

  private let rules: [Compiled]
  /// The environment's upstreams.
  let upstreams: [CassetteHeader.Upstream]

  /// - Parameters:
  ///   - rules: the rules to compile.
  ///   - upstreams: the environment's upstreams.
  /// - Throws: `CodedError` for the first invalid rule.
  package init(
    _ rules: MatchingRules, upstreams: [CassetteHeader.Upstream]
  ) throws(CodedError) {
    self.upstreams = upstreams
    var compiled: [Compiled] = []
    for (index, rule) in rules.rules.enumerated() {
      try Self.check(rule, at: "matching.rules[\(index)]")
      let place = "matching.rules[\(index)]"
      let (ignore, echo) = (rule.ignore, rule.echo)
      let json = try Self.compiled(ignore.json, at: "\(place).ignore.json") { text throws(CodedError) in
        let path = try JSONPath(text)
        guard !path.isWhole else {
          throw CodedError(.broken, "'$' is the whole body; use \"compare\": {\"body\": \"none\"} to ignore it")
        }
        return path
      }
      let echoedJSON = try Self.compiled(echo.json, at: "\(place).echo.json") { text throws(CodedError) in
        let path = try JSONPath(text)
        guard !path.isWhole else { throw CodedError(.broken, "'$' is the whole body; name a value in it") }
        guard !path.countsFromEnd else {
          throw CodedError(.broken, "'\(text.prefix(80))' counts from the end; write [*]")
        }
        return path
      }
      let patterns = try Self.compiled(ignore.pattern, at: "\(place).ignore.pattern") { text throws(CodedError) in
        try Pattern(text)
      }
      compiled.append(
        Compiled(
          rule: rule, path: rule.path.map(Glob.init(path:)), json: json + echoedJSON, patterns: patterns,
          query: (ignore.query + echo.query).map { Glob(name: $0) },
          form: (ignore.form + echo.form).map { Glob(name: $0) },
          headers: (ignore.headers + echo.headers).map { Glob(name: $0, ignoringCase: true) },
          echoed: EchoPlaces(
            rule: index, isEchoed: true, json: echoedJSON, query: echo.query, form: echo.form, headers: echo.headers),
          ignored: EchoPlaces(
            rule: index, isEchoed: false, json: json, query: ignore.query, form: ignore.form, headers: ignore.headers)))
    }
    self.rules = compiled
  }

  /// Throws for a rule that no request can match, or that changes nothing.
  private static func check(_ rule: MatchingRules.Rule, at place: String) throws(CodedError) {
    guard !rule.changesNothing else {
      throw CodedError(.broken, "\(place) changes nothing; give it ignore, echo, compare or changesState")
    }
    if let path = rule.path {
      guard path.hasPrefix("/") || path.hasPrefix("*") else {
        throw CodedError(
          .broken, "\(place).path is '\(path.prefix(80))'; paths begin with /, so begin it with / or **")
      }
      guard !path.utf8.contains(UInt8(ascii: "?")), !path.utf8.contains(UInt8(ascii: "#")) else {
        throw CodedError(
          .broken,
          "\(place).path is '\(path.prefix(80))'; a path cannot contain ? or #; use ignore.query to ignore query items"
        )
      }
    }
    if let method = rule.method, method != method.uppercased() {
      throw CodedError(
        .broken, "\(place).method is '\(method.prefix(80))'; methods are uppercase: \(method.uppercased())")
    }
  }

  private static func compiled<Value>(
    _ texts: [String], at place: String, _ make: (String) throws(CodedError) -> Value
  ) throws(CodedError) -> [Value] {
    var values: [Value] = []
    for (index, text) in texts.enumerated() {
      values.append(try CodedError.translating(at: "\(place)[\(index)]", try make(text)))
    }
    return values
  }

  /// These rules and one more, which comes last.
  ///
  /// - Throws: `CodedError` if the rule is invalid.
  func adding(_ rule: MatchingRules.Rule) throws(CodedError) -> RuleBook {
    try RuleBook(MatchingRules(rules: rules.map(\.rule) + [rule]), upstreams: upstreams)
  }

  /// Whether there are no rules.
  var isEmpty: Bool { rules.isEmpty }

  /// No rules: the default comparison.
  static let empty = RuleBook()

  private init() {
    rules = []
    upstreams = []
  }

  /// Returns the parts of a request that count.
  ///
  /// - Parameters:
  ///   - method: as sent.
  ///   - upstream: its name.
  ///   - path: the normalized path.
  /// - Returns: the criteria.
  func criteria(method: String, upstream: String?, path: [UInt8]) -> Criteria {
    var criteria = Criteria()
    for (index, compiled) in rules.enumerated() where compiled.applies(to: method, upstream, path) {
      let rule = compiled.rule
      criteria.applied.append(index)
      let compare = rule.compare
      criteria.countsMethod = compare.method ?? criteria.countsMethod
      criteria.countsScheme = compare.scheme ?? criteria.countsScheme
      criteria.countsHost = compare.host ?? criteria.countsHost
      criteria.countsPath = compare.path ?? criteria.countsPath
      criteria.countsQuery = compare.query ?? criteria.countsQuery
      criteria.body = compare.body ?? criteria.body
      criteria.countsPartOrder = compare.partOrder ?? criteria.countsPartOrder
      criteria.headers.removeAll { name in compiled.headers.contains { $0.matches(Array(name.utf8)) } }
      criteria.headers += compare.headers.map { $0.lowercased() }
      criteria.ignoredHeaders += compiled.headers
      criteria.ignoredQuery += compiled.query
      criteria.ignoredForm += compiled.form
      criteria.ignoredJSON += compiled.json
      criteria.patterns += compiled.patterns
      criteria.changesState = rule.changesState ?? criteria.changesState
    }
    criteria.headers = Set(criteria.headers).sorted()
    return criteria
  }

  /// Whether a rule compares the messages of a gRPC call by their fields, for which they have to be converted to JSON.
  ///
  /// - Parameters:
  ///   - target: in origin form.
  ///   - upstream: the name of the call's upstream.
  ///   - onlyJSON: whether rules with patterns do not count, which apply to bytes, too.
  /// - Returns: the description of the first such rule; nil if the messages are compared as bytes, or not at all.
  package func ruleForFields(ofCallTo target: String, upstream: String?, onlyJSON: Bool = false) -> String? {
    let path = CanonicalPath.bytes(ofTarget: target)
    let body = criteria(method: RecordedRequest.streamMethod, upstream: upstream, path: path).body
    guard body == .auto || body == .json else { return nil }
    return rules.indices.first { index in
      let compiled = rules[index]
      return compiled.applies(to: RecordedRequest.streamMethod, upstream, path)
        && (!compiled.json.isEmpty || !compiled.patterns.isEmpty && !onlyJSON || compiled.rule.compare.body == .json)
    }.map(title)
  }

  /// Returns the places of a request whose values the rules echo or ignore, the echoed ones first.
  ///
  /// - Parameters:
  ///   - method: as sent.
  ///   - upstream: the name of its upstream.
  ///   - target: in origin form.
  /// - Returns: the places; empty if no rule names any.
  package func echoPlaces(method: String, upstream: String?, target: String) -> EchoPlaces {
    var places = EchoPlaces()
    guard rules.contains(where: { !$0.echoed.isEmpty || !$0.ignored.isEmpty }) else { return places }
    let path = CanonicalPath.bytes(ofTarget: target)
    let applied = rules.filter { $0.applies(to: method, upstream, path) }
    for compiled in applied { places.add(compiled.echoed) }
    for compiled in applied {
      places.add(compiled.ignored)
      if let kind = compiled.rule.compare.body { places.set(body: kind) }
    }
    return places
  }

  /// Whether any rule echoes a value.
  package var echoes: Bool { rules.contains { $0.echoed.echoes } }

  /// What messages call a rule: `rule 1 of diorama.json`, or `rule 1`.
  package func name(of index: Int) -> String {
    (rules[index].rule.source ?? "rule \(rules[...index].count { $0.rule.source == nil })").escapedForTerminal
  }

  /// A readable description of a rule: its number, scope and effect.
  func title(of index: Int) -> String {
    let rule = rules[index].rule
    let scope = [rule.upstream, rule.method, rule.path].compactMap(\.self).joined(separator: " ")
    var does: [String] = []
    for (what, names) in [
      ("header", rule.ignore.headers), ("query item", rule.ignore.query), ("JSON", rule.ignore.json),
      ("form item", rule.ignore.form), ("pattern", rule.ignore.pattern),
    ] where !names.isEmpty { does.append("ignores \(what) \(names.joined(separator: ", "))") }
    for (what, names) in [
      ("header", rule.echo.headers), ("query item", rule.echo.query), ("JSON", rule.echo.json),
      ("form item", rule.echo.form),
    ] where !names.isEmpty { does.append("echoes \(what) \(names.joined(separator: ", "))") }
    for (what, counts) in [
      ("method", rule.compare.method), ("scheme", rule.compare.scheme), ("host", rule.compare.host),
      ("path", rule.compare.path), ("query", rule.compare.query), ("order of parts", rule.compare.partOrder),
    ] {
      if let counts { does.append("\(counts ? "compares" : "ignores") the \(what)") }
    }
    if !rule.compare.headers.isEmpty { does.append("compares \(rule.compare.headers.joined(separator: ", "))") }
    switch rule.compare.body {
    case nil: break
    case MatchingRules.BodyKind.none?: does.append("ignores the body")
    case let kind?: does.append("compares the body as \(kind.rawValue)")
    }
    let title =
      (rule.source ?? "rule \(rules[...index].count { $0.rule.source == nil })") + (scope.isEmpty ? "" : " (\(scope))")
    return Preview.shortened("\(title): \(does.joined(separator: "; "))", to: 300).escapedForTerminal
  }
}

extension Criteria {
  /// Whether a request changes the state.
  func changesState(method: String) -> Bool {
    changesState ?? !["GET", "HEAD", "OPTIONS", "TRACE"].contains(method)
  }
}

/// The parts of a request that count, by the rules that apply to it.
struct Criteria: Sendable {
  /// The indices of the rules that apply.
  var applied: [Int] = []
  var countsMethod = true
  var countsScheme = true
  var countsHost = true
  var countsPath = true
  var countsQuery = true
  /// Lowercase names, sorted.
  var headers: [String] = []
  var body = MatchingRules.BodyKind.auto
  /// Whether the order of multipart parts with different names counts.
  var countsPartOrder = true
  /// Names of header fields that never count, not even if the recorded response depended on them.
  var ignoredHeaders: [Glob] = []
  var ignoredQuery: [Glob] = []
  var ignoredForm: [Glob] = []
  var ignoredJSON: [JSONPath] = []
  var patterns: [Pattern] = []
  /// Nil if it depends on the method.
  var changesState: Bool?

  /// The default without rules.
  static let plain = Criteria()
}
