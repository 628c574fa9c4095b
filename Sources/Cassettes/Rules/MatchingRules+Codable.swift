package import LaunchContract

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
        name: name, problem: error.problem, advice: "fix the rules; the documentation, Matching.md, lists all members")
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
