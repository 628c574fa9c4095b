import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// Checks recorded traffic against an OpenAPI document, without network access.
package struct DocumentCheck {
  typealias Node = OpenAPIDocument.Node

  /// A difference between an interaction and the document.
  package struct Finding: Sendable, Equatable {
    package var interaction: Int
    /// The affected part: `request body`, `response body`, ``query item `page` ``, `status`.
    package var part: String
    /// A JSON pointer into the body; nil if the finding is not about a body.
    package var place: String?
    /// A JSON pointer into the document.
    package var rule: String
    package var text: String
    /// Whether the document merely does not mention it. Otherwise the interaction contradicts the document.
    package var isUnknown: Bool
    /// The number of further places with the same finding, such as other elements of an array.
    package var more = 0

    /// A one-line description.
    package var line: String {
      let at = place.map { $0.isEmpty ? "" : " \($0)" } ?? ""
      let rest = more == 0 ? "" : " (and in \(more) more \(more == 1 ? "place" : "places"))"
      return "\(part)\(at): \(text)\(rest), \(rule)"
    }
  }

  package private(set) var findings: [Finding] = []
  /// The number of interactions that were checked.
  package private(set) var checked = 0
  /// Parts of the document that apply but are not checked, in order and without duplicates.
  package private(set) var unsupported: [OpenAPIDocument.Unsupported]
  /// The recording that was checked.
  package let recording: Recording

  private let document: OpenAPIDocument

  /// - Parameters:
  ///   - recording: the recording to check.
  ///   - document: the document to check against.
  ///   - backends: the backends that the document describes; nil for all.
  /// - Throws: errors from reading a body.
  package init(_ recording: Recording, against document: OpenAPIDocument, backends: Set<String>? = nil) throws {
    self.recording = recording
    self.document = document
    let finder = OperationFinder(document)
    unsupported = document.doubts + finder.unsupported
    var webSockets = 0
    for index in recording.interactions.indices {
      guard backends?.contains(recording.backends[index]) ?? true else { continue }
      let interaction = recording.interactions[index]
      guard !interaction.asksForWebSocket else {
        webSockets += 1
        continue
      }
      let request = interaction.request
      // A CORS preflight request is not part of the API.
      let isPreflight = request.method == "OPTIONS" && request.headers["Access-Control-Request-Method"] != nil
      guard !isPreflight else { continue }
      checked += 1
      switch finder.match(request.method, path: recording.url(index).path) {
      case .noPath:
        add(index, "path", nil, "#/paths", "\(recording.url(index).path) is not in the document", isUnknown: true)
      case .noMethod(let path, let template, let methods):
        let has = methods.isEmpty ? "nothing" : methods.joined(separator: ", ")
        add(
          index, "method", nil, path.pointer, "\(request.method) \(template) is not in the document, which has \(has)",
          isUnknown: true)
      case .operation(let operation):
        // A request that the server rejected may be invalid on purpose.
        if !(400..<500 ~= interaction.response.status) { try checkRequest(index, operation) }
        try checkResponse(index, operation)
      }
    }
    if webSockets > 0 {
      let them =
        webSockets == 1
        ? "1 WebSocket: OpenAPI has no words for it" : "\(webSockets) WebSockets: OpenAPI has no words for them"
      unsupported.append(.init(pointer: "#/paths", text: them))
    }
    var seen: Set<OpenAPIDocument.Unsupported> = []
    unsupported = unsupported.filter { seen.insert($0).inserted }
  }

  // MARK: Requests

  private mutating func checkRequest(_ index: Int, _ operation: OperationFinder.Operation) throws {
    var seen: Set<String> = []
    var declared: [(name: String, isDeep: Bool)] = []
    let query = Array((recording.url(index).query ?? "").utf8).withUnsafeBytes { QueryItems($0).json }
    let headers = recording.interactions[index].request.headers
    for node in operation.parameters {
      guard let parameter = document.resolved(node, &unsupported), let name = parameter.json["name"]?.string,
        let place = parameter.json["in"]?.string, seen.insert("\(place) \(name)").inserted
      else { continue }
      let values: [String]
      switch place {
      case "query":
        let isDeep = parameter.json["style"]?.string == "deepObject"
        declared.append((name, isDeep))
        values = isDeep ? [] : query[name].map { $0.array?.compactMap(\.string) ?? [$0.string ?? ""] } ?? []
        let isGiven =
          !values.isEmpty || isDeep && (query.object ?? []).contains { $0.key.hasPrefix("\(name)[") }
          || isExploded(parameter)
        if !isGiven, parameter.json["required"]?.bool == true {
          add(index, "query item `\(name)`", nil, parameter.pointer, "is required and missing")
        }
      case "path": values = operation.pathValues[name].map { [$0] } ?? []
      case "header":
        // Documents describe these fields elsewhere (OpenAPI, "Parameter Object").
        guard !["accept", "content-type", "authorization"].contains(name.lowercased()) else { continue }
        values = headers.all(name)
        if values.isEmpty, parameter.json["required"]?.bool == true {
          add(index, "header `\(name)`", nil, parameter.pointer, "is required and missing")
        }
      default: continue
      }
      checkParameter(index, parameter, place == "query" ? "query item `\(name)`" : "\(place) `\(name)`", values)
    }
    let isOpen = operation.parameters.contains { node in
      document.resolved(node, &unsupported).map { $0.json["in"]?.string == "query" && isExploded($0) } ?? true
    }
    for member in query.object ?? [] where !isOpen {
      let isKnown = declared.contains { name, isDeep in
        name == member.key || name == member.key + "[]" || isDeep && member.key.hasPrefix("\(name)[")
      }
      guard !isKnown else { continue }
      add(index, "query item `\(member.key)`", nil, operation.node.pointer, "is not in the document", isUnknown: true)
    }
    try checkRequestBody(index, operation)
  }

  /// Whether a parameter is an object whose members are separate query items.
  private mutating func isExploded(_ parameter: Node) -> Bool {
    guard let schema = parameter["schema"], parameter.json["style"]?.string ?? "form" == "form",
      parameter.json["explode"]?.bool ?? true
    else { return false }
    return document.resolved(schema, &unsupported)?.json["type"]?.string == "object"
  }

  /// Checks the values of a parameter. They are text; the schema's type determines how to read them.
  private mutating func checkParameter(_ index: Int, _ parameter: Node, _ part: String, _ values: [String]) {
    guard !values.isEmpty, let node = parameter["schema"], let schema = document.resolved(node, &unsupported) else {
      return
    }
    var check = SchemaCheck(document, .request)
    for value in values where !RedactedPart.isIn(value) {
      let json = TextValue.json(value, schema, document, all: values)
      report(index, part, check.check(json, against: schema), isBody: false)
      if schema.json["type"]?.string == "array" { break }
    }
    unsupported += check.unsupported
  }

  private mutating func checkRequestBody(_ index: Int, _ operation: OperationFinder.Operation) throws {
    let body = try recording.requestBody(index)
    guard let given = operation.node["requestBody"], let node = document.resolved(given, &unsupported) else {
      if !body.isEmpty, operation.node["requestBody"] == nil {
        add(index, "request body", "", operation.node.pointer, "is not in the document", isUnknown: true)
      }
      return
    }
    guard !body.isEmpty else {
      if node.json["required"]?.bool == true { add(index, "request body", "", node.pointer, "is required and missing") }
      return
    }
    let type = recording.interactions[index].request.headers["Content-Type"]
    checkContent(index, "request body", body, type, node, .request)
  }

  // MARK: Responses

  private mutating func checkResponse(_ index: Int, _ operation: OperationFinder.Operation) throws {
    let answer = try recording.answer(index)
    guard let responses = operation.node["responses"] else { return }
    let status = "\(answer.status)"
    let names = [status, "\(status.prefix(1))XX", "\(status.prefix(1))xx", "default"]
    guard let found = names.lazy.compactMap({ responses[$0] }).first else {
      let has = responses.members.map(\.name).filter { !$0.hasPrefix("x-") }.joined(separator: ", ")
      add(
        index, "status", nil, responses.pointer, "\(status) is not in the document, which has \(has)", isUnknown: true)
      return
    }
    guard let response = document.resolved(found, &unsupported) else { return }
    for (name, node) in response["headers"]?.members ?? [] {
      guard name.lowercased() != "content-type", let header = document.resolved(node, &unsupported) else { continue }
      let values = answer.headers.all(name)
      if values.isEmpty {
        guard header.json["required"]?.bool == true else { continue }
        add(index, "response header `\(name)`", nil, header.pointer, "is required and missing")
      } else {
        checkParameter(index, header, "response header `\(name)`", values)
      }
    }
    guard !operation.isForHead, recording.interactions[index].request.method != "HEAD", answer.isWhole else { return }
    guard !answer.body.isEmpty else { return }
    checkContent(index, "response body", answer.body, answer.headers["Content-Type"], response, .response)
  }

  private mutating func checkContent(
    _ index: Int, _ part: String, _ body: [UInt8], _ contentType: String?, _ owner: Node,
    _ direction: SchemaCheck.Direction
  ) {
    let essence = MediaType(contentType).essence
    guard let content = owner["content"], !(content.json.object ?? []).isEmpty else {
      return add(index, part, "", owner.pointer, "is not in the document", isUnknown: true)
    }
    guard let media = Self.media(essence, in: content) else {
      let has = content.members.map(\.name).joined(separator: ", ")
      return add(
        index, part, nil, content.pointer,
        "\(essence.isEmpty ? "no content type" : essence) is not in the document, which has \(has)", isUnknown: true)
    }
    guard let schema = media["schema"] else { return }
    switch BodyShape(body, contentType: contentType) {
    case .tree(let value, .json):
      var check = SchemaCheck(document, direction)
      report(index, part, check.check(value, against: schema), isBody: true)
      unsupported += check.unsupported
    case .tree(let value, .form):
      var check = SchemaCheck(document, direction)
      let typed = TextValue.form(value, document.resolved(schema, &unsupported) ?? schema, document)
      report(index, part, check.check(typed, against: schema), isBody: true)
      unsupported += check.unsupported
    case .bytes where essence.hasSuffix("json"): add(index, part, "", media.pointer, "is no JSON")
    case .none, .bytes, .page, .tree:
      guard !["application/octet-stream", "text/plain", "text/html"].contains(essence),
        essence.hasSuffix("xml")
          || essence.hasPrefix("multipart/") || essence.hasSuffix("ndjson") || essence.hasSuffix("jsonl")
      else { return }
      unsupported.append(.init(pointer: schema.pointer, text: "the schema of \(essence) is not looked at"))
    }
  }

  /// The most specific content type of the document that matches.
  private static func media(_ essence: String, in content: Node) -> Node? {
    let type = essence.prefix { $0 != "/" }
    let members = content.members.map { (MediaType($0.name).essence, $0.node) }
    return members.first { $0.0 == essence }?.1 ?? members.first { $0.0 == "\(type)/*" }?.1
      ?? members.first { $0.0 == "*/*" }?.1
  }

  // MARK: Findings

  private mutating func report(_ index: Int, _ part: String, _ found: [SchemaCheck.Finding], isBody: Bool) {
    for one in found {
      add(index, part, isBody ? one.place : nil, one.rule, one.text, isUnknown: one.isUnknown)
    }
  }

  /// Adds a finding. The same finding for another element of an array is only counted.
  private mutating func add(
    _ index: Int, _ part: String, _ place: String?, _ rule: String, _ text: String, isUnknown: Bool = false
  ) {
    let pattern = place.map(Self.pattern)
    // The findings of the current interaction are at the end.
    let own = findings.lastIndex { $0.interaction != index }.map { $0 + 1 } ?? 0
    let same = findings[own...].lastIndex { finding in
      finding.part == part && finding.rule == rule && pattern != place && pattern != nil
        && finding.place.map(Self.pattern) == pattern
    }
    if let same {
      findings[same].more += 1
    } else {
      findings.append(
        Finding(
          interaction: index, part: part, place: place, rule: rule, text: text.escapedForTerminal, isUnknown: isUnknown)
      )
    }
  }

  /// The pointer with `*` in place of indices.
  private static func pattern(_ place: String) -> String {
    place.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) == nil ? String($0) : "*" }
      .joined(separator: "/")
  }
}
