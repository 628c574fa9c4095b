import Basics
import HTTPMessages
import LaunchContract

extension HAR {
  /// Encodes `_webSocketMessages` as Chrome writes them; a close also has its code and reason.
  static func messages(_ frames: [WebSocketFrame]) -> JSON { .array(frames.map(encode)) }

  private static func encode(_ frame: WebSocketFrame) -> JSON {
    let message = frame.message
    var members: [JSON.Member] = [
      .init("type", .string(frame.isFromApp ? "send" : "receive")),
      .init("time", .number(milliseconds(frame.time))),
      .init("opcode", .number("\(message.kind.rawValue)")),
    ]
    switch message.kind {
    case .text: members.append(.init("data", .string(String(decoding: message.payload, as: UTF8.self))))
    case .close:
      if let code = message.closeCode { members.append(.init("code", .number("\(code)"))) }
      members.append(.init("data", .string(message.closeReason)))
    default: members.append(.init("data", .string(Base64.encode(message.payload))))
    }
    return .object(members)
  }

  /// Seconds with three decimal places.
  private static func milliseconds(_ seconds: Double) -> String {
    let all = Int((min(max(seconds, 0), 1e12) * 1000).rounded())
    let rest = "\(all % 1000)"
    return "\(all / 1000)." + String(repeating: "0", count: 3 - rest.count) + rest
  }

  /// The request as a browser writes it: a `GET` of `ws://` or `wss://`.
  static func webSocketRequest(_ request: RecordedRequest) -> RecordedRequest {
    var request = request
    request.method = "GET"
    if request.url.hasPrefix("http") { request.url = "ws" + request.url.dropFirst(4) }
    return request
  }
}

extension HAR.EntryDecoder {
  /// A message that cannot be read.
  struct MalformedMessage: Error {
    let problem: String
  }

  /// The messages of a WebSocket, as Diorama, Chrome, Playwright and mitmproxy write them; nil for other entries.
  func webSocket(_ entry: JSONIndex.Value) throws(MalformedMessage) -> [WebSocketFrame]? {
    guard let messages = entry["_webSocketMessages"]?.array else { return nil }
    var frames: [WebSocketFrame] = []
    for (index, message) in messages.enumerated() {
      let place = "_webSocketMessages[\(index)]"
      let type = message["type"]?.string
      let opcode = message["opcode"]?.int
      // Chrome notes a connection that broke, and other tools pings and pongs, which never reach the app.
      if author != .diorama, type == "error" || opcode == 9 || opcode == 10 { continue }
      guard type == "send" || type == "receive" else {
        throw MalformedMessage(problem: "\(place).type is neither send nor receive")
      }
      guard let opcode, let kind = WebSocketMessage.Kind(rawValue: UInt8(clamping: opcode)),
        kind == .close || !kind.isControl
      else { throw MalformedMessage(problem: "\(place).opcode is not 1, 2 or 8") }
      frames.append(
        WebSocketFrame(
          isFromApp: type == "send", time: message["time"]?.double ?? 0,
          message: try content(message, kind, place)))
    }
    return frames
  }

  private func content(
    _ message: JSONIndex.Value, _ kind: WebSocketMessage.Kind, _ place: String
  ) throws(MalformedMessage) -> WebSocketMessage {
    let data = message["data"]?.string ?? ""
    switch kind {
    case .text: return WebSocketMessage(.text, Array(data.utf8))
    case .close:
      guard let code = message["code"]?.int else { return WebSocketMessage(.close) }
      return .close(UInt16(clamping: code), data)
    default:
      guard let bytes = Base64.decode(data) else { throw MalformedMessage(problem: "\(place).data is not Base64") }
      return WebSocketMessage(kind, bytes)
    }
  }

  /// Whether the entry is a WebSocket's handshake.
  func asksForWebSocket(_ entry: JSONIndex.Value, url: String) -> Bool {
    entry["_resourceType"]?.string == "websocket" || entry["_webSocketMessages"]?.array != nil
      || url.utf8.starts(with: "ws://".utf8) || url.utf8.starts(with: "wss://".utf8)
  }

  /// The request as an interaction holds it: with ``RecordedRequest/webSocketMethod`` and an `http://` or `https://`
  /// URL.
  func webSocketRequest(_ request: RecordedRequest) -> RecordedRequest {
    var request = request
    request.method = RecordedRequest.webSocketMethod
    if request.url.hasPrefix("ws") { request.url = "http" + request.url.dropFirst(2) }
    return request
  }
}
