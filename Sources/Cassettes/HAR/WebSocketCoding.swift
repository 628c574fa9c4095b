import Basics
import HTTPMessages
import LaunchContract

extension HAR {
  /// The members that mark an entry as a WebSocket, as Chrome writes them; a close also has its code and reason. A
  /// refused WebSocket has no messages.
  static func webSocketMembers(_ frames: [WebSocketFrame]?) -> [JSON.Member] {
    let type = JSON.Member("_resourceType", .string("websocket"))
    guard let frames else { return [type] }
    return [type, .init("_webSocketMessages", .array(frames.map(encode)))]
  }

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
  /// The messages of a WebSocket that Diorama recorded; nil for other entries.
  func webSocket(_ entry: JSONIndex.Value) throws(CodedError) -> [WebSocketFrame]? {
    guard case .diorama = author, let messages = entry["_webSocketMessages"]?.array else { return nil }
    var frames: [WebSocketFrame] = []
    for message in messages {
      let place = "_webSocketMessages[\(frames.count)]"
      guard let type = message["type"]?.string, type == "send" || type == "receive" else {
        throw failure("\(place).type is neither send nor receive")
      }
      guard let opcode = message["opcode"]?.int, let kind = WebSocketMessage.Kind(rawValue: UInt8(clamping: opcode)),
        kind == .close || !kind.isControl
      else { throw failure("\(place).opcode is not 1, 2 or 8") }
      frames.append(
        WebSocketFrame(
          isFromApp: type == "send", time: message["time"]?.double ?? 0,
          message: try content(message, kind, place)))
    }
    return frames
  }

  private func content(
    _ message: JSONIndex.Value, _ kind: WebSocketMessage.Kind, _ place: String
  ) throws(CodedError) -> WebSocketMessage {
    let data = message["data"]?.string ?? ""
    switch kind {
    case .text: return WebSocketMessage(.text, Array(data.utf8))
    case .close:
      guard let code = message["code"]?.int else { return WebSocketMessage(.close) }
      return .close(UInt16(clamping: code), data)
    default:
      guard let bytes = Base64.decode(data) else { throw failure("\(place).data is not Base64") }
      return WebSocketMessage(kind, bytes)
    }
  }

  /// Whether Diorama recorded this entry as a WebSocket request.
  func asksForWebSocket(_ entry: JSONIndex.Value) -> Bool {
    guard case .diorama = author else { return false }
    return entry["_resourceType"]?.string == "websocket"
      || entry["_webSocketMessages"]?.array != nil
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
