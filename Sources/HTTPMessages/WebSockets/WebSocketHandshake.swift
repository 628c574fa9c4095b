/// The HTTP of a WebSocket's beginning (RFC 6455, 4).
package enum WebSocketHandshake {
  /// What follows the key before it is hashed.
  package static let suffix = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

  /// Whether a request wants to become a WebSocket, in the one version that there is.
  package static func isAsked(by request: Request) -> Bool {
    request.method == "GET" && names("websocket", in: request.headers.all("Upgrade"))
      && names("upgrade", in: request.headers.all("Connection")) && request.headers["Sec-WebSocket-Key"] != nil
      && request.headers["Sec-WebSocket-Version"] == "13"
  }

  /// The subprotocols that a request offers, in its order.
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
