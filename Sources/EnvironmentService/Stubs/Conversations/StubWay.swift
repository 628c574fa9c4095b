import HTTPMessages
import Transforms

/// Translates between the upstream's URLs, which stubs use, and the app's, for a request to an upstream's endpoint.
struct StubWay: Sendable {
  let addresses: AddressMap
  let upstream: Int
  let form: AddressMap.Form

  /// Rewrites the URLs in a response for the app.
  func translate(_ response: inout Response) {
    response.headers = addresses.responseHeaders(response.headers, upstream: upstream, form: form)
    guard case .bytes(let bytes) = response.body else { return }
    response.body = .bytes(toApp(bytes, type: response.headers["Content-Type"]))
  }

  /// A server-sent event with the app's URLs.
  func event(_ bytes: [UInt8]) -> [UInt8] { toApp(bytes, type: "text/event-stream") }

  /// A message to the app with the app's URLs.
  func toApp(_ message: WebSocketMessage) -> WebSocketMessage {
    WebSocketRewriting(addresses: addresses, upstream: upstream, form: form).toApp(message) ?? message
  }

  /// A message from the app with the upstream's URLs.
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
