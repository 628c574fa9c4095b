package import Basics
import HTTPMessages
import LaunchContract

extension HAR {
  /// Writes an interaction as an element of `log.entries`. Members are always in the same order, to keep diffs small.
  ///
  /// - Parameters:
  ///   - interaction: the interaction.
  ///   - hasBinaryBody: whether to write the response's body in Base64 even if it is text.
  ///   - writer: the writer to append to.
  package static func encode(_ interaction: Interaction, hasBinaryBody: Bool = false, to writer: inout JSONWriter) {
    let time = number(interaction.milliseconds)
    writer.object { entry in
      if interaction.upstream != nil || interaction.isSetup || !interaction.interleaving.isEmpty {
        entry.member("_diorama") {
          $0.object { notes in
            if let upstream = interaction.upstream { notes.member("upstream", string: upstream) }
            if interaction.isSetup { notes.member("setup", .bool(true)) }
            if !interaction.interleaving.isEmpty {
              notes.member("interleaving", .array(interaction.interleaving.map { .number("\($0)") }))
            }
          }
        }
      }
      entry.member("startedDateTime", string: interaction.startedAt)
      entry.member("time", number: time)
      entry.member("request") {
        encode(interaction.asksForWebSocket ? webSocketRequest(interaction.request) : interaction.request, to: &$0)
      }
      entry.member("response") { encode(interaction.response, hasBinaryBody: hasBinaryBody, to: &$0) }
      entry.member("cache", .object([]))
      // The phases have to add up to `time`; the split is not recorded.
      entry.member("timings") {
        $0.object { timings in
          timings.member("send", number: "0")
          timings.member("wait", number: time)
          timings.member("receive", number: "0")
        }
      }
      if interaction.asksForWebSocket {
        entry.member("_resourceType", string: "websocket")
        if let frames = interaction.webSocket { entry.member("_webSocketMessages", messages(frames)) }
      }
    }
  }

  private static func encode(_ request: RecordedRequest, to writer: inout JSONWriter) {
    let query = FormText.query(ofURL: request.url).map(FormText.pairs) ?? []
    writer.object { object in
      object.member("method", string: request.method)
      object.member("url", string: request.url)
      object.member("httpVersion", string: "HTTP/1.1")
      object.member("cookies", requestCookies(request.headers))
      object.member("headers") { encode(request.headers, to: &$0) }
      object.member("queryString") {
        $0.array { items in for item in query { encode(name: item.name, value: item.value, to: &items) } }
      }
      if request.body.length > 0 {
        object.member("postData") { postData(request, to: &$0) }
      }
      object.member("headersSize", number: "-1")
      object.member("bodySize", number: "\(request.body.length)")
    }
  }

  private static func encode(_ response: RecordedResponse, hasBinaryBody: Bool, to writer: inout JSONWriter) {
    writer.object { object in
      object.member("status", number: "\(response.status)")
      object.member("statusText", string: response.reason)
      object.member("httpVersion", string: "HTTP/1.1")
      object.member("cookies", responseCookies(response.headers))
      object.member("headers") { encode(response.headers, to: &$0) }
      object.member("content") { content(of: response, isBinary: hasBinaryBody, to: &$0) }
      object.member("redirectURL", string: response.headers["Location"] ?? "")
      object.member("headersSize", number: "-1")
      object.member("bodySize", number: "-1")
      if !response.trailers.fields.isEmpty {
        object.member("_diorama") { $0.object { $0.member("trailers") { encode(response.trailers, to: &$0) } } }
      }
    }
  }

  private static func encode(_ headers: Headers, to writer: inout JSONWriter) {
    writer.array { fields in
      for field in headers.fields { encode(name: field.name, value: field.value, to: &fields) }
    }
  }

  /// Writes an element with a name and a value.
  private static func encode(name: String, value: String, to writer: inout JSONWriter) {
    writer.element { pair in
      pair.member("name", string: name)
      pair.member("value", string: value)
    }
  }

  /// Milliseconds in the shortest form; 0 if the value is negative or not finite.
  private static func number(_ milliseconds: Double) -> String {
    guard milliseconds.isFinite, milliseconds > 0 else { return "0" }
    if let whole = Int(exactly: milliseconds) { return "\(whole)" }
    return "\(milliseconds)"
  }

  /// Written by browsers if a message has no content type; `mimeType` is required.
  static let unknownType = "x-unknown"

  /// Writes `response.content`.
  private static func content(of response: RecordedResponse, isBinary: Bool, to writer: inout JSONWriter) {
    writer.object { content in
      content.member("size", number: "\(response.body.length)")
      content.member("mimeType", string: response.headers["Content-Type"] ?? unknownType)
      switch response.body {
      case .file(let name, _): content.member("_file", string: name)
      case .bytes(let bytes) where bytes.isEmpty: break
      case .bytes(let bytes):
        if !isBinary, let text = readableText(bytes) {
          content.member("text", string: text)
        } else {
          content.member("text", string: Base64.encode(bytes))
          content.member("encoding", string: "base64")
        }
      }
      if let notes = contentNotes(response) { content.member("_diorama", notes) }
    }
  }

  /// Encodes `response.content._diorama`; nil if it would be empty.
  private static func contentNotes(_ response: RecordedResponse) -> JSON? {
    var members: [JSON.Member] = []
    if response.isBodyAsSent { members.append(.init("asSent", .bool(true))) }
    if !response.parts.isEmpty {
      members.append(
        .init(
          "parts",
          .array(response.parts.map { .array([.number("\($0.milliseconds)"), .number("\($0.count)")]) })))
    }
    if response.end != .whole { members.append(.init("cut", .bool(true))) }
    if response.end == .open { members.append(.init("open", .bool(true))) }
    if !response.messages.isEmpty { members.append(.init("messages", .array(response.messages))) }
    return members.isEmpty ? nil : .object(members)
  }

