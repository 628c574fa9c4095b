package import Basics
import Foundation
import HTTPMessages

/// Reads WireMock's mapping JSON strictly: an unknown member, a wrong type or an impossible value is an error that names
/// the member and, for a misspelled name, the nearest one.
package enum MappingReader {
  /// The mappings of a file: one, or several as `{"mappings": […]}`.
  ///
  /// - Parameters:
  ///   - json: the content of a file, or the body of a request to the admin API.
  ///   - isTemplate: whether all responses are templates.
  ///   - makeID: makes the id of a mapping that has none.
  /// - Throws: ``CodedError`` that names the member.
  /// - Returns: the mappings in order.
  package static func mappings(
    _ json: JSON, isTemplate: Bool, makeID: () -> String
  ) throws(CodedError) -> [StubMapping] {
    guard json["mappings"] != nil else { return [try mapping(json, isTemplate: isTemplate, makeID: makeID)] }
    let members = try Members(json)
    var all: [StubMapping] = []
    for element in try members.array("mappings") ?? [] {
      all.append(try mapping(element.json, at: element.place, isTemplate: isTemplate, makeID: makeID))
    }
    _ = members["meta"]
    _ = members["importOptions"]
    _ = members["$schema"]
    try members.end()
    return all
  }

  package static func mapping(
    _ json: JSON, at place: String = "", isTemplate: Bool, makeID: () -> String
  ) throws(CodedError) -> StubMapping {
    let members = try Members(json, at: place)
    let (first, second) = (try members.string("id"), try members.string("uuid"))
    let given = first ?? second
    if let given, UUID(uuidString: given) == nil {
      throw members.error("id", "'\(given)' is not a UUID; leave it out, and one is made")
    }
    let id = given?.lowercased() ?? makeID()
    var request = RequestPattern()
    if let object = try members.object("request") { request = try pattern(object) }
    var response = StubResponse()
    if let object = try members.object("response") { response = try self.response(object, isTemplate: isTemplate) }
    let scenario = try scenario(members)
    let mapping = StubMapping(
      id: id, name: try members.string("name"), request: request, response: response,
      priority: try members.int("priority", in: Int(Int32.min)...Int(Int32.max)) ?? StubMapping.defaultPriority,
      scenario: scenario,
      isPersistent: try members.bool("persistent") ?? false, metadata: try members.object("metadata")?.json,
      webhooks: try webhooks(members), source: identified(json, id))
    for ignored in ["insertionIndex", "$schema", "description"] { _ = members[ignored] }
    try members.end()
    return mapping
  }

  /// A mapping with another id.
  package static func mapping(_ mapping: StubMapping, withID id: String) -> StubMapping {
    var mapping = mapping
    mapping.id = id
    mapping.source = identified(mapping.source, id)
    return mapping
  }

  private static func identified(_ json: JSON, _ id: String) -> JSON {
    var members = (json.object ?? []).filter { !["id", "uuid", "insertionIndex"].contains($0.key) }
    if let index = members.firstIndex(where: { $0.key == "request" }), let request = members[index].value.object {
      members[index].value = .object(
        request.map { $0.key == "basicAuth" ? .init("basicAuthCredentials", $0.value) : $0 })
    }
    // Clients rely on these.
    for (name, member, value) in [("request", "method", JSON.string("ANY")), ("response", "status", .int(200))] {
      let given = members.first { $0.key == name }?.value.object ?? []
      members.removeAll { $0.key == name && $0.value == .null }
      guard !given.contains(where: { $0.key == member }) else { continue }
      let object = JSON.Member(name, .object(given + [.init(member, value)]))
      if let index = members.firstIndex(where: { $0.key == name }) {
        members[index] = object
      } else {
        members.append(object)
      }
    }
    return .object([.init("id", .string(id))] + members + [.init("uuid", .string(id))])
  }

  private static func scenario(_ members: Members) throws(CodedError) -> StubMapping.ScenarioStep? {
    let (required, next) = (
      try members.string("requiredScenarioState"), try members.string("newScenarioState")
    )
    guard let name = try members.string("scenarioName") else {
      if required != nil || next != nil {
        throw members.error("scenarioName", "missing, although a scenario state is given")
      }
      return nil
    }
    return StubMapping.ScenarioStep(name: name, required: required, next: next)
  }

  // MARK: Requests

  /// The pattern of a mapping's `request`, or of a request to the admin API that counts or finds requests.
  package static func pattern(_ json: JSON) throws(CodedError) -> RequestPattern { try pattern(Members(json)) }

  /// The pattern in an object that is being read.
  package static func pattern(_ members: Members) throws(CodedError) -> RequestPattern {
    var pattern = RequestPattern()
    pattern.url = try url(members)
    let method = try members.string("method")
    pattern.method = method == "ANY" ? nil : method
    pattern.scheme = try members.string("scheme")
    if let object = try members.object("host") { pattern.host = try matcher(object) }
    pattern.port = try members.int("port", in: 1...65_535)
    pattern.upstream = try members.string("upstream")
    pattern.headers = try fields(members, "headers")
    pattern.query = try fields(members, "queryParameters")
    pattern.form = try fields(members, "formParameters")
    pattern.cookies = try fields(members, "cookies")
    pattern.pathParameters = try fields(members, "pathParameters")
    for member in ["basicAuthCredentials", "basicAuth"] {
      guard let login = try members.object(member) else { continue }
      let name = try login.string("username") ?? ""
      let password = try login.string("password") ?? ""
      try login.end()
      let token = Data("\(name):\(password)".utf8).base64EncodedString()
      pattern.headers.append(("Authorization", .any(.equalTo("Basic \(token)", ignoresCase: true))))
    }
    for element in try members.array("bodyPatterns") ?? [] {
      pattern.body.append(try matcher(Members(element.json, at: element.place)))
      let text = String(decoding: element.json.encoded(.line), as: UTF8.self)
      pattern.bodyTexts.append(text.count > 200 ? text.prefix(200) + "…" : text)
    }
    for element in try members.array("multipartPatterns") ?? [] {
      pattern.parts.append(try part(Members(element.json, at: element.place)))
    }
    for name in ["customMatcher", "clientIp"] where members[name] != nil {
      throw members.error(name, "not supported: it needs code of WireMock's own; use the other conditions")
    }
    try members.end()
    return pattern
  }

  private static func url(_ members: Members) throws(CodedError) -> RequestPattern.URLPattern {
    let names = ["url", "urlPattern", "urlPath", "urlPathPattern", "urlPathTemplate"]
    let given = names.filter { members[$0] != nil }
    guard let name = given.first else { return .any }
    if given.count > 1 { throw members.error(given[1], "'\(name)' is also given; keep one of them") }
    let text = try members.string(name) ?? ""
    return try members.at(name) { () throws(CodedError) in
      switch name {
      case "url": .url(text)
      case "urlPattern": .urlMatches(try WholePattern(text))
      case "urlPath": .path(try withoutQuery(text))
      case "urlPathPattern": .pathMatches(try WholePattern(text))
      default: .template(try PathTemplate(text))
      }
    }
  }

  private static func withoutQuery(_ path: String) throws(CodedError) -> String {
    guard !path.contains("?") else {
      throw CodedError(.broken, "'\(path)' has a query, so it never matches; use 'url', or 'queryParameters'")
    }
    return path
  }

  private static func fields(
    _ members: Members, _ name: String
  ) throws(CodedError) -> [(name: String, matcher: RequestPattern.FieldMatcher)] {
    guard let object = try members.object(name) else { return [] }
    var fields: [(name: String, matcher: RequestPattern.FieldMatcher)] = []
    for member in object.json.object ?? [] {
      fields.append((member.key, try field(Members(member.value, at: "\(object.place).\(member.key)"))))
    }
    return fields
  }

  private static func field(_ members: Members) throws(CodedError) -> RequestPattern.FieldMatcher {
    for name in ["hasExactly", "includes"] {
      guard let elements = try members.array(name) else { continue }
      var matchers: [ValueMatcher] = []
      for element in elements { matchers.append(try matcher(Members(element.json, at: element.place))) }
      try members.end()
      return name == "includes" ? .includes(matchers) : .hasExactly(matchers)
    }
    return .any(try matcher(members))
  }

  private static func part(_ members: Members) throws(CodedError) -> RequestPattern.PartPattern {
    var part = RequestPattern.PartPattern()
    part.name = try members.string("name")
    switch try members.string("matchingType") {
    case nil, "ANY": break
    case "ALL": part.matchesAll = true
    case let other?: throw members.error("matchingType", "'\(other)' is not valid; choose ANY or ALL")
    }
    part.headers = try fields(members, "headers")
    for element in try members.array("bodyPatterns") ?? [] {
      part.body.append(try matcher(Members(element.json, at: element.place)))
    }
    _ = members["filename"]
    try members.end()
    return part
  }

  // MARK: Conditions

  private static let conditions = [
    "equalTo", "contains", "doesNotContain", "matches", "doesNotMatch", "equalToJson", "matchesJsonPath",
    "matchesJsonSchema", "equalToXml", "matchesXPath", "binaryEqualTo", "before", "after", "equalToDateTime", "absent",
    "and", "or", "not", "anything",
  ]

  /// The condition of an object such as `{"equalTo": "x"}`.
  package static func matcher(_ members: Members) throws(CodedError) -> ValueMatcher {
    let matcher = try condition(members)
    try members.end()
    return matcher
  }

  private static func condition(_ members: Members) throws(CodedError) -> ValueMatcher {
    let given = conditions.filter { members[$0] != nil }
    guard let name = given.first else {
      let near = (members.json.object?.first?.key).flatMap { EditDistance.likely($0, among: conditions) }
      throw CodedError(
        .broken, "has no condition" + (near.map { "; did you mean '\($0)'?" } ?? "; add one, such as equalTo"),
        at: members.place)
    }
    // `and` and `or` are lists of their own; other conditions cannot be combined in one object.
    if given.count > 1 {
      throw members.error(given[1], "'\(name)' is also given; combine them with {\"and\": [{…}, {…}]}")
    }
    // Tools add `false` to every string condition.
    if name != "equalTo", try members.bool("caseInsensitive") ?? false {
      throw members.error(
        "caseInsensitive", "'\(name)' is always case-sensitive; use equalTo, or matches with (?i)")
    }
    let place = members.place.isEmpty ? name : "\(members.place).\(name)"
    switch name {
    case "equalTo":
      return .equalTo(
        try members.text(name) ?? "", ignoresCase: try members.bool("caseInsensitive") ?? false)
    case "contains": return .contains(try members.text(name) ?? "")
    case "doesNotContain": return .not(.contains(try members.text(name) ?? ""))
    case "matches", "doesNotMatch":
      let text = try members.text(name) ?? ""
      let pattern = try members.at(name) { () throws(CodedError) in try WholePattern(text) }
      return name == "matches" ? .matches(pattern) : .not(.matches(pattern))
    case "equalToJson":
      let json = try document(members, name)
      return .equalToJSON(
        try members.at(name) { () throws(CodedError) in
          try JSONEquality(
            json, ignoreArrayOrder: try members.bool("ignoreArrayOrder") ?? false,
            ignoreExtraElements: try members.bool("ignoreExtraElements") ?? false)
        })
    case "matchesJsonPath":
      let (path, sub) = try expression(members, name)
      return .matchesJSONPath(try members.at(name) { () throws(CodedError) in try JSONPathQuery(path) }, sub)
    case "matchesJsonSchema":
      let json = try document(members, name)
      var version = JSONSchema.Version.v202012
      if let text = try members.string("schemaVersion") {
        let known = JSONSchema.Version.allCases.map(\.rawValue)
        guard let given = JSONSchema.Version(rawValue: text) else {
          throw members.error(
            "schemaVersion",
            "'\(text)' is not valid; choose \(known.dropLast().joined(separator: ", ")) or \(known.last ?? "")")
        }
        version = given
      }
      return .matchesJSONSchema(
        try members.at(name) { () throws(CodedError) in try JSONSchema(json, version: version) })
    case "equalToXml":
      let text = try members.string(name) ?? ""
      var placeholders = XMLEquality.Placeholders()
      placeholders.opening = try members.string("placeholderOpeningDelimiterRegex") ?? placeholders.opening
      placeholders.closing = try members.string("placeholderClosingDelimiterRegex") ?? placeholders.closing
      let style = try members.bool("enablePlaceholders") ?? false ? placeholders : nil
      let exempted = try exempted(members)
      return .equalToXML(
        try members.at(name) { () throws(CodedError) in
          try XMLEquality(Array(text.utf8), placeholders: style, exempted: exempted)
        })
    case "matchesXPath":
      let (path, sub) = try expression(members, name)
      var namespaces: [String: String] = [:]
      if let object = try members.object("xPathNamespaces") {
        for member in object.json.object ?? [] {
          namespaces[member.key] = try object.string(member.key)
        }
      }
      try members.at(name) { () throws(CodedError) in try XMLDocument.check(xpath: path, namespaces: namespaces) }
      return .matchesXPath(path, namespaces, sub)
    case "binaryEqualTo":
      let text = try members.string(name) ?? ""
      guard let data = Data(base64Encoded: text) else { throw members.error(name, "not Base64") }
      return .binaryEqualTo(Array(data))
    case "before", "after", "equalToDateTime":
      let text = try members.string(name) ?? ""
      let comparison: DateTimePattern.Comparison = name == "before" ? .before : name == "after" ? .after : .equal
      let offset = try members.int("expectedOffset", in: -1_000_000_000...1_000_000_000)
      return .dateTime(
        try members.at(name) { () throws(CodedError) in
          try DateTimePattern(
            comparison, text, actualFormat: try members.string("actualFormat"),
            truncateExpected: try members.string("truncateExpected"),
            truncateActual: try members.string("truncateActual"),
            applyTruncationLast: try members.bool("applyTruncationLast") ?? false, expectedOffset: offset,
            expectedOffsetUnit: try members.string("expectedOffsetUnit"))
        })
    case "absent": return try members.bool(name) ?? true ? .absent : .present
    case "anything":
      _ = members[name]
      return .any
    case "not":
      guard let object = try members.object(name) else { throw members.error(name, "expected an object") }
      return .not(try matcher(object))
    default:
      var matchers: [ValueMatcher] = []
      for element in try members.array(name) ?? [] {
        matchers.append(try matcher(Members(element.json, at: element.place)))
      }
      if matchers.isEmpty { throw CodedError(.broken, "is empty; list at least one condition", at: place) }
      return name == "and" ? .and(matchers) : .or(matchers)
    }
  }

  private static func exempted(_ members: Members) throws(CodedError) -> Set<XMLEquality.Comparison> {
    var exempted: Set<XMLEquality.Comparison> = []
    for name in try members.strings("exemptedComparisons") ?? [] {
      guard let comparison = XMLEquality.Comparison(rawValue: name) else {
        let near = EditDistance.likely(name, among: XMLEquality.Comparison.allCases.map(\.rawValue))
        throw members.error(
          "exemptedComparisons", "'\(name)' is not a comparison" + (near.map { "; did you mean \($0)?" } ?? ""))
      }
      exempted.insert(comparison)
    }
    return exempted
  }

  /// A path, or an object with the path as `expression` and a condition for what it selects.
  private static func expression(
    _ members: Members, _ name: String
  ) throws(CodedError) -> (String, ValueMatcher?) {
    if let path = members[name]?.string { return (path, nil) }
    guard let object = try members.object(name), let path = try object.string("expression") else {
      throw members.error(name, "expected a path, or an object with 'expression' and a condition")
    }
    let rest = (object.json.object ?? []).filter { $0.key != "expression" }
    guard !rest.isEmpty else {
      throw object.error("expression", "has no condition beside it; add one, such as equalTo, or give the path alone")
    }
    return (path, try matcher(Members(.object(rest), at: object.place)))
  }

  /// A JSON document, as a value or as its text.
  private static func document(_ members: Members, _ name: String) throws(CodedError) -> JSON {
    guard let value = members[name] else { return .null }
    guard let text = value.string else { return value }
    do { return try JSON.parse(Array(text.utf8)) } catch {
      // A text that only placeholders make valid, such as `${json-unit.any-string}`.
      if text.hasPrefix("${json-unit") { return .string(text) }
      throw members.error(name, "not JSON: \(error)")
    }
  }

  // MARK: Responses

  package static func response(_ json: JSON, isTemplate: Bool = false) throws(CodedError) -> StubResponse {
    try response(Members(json), isTemplate: isTemplate)
  }

  private static func response(_ members: Members, isTemplate: Bool) throws(CodedError) -> StubResponse {
    var response = StubResponse()
    response.status = try members.int("status", in: -1...999) ?? 200
    // As in WireMock.
    if response.status < 1 { response.status = 200 }
    guard response.status >= 200 else {
      throw members.error("status", "\(response.status) is not a status of a final response; use one from 200 to 999")
    }
    response.reason = try members.string("statusMessage") ?? ""
    response.headers = try headers(members, "headers")
    let bodies = ["body", "jsonBody", "base64Body", "bodyFileName"].filter { members[$0] != nil }
    if bodies.count > 1 { throw members.error(bodies[1], "'\(bodies[0])' is also given; keep one of them") }
    var text = try members.text("body")
    if let json = members["jsonBody"] { text = String(decoding: json.withPlainNumbers.encoded(), as: UTF8.self) }
    if let text { response.body = .bytes(Array(text.utf8)) }
    if let text = try members.string("base64Body") {
      guard let data = Data(base64Encoded: text) else { throw members.error("base64Body", "not Base64") }
      response.body = .bytes(Array(data))
    }
    if let name = try members.string("bodyFileName") { response.body = .file(name) }
    response.fixedDelay = try members.milliseconds("fixedDelayMilliseconds")
    response.distribution = try distribution(members)
    if let dribble = try members.object("chunkedDribbleDelay") {
      response.dribble = .init(
        chunks: try dribble.int("numberOfChunks", in: 1...100_000) ?? 1,
        milliseconds: try dribble.milliseconds("totalDuration") ?? 0)
      try dribble.end()
    }
    if let name = try members.string("fault") {
      guard let fault = StubResponse.Fault(rawValue: name) else {
        throw members.error("fault", "'\(name)' is not a fault" + alternatives(name, StubResponse.Fault.allCases))
      }
      response.fault = fault
    }
    response.proxy = try proxy(members)
    response.isCallback = try members.bool("callback") ?? false
    // Mappings get the status 200 when they are stored.
    let allowed: Set = ["callback", response.status == 200 ? "status" : ""]
    if response.isCallback, let other = members.json.object?.first(where: { !allowed.contains($0.key) })?.key {
      throw members.error(other, "a client of the admin API provides the response; remove this member or 'callback'")
    }
    var transformers = try members.strings("transformers") ?? []
    transformers.removeAll { $0 == "response-template" }
    if let other = transformers.first {
      throw members.error("transformers", "'\(other)' is not known here; only response-template is")
    }
    response.parameters = try members.object("transformerParameters")?.json ?? response.parameters
    let isTemplate = isTemplate || members["transformers"] != nil
    if let elements = try members.array("events") {
      try checkAlone("events", members, response.status)
      response.events = try EventScript(elements, isTemplate: isTemplate)
    }
    if let object = try members.object("webSocket") {
      try checkAlone("webSocket", members, response.status)
      response.webSocket = try WebSocketScript(object, isTemplate: isTemplate)
    }
    if isTemplate {
      var templates = try StubTemplates(response, text: text, at: members.place)
      templates.readsFiles = response.parameters["disableBodyFileTemplating"] != .bool(true)
      response.templates = templates
    }
    for ignored in ["fromConfiguredStub"] { _ = members[ignored] }
    try members.end()
    return response
  }

  /// Checks that a response with an event stream or a WebSocket has no other content.
  private static func checkAlone(_ name: String, _ members: Members, _ status: Int) throws(CodedError) {
    let others = [
      "body", "jsonBody", "base64Body", "bodyFileName", "chunkedDribbleDelay", "fault", "proxyBaseUrl", "statusMessage",
      "events", "webSocket",
    ]
    if let other = others.first(where: { $0 != name && members[$0] != nil }) {
      throw members.error(other, "'\(name)' is also given; keep one of them")
    }
    // Mappings get it when they are listed.
    guard status == 200 else { throw members.error("status", "'\(name)' sets the status; remove this member") }
  }

  private static func alternatives(_ name: String, _ all: [StubResponse.Fault]) -> String {
    if let near = EditDistance.likely(name, among: all.map(\.rawValue)) { return "; did you mean \(near)?" }
    return "; choose " + all.map(\.rawValue).joined(separator: ", ")
  }

  private static func headers(_ members: Members, _ name: String) throws(CodedError) -> Headers {
    var headers = Headers()
    guard let object = try members.object(name) else { return headers }
    for member in object.json.object ?? [] {
      for value in member.value.array ?? [member.value] {
        guard !(value.array != nil || value.object != nil) else {
          throw object.error(member.key, "expected a string or an array of strings")
        }
        let field = Headers.Field(member.key, value.text)
        guard field.isSendable else { throw object.error(member.key, "no message can have this header") }
        headers.fields.append(field)
      }
    }
    return headers
  }

  /// A member `delayDistribution`, or the fields of a webhook's `delay`.
  private static func distribution(_ members: Members) throws(CodedError) -> StubResponse.DelayDistribution? {
    guard let object = try members.object("delayDistribution") else { return nil }
    let distribution = try distribution(fields: object)
    try object.end()
    return distribution
  }

  package static func distribution(fields object: Members) throws(CodedError) -> StubResponse.DelayDistribution {
    switch try object.string("type") {
    case "fixed": return .fixed(try object.milliseconds("milliseconds") ?? 0)
    case "uniform":
      let lower = try object.milliseconds("lower") ?? 0
      let upper = try object.milliseconds("upper") ?? 0
      guard lower <= upper else { throw object.error("upper", "less than lower") }
      return .uniform(lower: lower, upper: upper)
    case "lognormal":
      return .lognormal(
        median: try object.milliseconds("median") ?? 0, sigma: try object.number("sigma") ?? 0,
        most: try object.milliseconds("maxValue"))
    case let other:
      throw object.error("type", "'\(other ?? "")' is not valid; choose fixed, uniform or lognormal")
    }
  }

  private static func proxy(_ members: Members) throws(CodedError) -> StubResponse.Proxy? {
    let additional = try headers(members, "additionalProxyRequestHeaders")
    let removed = try members.strings("removeProxyRequestHeaders") ?? []
    let prefix = try members.string("proxyUrlPrefixToRemove") ?? ""
    guard let url = try members.string("proxyBaseUrl") else { return nil }
    return .init(baseURL: url, additionalHeaders: additional, removedHeaders: removed, removedPrefix: prefix)
  }

  // MARK: Webhooks

  private static func webhooks(_ members: Members) throws(CodedError) -> [Webhook] {
    var found: [Webhook] = []
    for name in ["postServeActions", "serveEventListeners"] {
      guard let value = members[name] else { continue }
      // An object by name, or a list with names.
      var actions: [(name: String, members: Members)] = []
      if value.object != nil, let object = try members.object(name) {
        for member in object.json.object ?? [] {
          actions.append((member.key, try Members(member.value, at: "\(object.place).\(member.key)")))
        }
      } else {
        for element in try members.array(name) ?? [] {
          let action = try Members(element.json, at: element.place)
          let name = try action.string("name") ?? ""
          _ = action["requestPhases"]
          guard let parameters = try action.object("parameters") else {
            throw action.error("parameters", "missing")
          }
          try action.end()
          actions.append((name, parameters))
        }
      }
      for action in actions {
        guard action.name == "webhook" else {
          throw CodedError(.broken, "'\(action.name)' is not known here; only webhook is", at: action.members.place)
        }
        found.append(try webhook(action.members))
      }
    }
    return found
  }

  private static func webhook(_ members: Members) throws(CodedError) -> Webhook {
    guard let url = try members.string("url") else { throw members.error("url", "missing") }
    var webhook = Webhook(method: try members.string("method") ?? "POST", url: url)
    webhook.headers = try headers(members, "headers")
    if let text = try members.string("body") { webhook.body = Array(text.utf8) }
    if let text = try members.string("base64Body") {
      guard let data = Data(base64Encoded: text) else { throw members.error("base64Body", "not Base64") }
      webhook.body = Array(data)
    }
    webhook.fixedDelay = try members.milliseconds("fixedDelayMilliseconds")
    if let delay = try members.object("delay") {
      webhook.distribution = try distribution(fields: delay)
      try delay.end()
    }
    if let extra = try members.object("extraParameters") { webhook.parameters = extra.json }
    try members.end()
    return webhook
  }
}

