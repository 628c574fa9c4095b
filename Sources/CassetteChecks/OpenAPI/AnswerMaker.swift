import Basics
import Cassettes
import HTTPMessages

/// Makes the response of one operation of an OpenAPI document.
struct AnswerMaker {
  typealias Node = OpenAPIDocument.Node

  /// Why the document has no such response.
  struct Refusal: Error {
    var status: Int
    var detail: String
  }

  /// How many times to try to generate a body that the schema allows.
  private static let tries = 5
  /// Fields that the server sets, or that would change how the body is read.
  private static let ownFields = [
    "content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "trailer", "upgrade",
    "date",
  ]

  let document: OpenAPIDocument
  let operation: OperationFinder.Operation
  let request: Request
  let random: (ClosedRange<Int>) -> Int
  /// The operation, such as `GET /pets/{id}`.
  let label: String

  private var accepted: AcceptedTypes { AcceptedTypes(request.headers) }

  /// The response that the request prefers; by default the one with the lowest 2xx status.
  func answer() throws(Refusal) -> OpenAPIMock.Answer {
    let preferences = RequestPreferences(request.headers)
    guard ["true", "false", nil].contains(preferences.dynamic) else {
      throw Refusal(
        status: 400,
        detail: "Prefer: dynamic must be true or false, not '\((preferences.dynamic ?? "").shortened(40))'")
    }
    let responses = operation.node["responses"]
    let names = (responses?.members ?? []).map(\.name).filter { !$0.hasPrefix("x-") }
    if let code = preferences.code {
      guard let status = Int(code), 200..<600 ~= status, let response = responses?.response(for: status) else {
        throw Refusal(
          status: 404,
          detail:
            "Prefer: code=\(code.shortened(40)) is not in the document, which has \(names.joined(separator: ", "))")
      }
      return try answer(status, response, preferences)
    }
    let success = names.compactMap { Int($0) }.filter { 200..<300 ~= $0 }.min()
    // Some names may not be valid statuses.
    let other = names.lazy.map { Int($0) ?? (Int($0.prefix(1)) ?? 2) * 100 }.first { 100..<600 ~= $0 }
    let status =
      success ?? (names.contains { $0.hasPrefix("2") || $0 == "default" } ? 200 : other.map { max(200, $0) } ?? 200)
    guard let response = responses?.response(for: status) else {
      return OpenAPIMock.Answer(status: status, headers: [:], body: [], label: label)
    }
    return try answer(status, response, preferences)
  }

  /// The document's response to invalid requests; nil if the document does not describe its body.
  func errorAnswer(_ status: Int, _ response: Node) throws(Refusal) -> OpenAPIMock.Answer? {
    var ignored: [OpenAPIDocument.Unsupported] = []
    guard let node = document.resolved(response, &ignored), node["content"]?.members.isEmpty == false else {
      return nil
    }
    return try answer(status, response, RequestPreferences([:]))
  }

  private func answer(
    _ status: Int, _ response: Node, _ preferences: RequestPreferences
  ) throws(Refusal) -> OpenAPIMock.Answer {
    var ignored: [OpenAPIDocument.Unsupported] = []
    guard let response = document.resolved(response, &ignored) else {
      throw Refusal(
        status: 500, detail: "its response \(status) is an unresolved $ref; fix the document")
    }
    var answer = OpenAPIMock.Answer(status: status, headers: headers(response), body: [], label: label)
    let content = response["content"]?.members ?? []
    guard !content.isEmpty, ![204, 205, 304].contains(status) else {
      guard let example = preferences.example else { return answer }
      throw Refusal(
        status: 404, detail: "its response \(status) has no body, so it has no example '\(example.shortened(40))'")
    }
    let accepted = accepted
    let candidates = content.enumerated()
      .map {
        (quality: accepted.quality(of: accepted.type(in: MediaType($1.name).essence)), rank: Self.rank($1.name), $0, $1)
      }
      .filter { $0.quality > 0 }
      .sorted { ($1.quality, $0.rank, $0.2) < ($0.quality, $1.rank, $1.2) }
      .map(\.3)
    guard !candidates.isEmpty else {
      throw Refusal(
        status: 406,
        detail: "Accept: \(accepted.text.shortened()) matches none of the content types for \(status): "
          + content.map(\.name).joined(separator: ", "))
    }
    var first: Refusal?
    for (name, media) in candidates {
      do throws(Refusal) {
        let essence = MediaType(name).essence
        let type = essence.hasSuffix("/*") ? accepted.type(in: essence) : name
        let isJSON = MediaType(type).essence.hasSuffix("json")
        let body = try body(media, isJSON: isJSON, status, preferences)
        guard let bytes = Self.bytes(body.value, isJSON: isJSON) else {
          throw Refusal(
            status: 500, detail: "a \(type) body cannot be generated from a schema; add an example to the document")
        }
        answer.body = bytes
        answer.headers.append("Content-Type", type)
        if let name = body.example { answer.label += ", example \(name)" }
        answer.doubts = body.doubts.map { "\(label), \(status): \($0)" }
        return answer
      } catch { first = first ?? error }
    }
    throw first ?? Refusal(status: 500, detail: "its response \(status) has no body")
  }

