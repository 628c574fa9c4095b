/// A complete, unmasked WebSocket message (RFC 6455).
package struct WebSocketMessage: Sendable, Equatable {
  /// The opcode (RFC 6455, 5.2). Continuations are part of the message they continue.
  package enum Kind: UInt8, Sendable {
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    /// Whether it is a control frame rather than data.
    package var isControl: Bool { rawValue >= 8 }
  }

  package var kind: Kind
  package var payload: [UInt8]

  package init(_ kind: Kind, _ payload: [UInt8] = []) {
    self.kind = kind
    self.payload = payload
  }

  /// A close message. The reason is truncated to what a control frame can hold.
  package static func close(_ code: UInt16, _ reason: String = "") -> WebSocketMessage {
    var text: [UInt8] = []
    for character in reason {
      guard text.count + character.utf8.count <= 123 else { break }
      text += Array(character.utf8)
    }
    return WebSocketMessage(.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + text)
  }

  /// The code of a close message; nil if it has none, and for other messages.
  package var closeCode: UInt16? {
    kind == .close && payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
  }

  /// The reason of a close message; empty for other messages.
  package var closeReason: String {
    closeCode == nil ? "" : String(decoding: payload[2...], as: UTF8.self)
  }

  /// Whether a close can contain a code. Some codes are reserved (RFC 6455, 7.4).
  package static func isSendable(closeCode code: Int) -> Bool {
    1000...1003 ~= code || 1007...1014 ~= code || 3000...4999 ~= code
  }

  /// Encodes the message as one frame.
  ///
  /// - Parameter mask: a client's masking key, different for each frame; nil for a server's frame.
  /// - Returns: the bytes of the frame.
  package func frame(mask: UInt32? = nil) -> [UInt8] {
    var frame = [0x80 | kind.rawValue]
    let flag: UInt8 = mask == nil ? 0 : 0x80
    switch payload.count {
    case ..<126: frame.append(flag | UInt8(payload.count))
    case ..<65_536: frame += [flag | 126, UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
    default:
      frame.append(flag | 127)
      for shift in stride(from: 56, through: 0, by: -8) { frame.append(UInt8(payload.count >> shift & 0xFF)) }
    }
    guard let mask else { return frame + payload }
    let key = [UInt8(mask >> 24), UInt8(mask >> 16 & 0xFF), UInt8(mask >> 8 & 0xFF), UInt8(mask & 0xFF)]
    var masked = payload
    WebSocketMask.apply(key, to: &masked)
    return frame + key + masked
  }
}

/// Masks and unmasks payloads (RFC 6455, 5.3).
enum WebSocketMask {
  static func apply(_ key: [UInt8], to bytes: inout [UInt8]) {
    bytes.withUnsafeMutableBytes { bytes in
      var index = 0
      while index < bytes.count {
        bytes[index] ^= key[index & 3]
        index += 1
      }
    }
  }
}

/// Reads messages from one direction of a WebSocket: unmasks frames, joins fragments and enforces RFC 6455.
///
/// Extensions are not supported: compressed frames are rejected.
package struct WebSocketReader: Sendable {
  /// A protocol error, as the content of a close frame.
  package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// 1002: protocol error; 1007: invalid UTF-8; 1009: message too large.
    package let code: UInt16
    /// What was received, as a noun phrase for messages.
    package let reason: String

    package init(code: UInt16, reason: String) {
      self.code = code
      self.reason = reason
    }

    package var description: String { "\(reason) (\(code))" }
  }

  private struct Header {
    let isLast: Bool
    /// 0 for a continuation.
    let opcode: UInt8
    /// The size of the header itself in bytes, including the mask.
    let size: Int
    let length: Int
    let mask: [UInt8]
  }

  /// The default limit: the maximum size of a recorded message in bytes.
  package static let usualLimit = 16 << 20

  private let isMasked: Bool
  private let limit: Int
  private var bytes: [UInt8] = []
  /// The message whose fragments are arriving.
  private var fragments: WebSocketMessage?

  /// - Parameters:
  ///   - isMasked: whether frames must be masked (from a client) or must not be (from a server).
  ///   - limit: the maximum size of a message in bytes.
  package init(isMasked: Bool, limit: Int = usualLimit) {
    self.isMasked = isMasked
    self.limit = limit
  }

  /// Whether the bytes so far are complete messages.
  package var isBetweenMessages: Bool { bytes.isEmpty && fragments == nil }

  /// Adds received bytes.
  ///
  /// - Parameters:
  ///   - chunk: the bytes.
  ///   - take: called for each message they complete, in order.
  /// - Throws: ``Failure``, after which no more bytes may be pushed.
  package mutating func push(_ chunk: [UInt8], _ take: (WebSocketMessage) throws -> Void) throws {
    bytes += chunk
    var start = 0
    defer { if start > 0 { bytes.removeFirst(start) } }
    while let header = try header(at: start) {
      let first = start + header.size
      guard bytes.count - first >= header.length else { return }
      var payload = Array(bytes[first..<(first + header.length)])
      start = first + header.length
      if isMasked { WebSocketMask.apply(header.mask, to: &payload) }
      if let message = try message(header, payload) { try take(message) }
    }
  }

  /// Parses the frame header at `start`; nil if it is incomplete.
  private func header(at start: Int) throws -> Header? {
    guard bytes.count - start >= 2 else { return nil }
    let (first, second) = (bytes[start], bytes[start + 1])
    let opcode = first & 0x0F
    guard first & 0x70 == 0 else { throw Failure(code: 1002, reason: "a frame with an extension not negotiated") }
    guard opcode <= 2 || 8...10 ~= opcode else {
      throw Failure(code: 1002, reason: "a frame with the unknown opcode \(opcode)")
    }
    guard (second & 0x80 != 0) == isMasked else {
      throw Failure(code: 1002, reason: isMasked ? "an unmasked frame" : "a masked frame")
    }
    let isLast = first & 0x80 != 0
    var length = Int(second & 0x7F)
    guard opcode < 8 || (isLast && length < 126) else {
      throw Failure(code: 1002, reason: "a control frame that is fragmented or too long")
    }
    let extra = length == 126 ? 2 : length == 127 ? 8 : 0
    let size = 2 + extra + (isMasked ? 4 : 0)
    guard bytes.count - start >= size else { return nil }
    if extra > 0 {
      var number: UInt64 = 0
      for byte in bytes[(start + 2)..<(start + 2 + extra)] { number = number << 8 | UInt64(byte) }
      guard number <= UInt64(limit) else {
        throw Failure(code: 1009, reason: "a message of more than \(limit) bytes")
      }
      length = Int(number)
    }
    return Header(
      isLast: isLast, opcode: opcode, size: size, length: length,
      mask: isMasked ? Array(bytes[(start + size - 4)..<(start + size)]) : [])
  }

  /// The message that this frame completes, if any.
  private mutating func message(_ header: Header, _ payload: [UInt8]) throws -> WebSocketMessage? {
    guard header.opcode < 8 else {
      let message = WebSocketMessage(WebSocketMessage.Kind(rawValue: header.opcode) ?? .close, payload)
      if message.kind == .close { try check(close: message) }
      return message
    }
    if let kind = WebSocketMessage.Kind(rawValue: header.opcode) {
      guard fragments == nil else { throw Failure(code: 1002, reason: "a message before the end of the previous one") }
      fragments = WebSocketMessage(kind, payload)
    } else {
      guard fragments != nil else { throw Failure(code: 1002, reason: "a continuation without a message") }
      fragments?.payload += payload
    }
    guard let message = fragments, message.payload.count <= limit else {
      throw Failure(code: 1009, reason: "a message of more than \(limit) bytes")
    }
    guard header.isLast else { return nil }
    fragments = nil
    guard message.kind == .binary || String(validating: message.payload, as: UTF8.self) != nil else {
      throw Failure(code: 1007, reason: "a text message that is not valid UTF-8")
    }
    return message
  }

  private func check(close message: WebSocketMessage) throws {
    guard message.payload.count != 1 else { throw Failure(code: 1002, reason: "an incomplete close code") }
    guard let code = message.closeCode else { return }
    guard WebSocketMessage.isSendable(closeCode: Int(code)) else {
      throw Failure(code: 1002, reason: "the reserved close code \(code)")
    }
    guard String(validating: message.payload[2...], as: UTF8.self) != nil else {
      throw Failure(code: 1007, reason: "a close reason that is not valid UTF-8")
    }
  }
}

/// The opening handshake of a WebSocket (RFC 6455, 4).
package enum WebSocketHandshake {
  /// The GUID appended to the key before hashing.
  package static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

  /// Whether a request asks for a WebSocket, version 13.
  package static func isAsked(by request: Request) -> Bool {
    request.method == "GET" && names("websocket", in: request.headers.all("Upgrade"))
      && names("upgrade", in: request.headers.all("Connection")) && request.headers["Sec-WebSocket-Key"] != nil
      && request.headers["Sec-WebSocket-Version"] == "13"
  }

  /// The subprotocols that a request offers, in order.
  package static func protocols(of headers: Headers) -> [String] { list(headers.all("Sec-WebSocket-Protocol")) }

  private static func names(_ token: String, in values: [String]) -> Bool {
    list(values).contains { $0.equalsIgnoringASCIICase(token) }
  }

  private static func list(_ values: [String]) -> [String] {
    values.flatMap { $0.split(separator: ",") }.map { part in
      String(part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
    }
  }
}
