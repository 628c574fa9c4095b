/// Reads messages from one direction of a WebSocket, whose bytes come in any pieces: takes masks off, puts fragments
/// together, and refuses what RFC 6455 does not allow.
///
/// Without extensions: a frame that is compressed is refused.
package struct WebSocketReader: Sendable {
  /// Why the connection has to end, in the terms of a close frame.
  package struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// 1002: against the protocol; 1007: no UTF-8; 1009: too large.
    package let code: UInt16
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
    /// Of the header itself, mask and all.
    let size: Int
    let length: Int
    let mask: [UInt8]
  }

  /// The most bytes of a message that is recorded.
  package static let usualLimit = 16 << 20

  private let isMasked: Bool
  private let limit: Int
  private var bytes: [UInt8] = []
  /// The message of which fragments have come.
  private var fragments: WebSocketMessage?

  /// - Parameters:
  ///   - isMasked: whether the frames have to be masked, as a client's, or must not be, as a server's.
  ///   - limit: the most bytes of a message; no more than that is held.
  package init(isMasked: Bool, limit: Int = usualLimit) {
    self.isMasked = isMasked
    self.limit = limit
  }

  /// Whether all that has come is whole messages.
  package var isBetweenMessages: Bool { bytes.isEmpty && fragments == nil }

  /// Takes bytes.
  ///
  /// - Parameters:
  ///   - chunk: what came.
  ///   - take: called for each message that is whole now, in order.
  /// - Throws: ``Failure``; nothing more is to be pushed then.
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

  /// The header of the frame that begins there; nil while it is not whole.
  private func header(at start: Int) throws -> Header? {
    guard bytes.count - start >= 2 else { return nil }
    let (first, second) = (bytes[start], bytes[start + 1])
    let opcode = first & 0x0F
    guard first & 0x70 == 0 else { throw Failure(code: 1002, reason: "a frame of an extension that was not agreed") }
    guard opcode <= 2 || 8...10 ~= opcode else {
      throw Failure(code: 1002, reason: "a frame of unknown kind \(opcode)")
    }
    guard (second & 0x80 != 0) == isMasked else {
      throw Failure(code: 1002, reason: isMasked ? "a frame without a mask" : "a masked frame from the server")
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

  /// The message that is whole with this frame.
  private mutating func message(_ header: Header, _ payload: [UInt8]) throws -> WebSocketMessage? {
    guard header.opcode < 8 else {
      let message = WebSocketMessage(WebSocketMessage.Kind(rawValue: header.opcode) ?? .close, payload)
      if message.kind == .close { try check(close: message) }
      return message
    }
    if let kind = WebSocketMessage.Kind(rawValue: header.opcode) {
      guard fragments == nil else { throw Failure(code: 1002, reason: "a message inside another one") }
      fragments = WebSocketMessage(kind, payload)
    } else {
      guard fragments != nil else { throw Failure(code: 1002, reason: "a continuation of nothing") }
      fragments?.payload += payload
    }
    guard let message = fragments, message.payload.count <= limit else {
      throw Failure(code: 1009, reason: "a message of more than \(limit) bytes")
    }
    guard header.isLast else { return nil }
    fragments = nil
    guard message.kind == .binary || String(validating: message.payload, as: UTF8.self) != nil else {
      throw Failure(code: 1007, reason: "a text that is no UTF-8")
    }
    return message
  }

  private func check(close message: WebSocketMessage) throws {
    guard message.payload.count != 1 else { throw Failure(code: 1002, reason: "half a close code") }
    guard let code = message.closeCode else { return }
    guard 1000...1003 ~= code || 1007...1014 ~= code || 3000...4999 ~= code else {
      throw Failure(code: 1002, reason: "the close code \(code), which is never sent")
    }
    guard String(validating: message.payload[2...], as: UTF8.self) != nil else {
      throw Failure(code: 1007, reason: "a reason that is no UTF-8")
    }
  }
}