  /// JSON comes first if the client has no preference.
  private static func rank(_ type: String) -> Int {
    let essence = MediaType(type).essence
    return essence == "application/json" || essence == "*/*" ? 0 : essence.hasSuffix("json") ? 1 : 2
  }

  /// A value as the bytes of a body; nil if the content type cannot represent it.
  private static func bytes(_ value: JSON, isJSON: Bool) -> [UInt8]? {
    if isJSON { return value.encoded() }
    switch value {
    case .string(let text): return Array(text.utf8)
    case .number, .bool: return value.encoded()
    case .null: return []
    case .array, .object: return nil
    }
  }

  // MARK: Bodies

  private typealias Body = (value: JSON, example: String?, doubts: [String])

  private func body(
    _ media: Node, isJSON: Bool, _ status: Int, _ preferences: RequestPreferences
  ) throws(Refusal) -> Body {
    var ignored: [OpenAPIDocument.Unsupported] = []
    let schema = media["schema"]
    let isDynamic = preferences.dynamic == "true" && schema != nil
    var examples: [(name: String, value: JSON)] = []
    for (name, node) in media["examples"]?.members ?? [] {
      if let value = document.resolved(node, &ignored)?.json["value"] { examples.append((name, value)) }
    }
    var chosen: (name: String?, value: JSON)?
    if let name = preferences.example {
      guard let found = examples.first(where: { $0.name.hasSameBytes(as: name) }) else {
        let has = examples.isEmpty ? "which has none" : "which has \(examples.map(\.name).joined(separator: ", "))"
        throw Refusal(
          status: 404, detail: "Prefer: example=\(name.shortened(40)) is not in the document for \(status), \(has)")
      }
      chosen = (found.name, found.value)
    } else if !isDynamic {
      chosen = media.json["example"].map { (nil, $0) } ?? examples.first.map { ($0.name, $0.value) }
    }
    guard let schema else { return (chosen?.value ?? (isJSON ? .object([JSON.Member]()) : .null), chosen?.name, []) }
    if let chosen {
      guard isJSON else { return (chosen.value, chosen.name, []) }
      var findings = findings(chosen.value, schema)
      if !findings.isEmpty, let text = chosen.value.string, let value = try? JSON.parse(Array(text.utf8)) {
        // The example is a string that contains JSON.
        findings = self.findings(value, schema)
        return (value, chosen.name, findings.map { "the example does not match its schema: \($0)" })
      }
      return (chosen.value, chosen.name, findings.map { "the example does not match its schema: \($0)" })
    }
    return try made(schema, isDynamic: isDynamic)
  }

  /// Generates a value for a schema. Retries if the schema does not allow the value.
  private func made(_ schema: Node, isDynamic: Bool) throws(Refusal) -> Body {
    var sample = SchemaSample(document, given: given, isDynamic: isDynamic, random: random)
    var doubts: [String] = []
    var value = JSON.null
    for _ in 0..<Self.tries {
      do { value = try sample.value(of: schema) } catch {
        throw Refusal(status: 500, detail: error.message)
      }
      doubts = findings(value, schema).map { "the value generated from the schema violates it: \($0); add an example" }
      if doubts.isEmpty { break }
    }
    return (value, nil, doubts)
  }

  /// How a value violates a schema, at most three lines.
  private func findings(_ value: JSON, _ schema: Node) -> [String] {
    var check = SchemaCheck(document, .response)
    return check.check(value, against: schema).filter { !$0.isUnknown }.prefix(3).map {
      "\($0.place.isEmpty ? "it" : $0.place) \($0.text)"
    }
  }

  /// The values of path parameters, by member name. If the path ends with an id, as in `/pets/{petId}`, `id` has that
  /// value, too.
  private var given: [String: String] {
    var values = operation.pathValues
    let last = operation.template.split(separator: "/").last ?? ""
    if values["id"] == nil, last.hasPrefix("{"), last.hasSuffix("}"), last.lowercased().hasSuffix("id}") {
      values["id"] = values[String(last.dropFirst().dropLast())]
    }
    return values
  }

  // MARK: Header fields

  private func headers(_ response: Node) -> Headers {
    var headers = Headers()
    var ignored: [OpenAPIDocument.Unsupported] = []
    for (name, node) in response["headers"]?.members ?? [] where !Self.ownFields.contains(name.lowercased()) {
      guard let header = document.resolved(node, &ignored) else { continue }
      let example = header.json["example"] ?? header["examples"]?.members.first?.node.json["value"]
      var value = example
      if value == nil, let schema = header["schema"] { value = try? made(schema, isDynamic: false).value }
      guard let value else { continue }
      let field = Headers.Field(name, Self.fieldText(Self.simple(value)))
      if field.isSendable { headers.fields.append(field) }
    }
    return headers
  }

  /// A value in the style `simple` (OpenAPI, "Style Values").
  private static func simple(_ value: JSON) -> String {
    switch value {
    case .array(let elements): elements.map(\.text).joined(separator: ",")
    case .object(let members): members.map { "\($0.key),\($0.value.text)" }.joined(separator: ",")
    default: value.text
    }
  }

  /// The text in a form that a header field can contain: printable ASCII, at most 500 characters.
  static func fieldText(_ text: String) -> String {
    String(text.unicodeScalars.prefix(500).map { 0x20...0x7E ~= $0.value ? Character($0) : "?" })
  }
}
