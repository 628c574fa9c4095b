/// A message of a WebSocket, whole and without a mask (RFC 6455).
package struct WebSocketMessage: Sendable, Equatable {
  /// What a frame is (RFC 6455, 5.2), but for a continuation, which is a part of one.
  package enum Kind: UInt8, Sendable {
    case text = 1
    case binary = 2
    case close = 8
    case ping = 9
    case pong = 10

    /// Whether it steers the connection and is none of the app's data.
    package var isControl: Bool { rawValue >= 8 }
  }

  package var kind: Kind
  package var payload: [UInt8]

  package init(_ kind: Kind, _ payload: [UInt8] = []) {
    self.kind = kind
    self.payload = payload
  }

  /// The end, with a code and a reason of which as much is taken as a frame holds.
  package static func close(_ code: UInt16, _ reason: String = "") -> WebSocketMessage {
    var text: [UInt8] = []
    for character in reason {
      guard text.count + character.utf8.count <= 123 else { break }
      text += Array(character.utf8)
    }
    return WebSocketMessage(.close, [UInt8(code >> 8), UInt8(code & 0xFF)] + text)
  }

  /// The code of an end; nil for one without, and for any other message.
  package var closeCode: UInt16? {
    kind == .close && payload.count >= 2 ? UInt16(payload[0]) << 8 | UInt16(payload[1]) : nil
  }

  /// The reason of an end; empty for any other message.
  package var closeReason: String {
    closeCode == nil ? "" : String(decoding: payload[2...], as: UTF8.self)
  }

  /// The message as one frame.
  ///
  /// - Parameter mask: what a client masks with, any number for each frame; nil for a server's.
  /// - Returns: its bytes.
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

/// The exclusive or with four bytes in turn, which puts a mask on and takes it off (RFC 6455, 5.3).
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