extension JSON {
  /// The value with numbers as WireMock writes them: 1.50 is 1.5, and 1e3 is 1000.
  fileprivate var withPlainNumbers: JSON {
    switch self {
    case .number(let text) where text == "-0" || text.contains(where: { ".eE".contains($0) }):
      .number(JavaDecimal(text).map { Self.stripped($0.plainText) } ?? text)
    case .array(let elements): .array(elements.map(\.withPlainNumbers))
    case .object(let members): .object(members.map { .init($0.key, $0.value.withPlainNumbers) })
    default: self
    }
  }
}

extension JSON {
  /// A number without zeros at its end: 1.50 is 1.5, and -0.0 is 0.
  fileprivate static func stripped(_ number: String) -> String {
    guard number.contains(".") else { return number == "-0" ? "0" : number }
    var digits = number[...]
    while digits.hasSuffix("0") { digits.removeLast() }
    if digits.hasSuffix(".") { digits.removeLast() }
    return digits == "-0" ? "0" : String(digits)
  }
}

/// The members of a JSON object while they are read: a member that was not read is an error at the end.
package final class Members {
  package let json: JSON
  /// The path of the object, such as `request.headers`; empty for the document.
  package let place: String
  private let members: [String: JSON]
  private var asked: Set<String> = []

  package init(_ json: JSON, at place: String = "") throws(CodedError) {
    guard let members = json.dictionary else {
      throw CodedError(.broken, "expected an object, found \(json.text.prefix(60))", at: place)
    }
    self.json = json
    self.place = place
    self.members = members
  }

  /// A member of any kind; nil if it is missing or null.
  package subscript(_ name: String) -> JSON? {
    asked.insert(name)
    return members[name] == .null ? nil : members[name]
  }

  package func error(_ name: String, _ problem: String) -> CodedError {
    CodedError(.broken, problem, at: path(name))
  }

  private func path(_ name: String) -> String { place.isEmpty ? name : "\(place).\(name)" }

  /// Evaluates an expression, whose error gets the place of a member.
  package func at<Value>(_ name: String, _ body: () throws(CodedError) -> Value) throws(CodedError) -> Value {
    do { return try body() } catch { throw self.error(name, error.message) }
  }

  package func string(_ name: String) throws(CodedError) -> String? {
    guard let value = self[name] else { return nil }
    guard let text = value.string else { throw error(name, "expected a string, found \(value.text.prefix(60))") }
    return text
  }

  /// A text; numbers and booleans as they are written.
  package func text(_ name: String) throws(CodedError) -> String? {
    guard let value = self[name] else { return nil }
    guard value.array == nil, value.object == nil else {
      throw error(name, "expected a string, found \(value.text.prefix(60))")
    }
    return value.text
  }

  package func bool(_ name: String) throws(CodedError) -> Bool? {
    guard let value = self[name] else { return nil }
    if let flag = value.bool { return flag }
    // Some clients write texts.
    if let flag = value.string.flatMap(Bool.init) { return flag }
    throw error(name, "expected true or false, found \(value.text.prefix(60))")
  }

  package func int(_ name: String, in range: ClosedRange<Int>) throws(CodedError) -> Int? {
    guard let value = self[name] else { return nil }
    guard let number = value.int ?? value.string.flatMap({ Int($0) }), range.contains(number) else {
      throw error(
        name, "expected an integer from \(range.lowerBound) to \(range.upperBound), found \(value.text.prefix(60))")
    }
    return number
  }

  package func number(_ name: String) throws(CodedError) -> Double? {
    guard let value = self[name] else { return nil }
    guard let number = value.double ?? value.string.flatMap({ Double($0) }), number.isFinite else {
      throw error(name, "expected a number, found \(value.text.prefix(60))")
    }
    return number
  }

  /// A time in milliseconds, at most a day.
  package func milliseconds(_ name: String) throws(CodedError) -> Double? {
    guard let number = try number(name) else { return nil }
    guard (0...86_400_000).contains(number) else {
      throw error(name, "expected 0 to 86400000 milliseconds, found \(number)")
    }
    return number
  }

  package func object(_ name: String) throws(CodedError) -> Members? {
    guard let value = self[name] else { return nil }
    return try Members(value, at: path(name))
  }

  package func array(_ name: String) throws(CodedError) -> [(json: JSON, place: String)]? {
    guard let value = self[name] else { return nil }
    guard let elements = value.array else { throw error(name, "expected an array, found \(value.text.prefix(60))") }
    return elements.enumerated().map { ($1, "\(path(name))[\($0)]") }
  }

  package func strings(_ name: String) throws(CodedError) -> [String]? {
    guard let elements = try array(name) else { return nil }
    var strings: [String] = []
    for (json, place) in elements {
      guard let text = json.string else { throw CodedError(.broken, "expected a string", at: place) }
      strings.append(text)
    }
    return strings
  }

  /// Checks that every member has been read.
  package func end() throws(CodedError) {
    for member in json.object ?? [] where !asked.contains(member.key) {
      let near = EditDistance.likely(member.key, among: asked.sorted()).map { "; did you mean '\($0)'?" } ?? ""
      throw error(member.key, "unknown member" + near)
    }
  }
}
