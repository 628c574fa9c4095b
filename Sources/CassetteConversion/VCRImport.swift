import Basics
import Cassettes
import HTTPMessages

/// Imports cassettes of VCR (Ruby), vcrpy (Python) and go-vcr (Go), in YAML or in JSON with the same structure.
///
/// All of them list interactions with a request and a response. Headers have lists of values, and bodies are stored as
/// sent, including their content coding.
struct VCRImport {
  let format: ImportFormat
  let name: String
  private var losses = Losses()

  init(format: ImportFormat, name: String) {
    self.format = format
    self.name = name
  }

  /// Whether a file with vcrpy's outer structure is go-vcr's, whose requests have `url` instead of `uri`.
  static func isGoVCR(_ file: YAMLNode) -> Bool {
    guard let request = file["interactions"]?.sequence?.first?["request"] else { return false }
    return request["url"] != nil && request["uri"] == nil
  }

  mutating func read(_ file: YAMLNode) throws(CodedError) -> ForeignCassette {
    let key = format == .vcr ? "http_interactions" : "interactions"
    let hasKey = file.mapping?.contains { $0.key == key } == true
    // A key without a value means that nothing was recorded.
    var list = hasKey ? [YAMLNode]() : nil
    if let node = file[key] { list = node.sequence }
    // Before version 1.0, vcrpy wrote only the list.
    if format == .vcrpy, let whole = file.sequence { list = whole }
    guard let list else {
      throw wrong("it is not a \(format.title) cassette, which has a list '\(key)'", file, at: nil)
    }
    unknown(in: file, but: [key, "version"], "", at: nil)
    var interactions: [Interaction] = []
    var decodable = Self.decodedLimit
    for (index, node) in list.enumerated() {
      let place = index + 1
      var exchange = try exchange(node, at: place)
      exchange.decodedLimit = exchange.responseBody.count + decodable
      guard let interaction = exchange.interaction(at: place, &losses) else { continue }
      decodable -= max(0, interaction.response.body.length - exchange.responseBody.count)
      interactions.append(interaction)
    }
    return ForeignCassette(format: format, header: CassetteHeader(), interactions: interactions, losses: losses.all)
  }

  /// The maximum number of bytes that all bodies together may grow by decoding, because they are held in memory.
  private static let decodedLimit = 256 << 20

  private mutating func exchange(_ node: YAMLNode, at place: Int) throws(CodedError) -> ForeignInteraction {
    let request = try mapping("request", of: node, "", at: place)
    let response = try mapping("response", of: node, "", at: place)
    unknown(in: node, but: ["request", "response", "recorded_at", "id"], "", at: place)
    // go-vcr repeats parts of the URL, of the headers and of the form.
    let repeated = [
      "proto", "proto_major", "proto_minor", "content_length", "transfer_encoding", "host", "remote_addr",
      "request_uri", "form",
    ]
    unknown(
      in: request, but: ["method", "uri", "body", "headers", "url", "protocol", "port", "path"] + repeated, "request.",
      at: place)
    unknown(
      in: response,
      but: ["status", "headers", "body", "http_version", "status_code", "content", "code", "uncompressed"] + repeated,
      "response.", at: place)
    let (code, reason) = try status(response, at: place)
    var exchange = ForeignInteraction(
      method: try text("method", of: request, "request.", at: place).uppercased(),
      url: try url(of: request, at: place), status: code)
    exchange.reason = reason
    exchange.requestHeaders = headers(request["headers"], "request", at: place)
    exchange.requestBody = try body(request["body"], "request.body", at: place)
    exchange.responseHeaders = headers(response["headers"], "response", at: place)
    // Some versions of vcrpy stored the bodies of httpx decoded, in a separate member.
    exchange.responseBody = try body(response["body"] ?? response["content"], "response.body", at: place)
    exchange.isDecoded = response["body"] == nil && response["content"] != nil
    if let version = (response["http_version"] ?? response["proto"])?.text, !["1.1", "HTTP/1.1"].contains(version) {
      losses.add("HTTP version \(version.shortened(20)): it is replayed over HTTP/1.1", at: place)
    }
    if let text = node["recorded_at"]?.text {
      exchange.startedAt = Instant(text)?.rfc3339 ?? HAR.cookieDate(text)
      if exchange.startedAt == nil { losses.add("recorded_at '\(text.shortened(40))' is no date", at: place) }
    }
    if exchange.url.contains("<%") || exchange.responseBody.contains(template: "<%=") {
      losses.add("it has marks of ERB (<% %>), which are taken as they stand", at: place)
    }
    return exchange
  }

  private func url(of request: YAMLNode, at place: Int) throws(CodedError) -> String {
    guard let scheme = request["protocol"]?.text else {
      return try text(request["url"] == nil ? "uri" : "url", of: request, "request.", at: place)
    }
    let port = request["port"]?.text.map { ["http80", "https443"].contains(scheme + $0) ? "" : ":\($0)" } ?? ""
    let path = try text("path", of: request, "request.", at: place)
    return "\(scheme)://\(try text("host", of: request, "request.", at: place))\(port)\(path)"
  }

