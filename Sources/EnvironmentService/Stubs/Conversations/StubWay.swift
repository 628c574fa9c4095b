import HTTPMessages
import Transforms

/// The way of a request to an upstream's endpoint. Its stub is in the upstream's terms, so addresses have to be translated.
struct StubWay: Sendable {
  let addresses: AddressMap
  let upstream: Int
  let form: AddressMap.Form

  /// Translates a response to the app's terms.
  func translate(_ response: inout Response) {
    response.headers = addresses.responseHeaders(response.headers, upstream: upstream, form: form)
    guard case .bytes(let bytes) = response.body else { return }
    response.body = .bytes(toApp(bytes, type: response.headers["Content-Type"]))
  }

  /// A server-sent event in the app's terms.
  func event(_ bytes: [UInt8]) -> [UInt8] { toApp(bytes, type: "text/event-stream") }

  /// A message to the app in the app's terms.
  func toApp(_ message: WebSocketMessage) -> WebSocketMessage {
    WebSocketRewriting(addresses: addresses, upstream: upstream, form: form).toApp(message) ?? message
  }

  /// A message of the app in the upstream's terms.
  func toUpstream(_ message: WebSocketMessage) -> WebSocketMessage {
    WebSocketRewriting(addresses: addresses, upstream: upstream, form: form).toUpstream(message) ?? message
  }

  private func toApp(_ bytes: [UInt8], type: String?) -> [UInt8] {
    guard var rewriter = addresses.responseBodyRewriter(contentType: type, upstream: upstream, form: form) else {
      return bytes
    }
    return rewriter.push(bytes) + rewriter.finish()
  }
}
