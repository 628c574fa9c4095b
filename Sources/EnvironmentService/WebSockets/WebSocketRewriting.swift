import Transforms
import HTTPMessages

/// Replaces upstreams' addresses in a WebSocket's texts with the endpoints', and back, as in requests and responses.
struct WebSocketRewriting: Sendable {
  let addresses: AddressMap
  let upstream: Int
  let form: AddressMap.Form

  /// A message of the upstream as the app gets it; nil if it is unchanged.
  func toApp(_ message: WebSocketMessage) -> WebSocketMessage? {
    guard message.kind == .text,
      var rewriter = addresses.responseBodyRewriter(contentType: "text/plain", upstream: upstream, form: form)
    else { return nil }
    let payload = rewriter.push(message.payload) + rewriter.finish()
    return payload == message.payload ? nil : WebSocketMessage(.text, payload)
  }

  /// A message of the app as the upstream gets it, and as it is matched and recorded; nil if it is unchanged.
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
  /// The bytes since the last message's end, to be passed on unchanged.
  private var raw: [UInt8] = []
  /// Whether `raw` is given up because a message began before it. Complete messages are then framed again, until the
  /// received bytes end with a message.
  private var isReframing = false

  /// - Parameters:
  ///   - isFromApp: whose messages these are.
  ///   - limit: the most bytes of a message.
  init(isFromApp: Bool, limit: Int = WebSocketReader.usualLimit) {
    self.isFromApp = isFromApp
    reader = WebSocketReader(isMasked: isFromApp, limit: limit)
  }

  /// Takes bytes.
  ///
  /// - Parameters:
  ///   - chunk: what came.
  ///   - replacing: what to pass on in place of a message; nil for the message itself. Called for each that is whole now.
  /// - Returns: what to pass on; it may be empty.
  /// - Throws: `WebSocketReader.Failure`, and what `replacing` throws; the messages before that are in ``rest`` then.
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

  /// What is still to be passed on at the end: of a message that has not come whole, or what came before a failure.
  var rest: [UInt8] { raw }

  private func frames(_ messages: [WebSocketMessage]) -> [UInt8] {
    messages.flatMap { $0.frame(mask: isFromApp ? UInt32.random(in: 0...UInt32.max) : nil) }
  }
}
