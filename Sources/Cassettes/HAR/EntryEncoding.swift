package import Basics
import HTTPMessages
import LaunchContract

extension HAR {
  /// Encodes an interaction as an element of `log.entries`. Members are always in the same order, to keep diffs small.
  package static func encode(_ interaction: Interaction) -> JSON {
    let time = number(interaction.milliseconds)
    var members: [JSON.Member] = []
    if let upstream = interaction.upstream {
      members.append(.init("_diorama", .object([.init("upstream", .string(upstream))])))
    }
    members += [
      .init("startedDateTime", .string(interaction.startedAt)),
      .init("time", time),
      .init(
        "request", encode(interaction.asksForWebSocket ? webSocketRequest(interaction.request) : interaction.request)),
      .init("response", encode(interaction.response)),
      .init("cache", .object([])),
      // The phases have to add up to `time`; the split is not recorded.
      .init("timings", .object([.init("send", .number("0")), .init("wait", time), .init("receive", .number("0"))])),
    ]
    if interaction.asksForWebSocket { members += webSocketMembers(interaction.webSocket) }
    return .object(members)
  }

  private static func encode(_ request: RecordedRequest) -> JSON {
    let query = FormText.query(ofURL: request.url).map(FormText.pairs) ?? []
    var members: [JSON.Member] = [
      .init("method", .string(request.method)),
      .init("url", .string(request.url)),
      .init("httpVersion", .string("HTTP/1.1")),
      .init("cookies", requestCookies(request.headers)),
      .init("headers", encode(request.headers)),
      .init("queryString", .array(query.map { pair(name: $0.name, value: $0.value) })),
    ]
    if let postData = postData(request.body, mimeType: request.headers["Content-Type"]) {
      members.append(.init("postData", postData))
    }
    members += [.init("headersSize", .number("-1")), .init("bodySize", .number("\(request.body.length)"))]
    return .object(members)
  }

  private static func encode(_ response: RecordedResponse) -> JSON {
    var members: [JSON.Member] = [
      .init("status", .number("\(response.status)")),
      .init("statusText", .string(response.reason)),
      .init("httpVersion", .string("HTTP/1.1")),
      .init("cookies", responseCookies(response.headers)),
      .init("headers", encode(response.headers)),
      .init(
        "content", content(response.body, mimeType: response.headers["Content-Type"], notes: contentNotes(response))),
      .init("redirectURL", .string(response.headers["Location"] ?? "")),
      .init("headersSize", .number("-1")),
      .init("bodySize", .number("-1")),
    ]
    if !response.trailers.fields.isEmpty {
      members.append(.init("_diorama", .object([.init("trailers", encode(response.trailers))])))
    }
    return .object(members)
  }

  private static func encode(_ headers: Headers) -> JSON {
    .array(headers.fields.map { pair(name: $0.name, value: $0.value) })
  }

  private static func pair(name: String, value: String) -> JSON {
    .object([.init("name", .string(name)), .init("value", .string(value))])
  }

  /// Milliseconds in the shortest form; 0 if the value is negative or not finite.
  private static func number(_ milliseconds: Double) -> JSON {
    guard milliseconds.isFinite, milliseconds > 0 else { return .number("0") }
    if let whole = Int(exactly: milliseconds) { return .number("\(whole)") }
    return .number("\(milliseconds)")
  }

  /// Written by browsers if a message has no content type; `mimeType` is required.
  static let unknownType = "x-unknown"

  /// Encodes `response.content`.
  static func content(_ body: RecordedBody, mimeType: String?, notes: JSON? = nil) -> JSON {
    var members: [JSON.Member] = [
      .init("size", .number("\(body.length)")), .init("mimeType", .string(mimeType ?? unknownType)),
    ]
    switch body {
    case .file(let name, _): members.append(.init("_file", .string(name)))
    case .bytes(let bytes) where bytes.isEmpty: break
    case .bytes(let bytes):
      if let text = readableText(bytes) {
        members.append(.init("text", .string(text)))
      } else {
        members += [.init("text", .string(Base64.encode(bytes))), .init("encoding", .string("base64"))]
      }
    }
    if let notes { members.append(.init("_diorama", notes)) }
    return .object(members)
  }

  /// Encodes `response.content._diorama`; nil if it would be empty.
  static func contentNotes(_ response: RecordedResponse) -> JSON? {
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
    return members.isEmpty ? nil : .object(members)
  }

  /// Encodes `request.postData`; nil if the body is empty.
  ///
  /// HAR defines no encoding here, so `_diorama` marks a binary body. `params` and `text` exclude each other; only
  /// `text` preserves the bytes as sent.
  static func postData(_ body: RecordedBody, mimeType: String?) -> JSON? {
    guard body.length > 0 else { return nil }
    var members: [JSON.Member] = [.init("mimeType", .string(mimeType ?? unknownType))]
    switch body {
    case .file(let name, let length):
      members += [
        .init("text", .string("")), .init("_file", .string(name)),
        .init("_diorama", .object([.init("length", .number("\(length)"))])),
      ]
    case .bytes(let bytes):
      if let text = readableText(bytes) {
        members.append(.init("text", .string(text)))
      } else {
        members += [
          .init("text", .string(Base64.encode(bytes))),
          .init("_diorama", .object([.init("encoding", .string("base64"))])),
        ]
      }
    }
    return .object(members)
  }

  /// The bytes as a string if they are UTF-8 without control characters other than white space.
  ///
  /// Such a string converts back to the same bytes. Anything else would not be readable anyway.
  private static func readableText(_ bytes: [UInt8]) -> String? {
    let isControl = { (byte: UInt8) in
      (byte < 0x20 && byte != 0x09 && byte != 0x0A && byte != 0x0C && byte != 0x0D) || byte == 0x7F
    }
    guard !bytes.contains(where: isControl) else { return nil }
    return String(validating: bytes, as: UTF8.self)
  }

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
