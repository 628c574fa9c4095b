import Transforms
import HTTPMessages

/// Rewrites upstream URLs in text messages to endpoint URLs, and back, as in requests and responses.
struct WebSocketRewriting: Sendable {
  let addresses: AddressMap
  let upstream: Int
  let form: AddressMap.Form

  /// An upstream's message as the app receives it; nil if unchanged.
  func toApp(_ message: WebSocketMessage) -> WebSocketMessage? {
    guard message.kind == .text,
      var rewriter = addresses.responseBodyRewriter(contentType: "text/plain", upstream: upstream, form: form)
    else { return nil }
    let payload = rewriter.push(message.payload) + rewriter.finish()
    return payload == message.payload ? nil : WebSocketMessage(.text, payload)
  }

  /// An app's message as the upstream receives it, and as it is matched and recorded; nil if unchanged.
  func toUpstream(_ message: WebSocketMessage) -> WebSocketMessage? {
    guard message.kind == .text else { return nil }
    return addresses.requestBody(message.payload, contentType: "text/plain", form: form).map {
      WebSocketMessage(.text, $0)
    }
  }
}

/// One direction of a WebSocket in which some messages are replaced.
///
/// Bytes pass unchanged as long as no message in them is replaced and they end with a message; otherwise complete
/// messages are framed again. A message is held back until it is complete; a fragmented one until its last fragment.
struct WebSocketRelay {
  private var reader: WebSocketReader
  private let isFromApp: Bool
  /// The bytes since the end of the last message, to be passed on unchanged.
  private var raw: [UInt8] = []
  /// Whether `raw` is not kept because part of the current message was not either. Complete messages are then framed
  /// again, until the received bytes end with a message.
  private var isReframing = false

  /// - Parameters:
  ///   - isFromApp: whether the app sends the messages.
  ///   - limit: the maximum size of a message in bytes.
  init(isFromApp: Bool, limit: Int = WebSocketReader.usualLimit) {
    self.isFromApp = isFromApp
    reader = WebSocketReader(isMasked: isFromApp, limit: limit)
  }

  /// Adds received bytes.
  ///
  /// - Parameters:
  ///   - chunk: the bytes.
  ///   - replacing: called for each message that is now complete; returns its replacement, or nil to keep it.
  /// - Returns: the bytes to pass on; may be empty.
  /// - Throws: `WebSocketReader.Failure`, or what `replacing` throws. The messages before the error are then in
  ///   ``rest``.
  mutating func push(
    _ chunk: [UInt8], replacing: (WebSocketMessage) throws -> WebSocketMessage?
  ) throws -> [UInt8] {
    var messages: [WebSocketMessage] = []
    var isChanged = false
    if !isReframing { raw += chunk }
    do {
      try reader.push(chunk) { message in
        let replacement = try replacing(message)
        isChanged = isChanged || replacement != nil
        messages.append(replacement ?? message)
      }
    } catch {
      raw = frames(messages)
      throw error
    }
    if reader.isBetweenMessages {
      let passed = isChanged || isReframing ? frames(messages) : raw
      raw = []
      isReframing = false
      return passed
    }
    guard isReframing || !messages.isEmpty else { return [] }
    raw = []
    isReframing = true
    return frames(messages)
  }

  /// The bytes left to pass on at the end: of an incomplete message, or from before an error.
  var rest: [UInt8] { raw }

  private func frames(_ messages: [WebSocketMessage]) -> [UInt8] {
    messages.flatMap { $0.frame(mask: isFromApp ? UInt32.random(in: 0...UInt32.max) : nil) }
  }
}