  /// Writes `request.postData`.
  ///
  /// HAR defines no encoding here, so `_diorama` marks a binary body. `params` and `text` exclude each other; only
  /// `text` preserves the bytes as sent.
  private static func postData(_ request: RecordedRequest, to writer: inout JSONWriter) {
    writer.object { data in
      data.member("mimeType", string: request.headers["Content-Type"] ?? unknownType)
      switch request.body {
      case .file(let name, let length):
        data.member("text", string: "")
        data.member("_file", string: name)
        data.member("_diorama") { $0.object { $0.member("length", number: "\(length)") } }
      case .bytes(let bytes):
        if let text = readableText(bytes) {
          data.member("text", string: text)
        } else {
          data.member("text", string: Base64.encode(bytes))
          data.member("_diorama") {
            $0.object { notes in
              notes.member("encoding", string: "base64")
              if !request.messages.isEmpty { notes.member("messages", .array(request.messages)) }
            }
          }
        }
      }
    }
  }

  /// The bytes as a string if they are UTF-8 without control characters other than white space.
  ///
  /// Such a string converts back to the same bytes. Anything else would not be readable anyway.
  private static func readableText(_ bytes: [UInt8]) -> String? {
    bytes.withUnsafeBufferPointer { bytes in
      for byte in bytes {
        let isSpace = byte == 0x09 || byte == 0x0A || byte == 0x0C || byte == 0x0D
        guard byte >= 0x20 && byte != 0x7F || isSpace else { return nil }
      }
      return String(validating: bytes, as: UTF8.self)
    }
  }

  /// Whether a body is written as text rather than in Base64.
  package static func isText(_ bytes: [UInt8]) -> Bool { readableText(bytes) != nil }

  /// Encodes `request.cookies`: the pairs of all `Cookie` fields (RFC 6265, 4.2).
  static func requestCookies(_ headers: Headers) -> JSON {
    .array(
      headers.all("Cookie").flatMap { $0.utf8.split(separator: UInt8(ascii: ";")) }.map { part in
        let (name, value) = nameAndValue(part)
        return .object([.init("name", .string(name)), .init("value", .string(value ?? ""))])
      })
  }

  /// Encodes `response.cookies`: one for each `Set-Cookie` field (RFC 6265, 4.1).
  ///
  /// HAR has no member for `Max-Age` and `SameSite`; they remain in the header.
  static func responseCookies(_ headers: Headers) -> JSON {
    .array(
      headers.all("Set-Cookie").map { field in
        let parts = field.utf8.split(separator: UInt8(ascii: ";"), omittingEmptySubsequences: false)
        let (name, value) = nameAndValue(parts[0])
        var members: [JSON.Member] = [.init("name", .string(name)), .init("value", .string(value ?? ""))]
        for part in parts.dropFirst() {
          let (attribute, value) = nameAndValue(part)
          switch attribute.lowercased() {
          case "path": members.append(.init("path", .string(value ?? "")))
          case "domain": members.append(.init("domain", .string(value ?? "")))
          case "expires":
            if let date = value.flatMap(cookieDate) { members.append(.init("expires", .string(date))) }
          case "httponly": members.append(.init("httpOnly", .bool(true)))
          case "secure": members.append(.init("secure", .bool(true)))
          default: break
          }
        }
        return .object(
          members.reduce(into: []) { kept, member in
            // The last value of a repeated attribute wins (RFC 6265, 5.2 and 5.3).
            if let index = kept.firstIndex(where: { $0.key == member.key }) {
              kept[index] = member
            } else {
              kept.append(member)
            }
          })
      })
  }

  private static func nameAndValue(_ part: Substring.UTF8View) -> (String, String?) {
    guard let equals = part.firstIndex(of: UInt8(ascii: "=")) else { return (trimmed(part), nil) }
    return (trimmed(part[..<equals]), trimmed(part[equals...].dropFirst()))
  }

  private static func trimmed(_ part: Substring.UTF8View) -> String {
    func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
    var part = part.drop(while: isBlank)
    while let last = part.last, isBlank(last) { part.removeLast() }
    return String(Substring(part))
  }

  /// Converts an `Expires` date in any form that browsers accept (RFC 6265, 5.1.1) to RFC 3339 in UTC.
  package static func cookieDate(_ text: String) -> String? {
    let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
    var time: [Int]?
    var day: Int?
    var month: Int?
    var year: Int?
    let isWord = { (character: Character) in character.isLetter || character.isNumber || character == ":" }
    for token in text.lowercased().split(whereSeparator: { !isWord($0) }) {
      let numbers = token.split(separator: ":", omittingEmptySubsequences: false).compactMap { Int($0) }
      if time == nil, numbers.count == 3 {
        time = numbers
      } else if day == nil, let number = Int(token), token.utf8.count <= 2 {
        day = number
      } else if month == nil, let index = months.firstIndex(of: String(token.prefix(3))) {
        month = index + 1
      } else if year == nil, let number = Int(token) {
        year = number < 70 ? number + 2000 : number < 100 ? number + 1900 : number
      }
    }
    guard let time, let day, let month, let year, 1...31 ~= day, 1601...9999 ~= year, 0...23 ~= time[0],
      0...59 ~= time[1], 0...59 ~= time[2]
    else { return nil }
    let days = RFC3339.daysSince1970(year: year, month: month, day: day)
    return RFC3339.format(seconds: days * 86_400 + time[0] * 3600 + time[1] * 60 + time[2])
  }
}
