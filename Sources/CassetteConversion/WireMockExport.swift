import Basics
package import Cassettes
package import HTTPMessages
import LaunchContract

/// Exports the interactions of one upstream as stub mappings for WireMock 2 and 3, which read them from a file in
/// `mappings`.
///
/// Repeated requests become a scenario: each response advances it, and the last response is repeated.
package enum WireMockExport {
  /// Lists what the export leaves out of the header and the string store.
  ///
  /// - Parameters:
  ///   - header: The header of the cassette.
  ///   - strings: The number of values in its string store.
  /// - Returns: The losses.
  package static func losses(of header: CassetteHeader, strings: Int) -> [Loss] {
    var losses = Losses()
    losses.header(header, strings: strings, of: "WireMock")
    if let recordedAt = header.recordedAt {
      losses.add("the recording date (\(recordedAt)) and all times have no place in WireMock")
    }
    return losses.all
  }

  /// Writes the file.
  ///
  /// - Parameters:
  ///   - interactions: The interactions, with all bodies in memory, each with its index in the cassette.
  ///   - origin: The origin of the upstream, to find responses that contain it.
  /// - Returns: The file, and what it leaves out of these interactions.
  package static func write(
    _ interactions: [(index: Int, interaction: Interaction)], origin: Origin?
  ) -> (file: [UInt8], losses: [Loss]) {
    var losses = Losses()
    for (index, interaction) in interactions where interaction.asksForWebSocket {
      losses.add("a WebSocket, which WireMock does not serve: it is left out", at: index)
    }
    let interactions = interactions.filter { !$0.interaction.asksForWebSocket }
    let requests = interactions.map { request($0.interaction.request, at: $0.index, &losses) }
    let keys = requests.map { $0.encoded() }
    var repeats: [[UInt8]: (count: Int, first: Int)] = [:]
    for (number, key) in keys.enumerated() { repeats[key, default: (0, number)].count += 1 }
    var turns: [[UInt8]: Int] = [:]
    var mappings: [JSON] = []
    for (number, (index, interaction)) in interactions.enumerated() {
      var members: [JSON.Member] = []
      let (count, first) = repeats[keys[number]] ?? (1, number)
      if count > 1 {
        let turn = turns[keys[number], default: 0]
        turns[keys[number]] = turn + 1
        members = scenario("interaction \(interactions[first].index)", turn: turn, of: count)
      }
      members.append(.init("request", requests[number]))
      members.append(.init("response", response(interaction, origin, at: index, &losses)))
      mappings.append(.object(members))
    }
    let file = JSON.object([.init("mappings", .array(mappings))])
    return (file.encoded(.pretty) + [0x0A], losses.all)
  }

  private static func scenario(_ name: String, turn: Int, of count: Int) -> [JSON.Member] {
    // "Started" is the initial state in WireMock.
    func state(_ turn: Int) -> JSON { .string(turn == 0 ? "Started" : "answer \(turn + 1)") }
    var members: [JSON.Member] = [.init("scenarioName", .string(name)), .init("requiredScenarioState", state(turn))]
    if turn + 1 < count { members.append(.init("newScenarioState", state(turn + 1))) }
    return members
  }

  private static func request(_ request: RecordedRequest, at index: Int, _ losses: inout Losses) -> JSON {
    let url = RecordedURL(request.url)
    if url.query?.utf8.contains(UInt8(ascii: "&")) == true {
      losses.add("its query items are matched in recorded order only", at: index)
    }
    var members: [JSON.Member] = [.init("method", .string(request.method)), .init("url", .string(url.target))]
    if let pattern = bodyPattern(request, at: index, &losses) {
      members.append(.init("bodyPatterns", .array([pattern])))
    }
    return .object(members)
  }

  /// The pattern for a request's body. Without one, WireMock accepts any body.
  private static func bodyPattern(_ request: RecordedRequest, at index: Int, _ losses: inout Losses) -> JSON? {
    guard case .bytes(let bytes) = request.body, !bytes.isEmpty else {
      let mayHaveBody = !["GET", "HEAD", "OPTIONS", "TRACE"].contains(request.method)
      return mayHaveBody ? .object([.init("absent", .bool(true))]) : nil
    }
    switch kind(of: bytes, request.headers["Content-Type"] ?? "") {
    case .json: return .object([.init("equalToJson", .string(String(decoding: bytes, as: UTF8.self)))])
    case .form: losses.add("its form is matched byte for byte", at: index)
    case .multipart: losses.add("its multipart body is matched byte for byte, with its boundary", at: index)
    case .bytes: break
    }
    // WireMock decodes text by its charset before it compares.
    if !bytes.contains(where: { $0 >= 0x80 || $0 == 0 }) {
      return .object([.init("equalTo", .string(String(decoding: bytes, as: UTF8.self)))])
    }
    return .object([.init("binaryEqualTo", .string(Base64.encode(bytes)))])
  }

  private enum Kind { case json, form, multipart, bytes }

  /// The way in which Diorama compares a body.
  private static func kind(of bytes: [UInt8], _ contentType: String) -> Kind {
    var contentType = contentType
    return contentType.withUTF8 { type in
      bytes.withUnsafeBytes { bytes in
        switch BodyContent(bytes, contentType: UnsafeRawBufferPointer(type)) {
        case .json: .json
        case .form: .form
        case .multipart: .multipart
        // The other kinds are only used by a rule.
        case .bytes, .kept, .xml, .messages: .bytes
        }
      }
    }
  }

  private static func response(
    _ interaction: Interaction, _ origin: Origin?, at index: Int, _ losses: inout Losses
  ) -> JSON {
    let response = interaction.response
    if response.isStreamed { losses.add("its body came in parts, and leaves WireMock in one", at: index) }
    var members: [JSON.Member] = [.init("status", .number("\(response.status)"))]
    if !response.reason.isEmpty { members.append(.init("statusMessage", .string(response.reason))) }
    let headers = headers(of: interaction, at: index, &losses)
    if !headers.isEmpty { members.append(.init("headers", .object(headers))) }
    if case .bytes(let bytes) = response.body, !bytes.isEmpty {
      // WireMock sends text in UTF-8, regardless of the content type.
      if let text = String(validating: bytes, as: UTF8.self), !bytes.contains(0) {
        members.append(.init("body", .string(text)))
      } else {
        members.append(.init("base64Body", .string(Base64.encode(bytes))))
      }
    }
    let places = [Array((response.headers["Location"] ?? "").utf8), response.body.bytesAtHand]
    if let origin, places.contains(where: { $0.names(origin) }) {
      losses.add("its answer names \(origin), which WireMock does not turn into its own address", at: index)
    }
    return .object(members)
  }

  private static func headers(
    of interaction: Interaction, at index: Int, _ losses: inout Losses
  ) -> [JSON.Member] {
    let response = interaction.response
    var members: [JSON.Member] = []
    for field in response.headers.fields {
      let name = field.name.lowercased()
      // The server writes these fields itself, as Diorama does during replay.
      if ["content-length", "transfer-encoding", "connection", "keep-alive"].contains(name) {
        if name == "content-length", interaction.request.method == "HEAD" || response.status == 304 {
          losses.add("Content-Length of an answer without a body is left out", at: index)
        }
        continue
      }
      if name == "content-encoding", !response.isBodyAsSent {
        losses.add("Content-Encoding (\(field.value.shortened(40))) is left out: the body is stored decoded", at: index)
        continue
      }
      if let at = members.firstIndex(where: { $0.key.equalsIgnoringASCIICase(field.name) }) {
        let values = members[at].value.array ?? [members[at].value]
        members[at].value = .array(values + [.string(field.value)])
      } else {
        members.append(.init(field.name, .string(field.value)))
      }
    }
    return members
  }
}

extension RecordedBody {
  /// The body, if it is in memory.
  fileprivate var bytesAtHand: [UInt8] {
    if case .bytes(let bytes) = self { bytes } else { [] }
  }
}

extension [UInt8] {
  /// Whether the bytes contain the authority of an origin, such as `//dev.api1.com`.
  fileprivate func names(_ origin: Origin) -> Bool {
    let wanted = Array("//\(origin.authority)".utf8)
    return withUnsafeBytes { body in wanted.withUnsafeBytes { body.firstRange(of: $0) != nil } }
  }
}