  private func status(_ response: YAMLNode, at place: Int) throws(CodedError) -> (Int, String) {
    let status = response["status"]
    if let code = response["code"] {
      guard let number = code.text.flatMap({ Int($0) }) else {
        throw wrong("response.code is not a whole number", code, at: place)
      }
      // go-vcr writes `200 OK`.
      return (number, status?.text.map { String($0.drop { $0 != " " }.dropFirst()) } ?? "")
    }
    guard let node = status?["code"] ?? response["status_code"] ?? status else {
      throw wrong("response.status is missing", response, at: place)
    }
    guard let code = node.text.flatMap({ Int($0) }) else {
      throw wrong("response.status.code is not a whole number", node, at: place)
    }
    return (code, status?["message"]?.text ?? "")
  }

  /// Reads `{Name: [values]}`. Older files have a single value instead of a list, a list of pairs, or a list of lines.
  private mutating func headers(_ node: YAMLNode?, _ message: String, at place: Int) -> [Headers.Field] {
    guard let node else { return [] }
    if let elements = node.sequence {
      // A set of pairs, in YAML of vcrpy before 1.0, is the single argument of its constructor.
      let pairs = elements.count == 1 && elements[0].sequence?.first?.sequence != nil ? elements[0].sequence : elements
      return (pairs ?? []).compactMap { pair in
        if let line = pair.text, let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) {
          let value = line[colon...].dropFirst().trimmingPrefix { $0.isWhitespace }
          return Headers.Field(String(line[..<colon]), String(value.prefix { !$0.isNewline }))
        }
        guard let pair = pair.sequence, pair.count == 2, let name = pair[0].text, let value = pair[1].text else {
          losses.add("a \(message) header is no pair of texts and is left out", at: place)
          return nil
        }
        return Headers.Field(name, value)
      }
    }
    return (node.mapping ?? []).flatMap { member in
      (member.value.sequence ?? [member.value]).compactMap { value in
        if let text = value.isNull ? "" : value.text { return Headers.Field(member.key, text) }
        losses.add("\(message) header '\(member.key.shortened(40))' has no text and is left out", at: place)
        return nil
      }
    }
  }

  /// Reads a body: a text, or `{encoding, string | base64_string}`.
  private mutating func body(_ node: YAMLNode?, _ path: String, at place: Int) throws(CodedError) -> [UInt8] {
    guard let node else { return [] }
    guard node.mapping != nil else {
      guard let bytes = node.bytes else { throw wrong("\(path) is no text", node, at: place) }
      return bytes
    }
    unknown(in: node, but: ["string", "base64_string", "encoding"], "\(path).", at: place)
    if let text = node["base64_string"]?.text {
      guard let bytes = Base64.decode(text) else {
        throw wrong("\(path).base64_string is not Base64", node["base64_string"] ?? node, at: place)
      }
      return bytes
    }
    guard let string = node["string"] else { return [] }
    guard let bytes = string.bytes else { throw wrong("\(path).string is no text", string, at: place) }
    guard case .text(let text) = string.content, let encoding = node["encoding"]?.text else { return bytes }
    return encoded(text, encoding, path, at: place)
  }

  /// VCR writes text in UTF-8 together with the name of its original encoding.
  private mutating func encoded(_ text: String, _ encoding: String, _ path: String, at place: Int) -> [UInt8] {
    switch encoding.uppercased() {
    case "UTF-8", "US-ASCII", "ASCII-8BIT", "BINARY": return Array(text.utf8)
    case "ISO-8859-1" where text.unicodeScalars.allSatisfy { $0.value <= 0xFF }:
      return text.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) }
    default:
      guard text.utf8.contains(where: { $0 >= 0x80 }) else { return Array(text.utf8) }
      losses.add("\(path) was in \(encoding.shortened(40)): it is replayed in UTF-8", at: place)
      return Array(text.utf8)
    }
  }

  private func mapping(
    _ key: String, of node: YAMLNode, _ path: String, at place: Int
  ) throws(CodedError) -> YAMLNode {
    guard let value = node[key] else { throw wrong("\(path)\(key) is missing", node, at: place) }
    guard value.mapping != nil else { throw wrong("\(path)\(key) is no mapping", value, at: place) }
    return value
  }

  private func text(_ key: String, of node: YAMLNode, _ path: String, at place: Int) throws(CodedError) -> String {
    guard let value = node[key] else { throw wrong("\(path)\(key) is missing", node, at: place) }
    guard let text = value.text, !text.isEmpty else { throw wrong("\(path)\(key) is no text", value, at: place) }
    return text
  }

  private mutating func unknown(in node: YAMLNode, but known: [String], _ path: String, at place: Int?) {
    for member in node.mapping ?? [] where !known.contains(member.key) && !isEmpty(member.value) {
      losses.add("\(path)\(member.key.shortened(40)) is left out", at: place)
    }
  }

  private func isEmpty(_ node: YAMLNode) -> Bool {
    node.isNull || node.text == "" || node.mapping?.isEmpty == true || node.sequence?.isEmpty == true
  }

  private func wrong(_ problem: String, _ node: YAMLNode, at place: Int?) -> CodedError {
    CodedError(
      name: name, entry: place, line: node.place?.line, column: node.place?.column, problem: problem,
      advice: "fix the file, or re-record it")
  }
}

extension [UInt8] {
  fileprivate func contains(template: StaticString) -> Bool {
    withUnsafeBytes {
      $0.firstRange(of: UnsafeRawBufferPointer(start: template.utf8Start, count: template.utf8CodeUnitCount)) != nil
    }
  }
}
