import Basics
import Cassettes
import HTTPMessages
import LaunchContract

/// A difference between a message and an OpenAPI document.
package struct MessageFinding: Sendable, Equatable {
  package enum Kind: Sendable {
    /// The message contradicts the document.
    case contradiction
    /// The document does not mention a part of the message.
    case unknown
    /// The document has other content types for the body.
    case contentType
    /// The document has other statuses.
    case status
  }

  /// The affected part: `request body`, `response body`, ``query item `page` ``, `status`.
  package var part: String
  /// A JSON pointer into the body; nil if the finding is not about a body.
  package var place: String?
  /// A JSON pointer into the document.
  package var rule: String
  package var text: String
  package var kind: Kind
  /// The number of further places with the same finding, such as other elements of an array.
  package var more = 0

  /// Whether the document does not mention the part. Otherwise, the message contradicts the document.
  package var isUnknown: Bool { kind != .contradiction }

  /// The part and the place in it.
  package var location: String { part + (place.map { $0.isEmpty ? "" : " \($0)" } ?? "") }

  /// A one-line description.
  package var line: String {
    let rest = more == 0 ? "" : " (and in \(more) more \(more == 1 ? "place" : "places"))"
    return "\(location): \(text)\(rest), \(rule)"
  }
}

/// Checks requests and responses against an operation of an OpenAPI document.
struct MessageCheck {
  typealias Node = OpenAPIDocument.Node

  private(set) var findings: [MessageFinding] = []
  /// Parts of the document that apply but are not checked.
  private(set) var unsupported: [OpenAPIDocument.Unsupported] = []

  private let document: OpenAPIDocument

  init(_ document: OpenAPIDocument) {
    self.document = document
  }

  // MARK: Requests

  /// Checks a request.
  ///
  /// - Parameters:
  ///   - operation: what the request asks for.
  ///   - query: the query, without `?`.
  ///   - headers: the header fields.
  ///   - body: the decoded body; nil if it is not known.
  mutating func checkRequest(
    _ operation: OperationFinder.Operation, query: Substring?, headers: Headers, body: [UInt8]?
  ) {
    var seen: Set<String> = []
    var declared: [(name: String, isDeep: Bool)] = []
    let query = Array((query ?? "").utf8).withUnsafeBytes { QueryItems($0).json }
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
          add("query item `\(name)`", nil, parameter.pointer, "is required and missing")
        }
      case "path":
        guard parameter.json["style"]?.string ?? "simple" == "simple" else { continue }
        values = operation.pathValues[name].map { [$0] } ?? []
      case "header":
        // Documents describe these fields elsewhere (OpenAPI, "Parameter Object").
        guard !["accept", "content-type", "authorization"].contains(name.lowercased()) else { continue }
        values = headers.all(name)
        if values.isEmpty, parameter.json["required"]?.bool == true {
          add("header `\(name)`", nil, parameter.pointer, "is required and missing")
        }
      default: continue
      }
      checkParameter(parameter, place == "query" ? "query item `\(name)`" : "\(place) `\(name)`", values)
    }
    let isOpen = operation.parameters.contains { node in
      document.resolved(node, &unsupported).map { $0.json["in"]?.string == "query" && isExploded($0) } ?? true
    }
    for member in query.object ?? [] where !isOpen {
      let isKnown = declared.contains { name, isDeep in
        name == member.key || name == member.key + "[]" || isDeep && member.key.hasPrefix("\(name)[")
      }
      guard !isKnown else { continue }
      add("query item `\(member.key)`", nil, operation.node.pointer, "is not in the document", kind: .unknown)
    }
    if let body { checkRequestBody(operation, body, headers["Content-Type"]) }
  }

  /// Whether a parameter is an object whose members are separate query items.
  private mutating func isExploded(_ parameter: Node) -> Bool {
    guard let schema = parameter["schema"], parameter.json["style"]?.string ?? "form" == "form",
      parameter.json["explode"]?.bool ?? true
    else { return false }
    return document.resolved(schema, &unsupported)?.json["type"]?.string == "object"
  }

  /// Checks the values of a parameter. They are text; the schema's type determines how to read them.
  private mutating func checkParameter(_ parameter: Node, _ part: String, _ values: [String]) {
    guard !values.isEmpty, let node = parameter["schema"], let schema = document.resolved(node, &unsupported) else {
      return
    }
    var check = SchemaCheck(document, .request)
    for value in values where !RedactedPart.isIn(value) {
      if value.isEmpty, parameter.json["allowEmptyValue"]?.bool == true { continue }
      let json = TextValue.json(value, schema, document, all: values, style: parameter.json["style"]?.string)
      report(part, check.check(json, against: schema), isBody: false)
      if schema.json["type"]?.string == "array" { break }
    }
    unsupported += check.unsupported
  }

  private mutating func checkRequestBody(
    _ operation: OperationFinder.Operation, _ body: [UInt8], _ contentType: String?
  ) {
    guard let given = operation.node["requestBody"], let node = document.resolved(given, &unsupported) else {
      if !body.isEmpty, operation.node["requestBody"] == nil {
        add("request body", "", operation.node.pointer, "is not in the document", kind: .unknown)
      }
      return
    }
    guard !body.isEmpty else {
      if node.json["required"]?.bool == true { add("request body", "", node.pointer, "is required and missing") }
      return
    }
    checkContent("request body", body, contentType, node, .request)
  }

  // MARK: Responses

  /// Checks a response.
  ///
  /// - Parameters:
  ///   - operation: what was asked for.
  ///   - answer: the response.
  ///   - isForHead: whether the request's method is `HEAD`, so that there is no body.
  ///   - needsBody: whether to report a missing body if the document has a JSON body.
  mutating func checkResponse(
    _ operation: OperationFinder.Operation, _ answer: Answer, isForHead: Bool, needsBody: Bool = false
  ) {
    guard let responses = operation.node["responses"] else { return }
    guard let found = responses.response(for: answer.status) else {
      let has = responses.members.map(\.name).filter { !$0.hasPrefix("x-") }.joined(separator: ", ")
      return add(
        "status", nil, responses.pointer, "\(answer.status) is not in the document, which has \(has)", kind: .status)
    }
    guard let response = document.resolved(found, &unsupported) else { return }
    for (name, node) in response["headers"]?.members ?? [] {
      guard name.lowercased() != "content-type", let header = document.resolved(node, &unsupported) else { continue }
      let values = answer.headers.all(name)
      if values.isEmpty {
        guard header.json["required"]?.bool == true else { continue }
        add("response header `\(name)`", nil, header.pointer, "is required and missing")
      } else {
        checkParameter(header, "response header `\(name)`", values)
      }
    }
    guard !operation.isForHead, !isForHead, answer.isWhole else { return }
    guard !answer.body.isEmpty else {
      let types = (response["content"]?.members ?? []).map { MediaType($0.name).essence }
      if needsBody, ![204, 205, 304].contains(answer.status), !types.isEmpty, types.allSatisfy({ $0.hasSuffix("json") })
      {
        add("response body", "", response.pointer, "is missing")
      }
      return
    }
    checkContent("response body", answer.body, answer.headers["Content-Type"], response, .response)
  }

  private mutating func checkContent(
    _ part: String, _ body: [UInt8], _ contentType: String?, _ owner: Node,
    _ direction: SchemaCheck.Direction
  ) {
    let essence = MediaType(contentType).essence
    guard let content = owner["content"], !(content.json.object ?? []).isEmpty else {
      return add(part, "", owner.pointer, "is not in the document", kind: .unknown)
    }
    guard let media = Self.media(essence, in: content) else {
      let has = content.members.map(\.name).joined(separator: ", ")
      return add(
        part, nil, content.pointer,
        essence.isEmpty
          ? "the content type is missing; the document has \(has)"
          : "\(essence) is not in the document, which has \(has)", kind: .contentType)
    }
    guard let schema = media["schema"] else { return }
    switch BodyShape(body, contentType: contentType) {
    case .tree(let value, .json):
      var check = SchemaCheck(document, direction)
      report(part, check.check(value, against: schema), isBody: true)
      unsupported += check.unsupported
    case .tree(let value, .form):
      var check = SchemaCheck(document, direction)
      let typed = TextValue.form(value, document.resolved(schema, &unsupported) ?? schema, document)
      report(part, check.check(typed, against: schema), isBody: true)
      unsupported += check.unsupported
    case .bytes where essence.hasSuffix("json"): add(part, "", media.pointer, "is not JSON")
    case .none, .bytes, .page, .tree:
      guard !["application/octet-stream", "text/plain", "text/html"].contains(essence),
        essence.hasSuffix("xml")
          || essence.hasPrefix("multipart/") || essence.hasSuffix("ndjson") || essence.hasSuffix("jsonl")
      else { return }
      unsupported.append(.init(pointer: schema.pointer, text: "the schema of \(essence) is not looked at"))
    }
  }

  /// The most specific content type of the document that matches.
  static func media(_ essence: String, in content: Node) -> Node? {
    let type = essence.prefix { $0 != "/" }
    let members = content.members.map { (MediaType($0.name).essence, $0.node) }
    return members.first { $0.0 == essence }?.1 ?? members.first { $0.0 == "\(type)/*" }?.1
      ?? members.first { $0.0 == "*/*" }?.1
  }

  // MARK: Findings

  private mutating func report(_ part: String, _ found: [SchemaCheck.Finding], isBody: Bool) {
    for one in found {
      add(part, isBody ? one.place : nil, one.rule, one.text, kind: one.isUnknown ? .unknown : .contradiction)
    }
  }

  /// Adds a finding. The same finding for another element of an array is only counted.
  private mutating func add(
    _ part: String, _ place: String?, _ rule: String, _ text: String, kind: MessageFinding.Kind = .contradiction
  ) {
    let pattern = place.map(Self.pattern)
    let same = findings.lastIndex { finding in
      finding.part == part && finding.rule == rule && pattern != place && pattern != nil
        && finding.place.map(Self.pattern) == pattern
    }
    if let same {
      findings[same].more += 1
    } else {
      findings.append(
        MessageFinding(part: part, place: place, rule: rule, text: text.escapedForTerminal, kind: kind))
    }
  }

  /// The pointer with `*` in place of indices.
  private static func pattern(_ place: String) -> String {
    place.split(separator: "/", omittingEmptySubsequences: false).map { Int($0) == nil ? String($0) : "*" }
      .joined(separator: "/")
  }
}

extension OpenAPIDocument.Node {
  /// The member of `responses` for a status: its own, that of its class, or `default`.
  func response(for status: Int) -> Self? {
    ["\(status)", "\(status / 100)XX", "\(status / 100)xx", "default"].lazy.compactMap { self[$0] }.first
  }
}
