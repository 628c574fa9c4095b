import Basics

/// An HTTP request as sent: method and target are never normalised.
package struct Request: Sendable {
  /// The method as sent, including extension methods.
  package var method: String
  /// The request target as sent, including percent escapes and empty segments: `/a%7Eb//c?x=1&x=2`, an absolute
  /// URL (in a request to a proxy), `*`, or `host:port` (with `CONNECT`).
  package var target: String
  /// The header fields in order.
  package var headers: Headers
  /// The body after any transfer coding is removed.
  package var body: Body
  /// On a server, the trailer fields of a request over HTTP/2; complete when the body has ended. Nil over HTTP/1.1.
  package var trailers: Trailers?
  /// Whether the client has sent it by HTTP/2. An HTTP client then sends it by HTTP/2, too.
  package var isHTTP2 = false
  /// On a server, identifies the client's connection; unique among open connections.
  package var connection: UInt64?
  /// On a server, the client process if it connected over a Unix socket; nil over TCP.
  package var peer: Peer?
  /// On a server, the maximum size of the response head in bytes, as ``Headers/responseHeadSize`` counts it.
  package var responseHeadLimit = Int.max

  package init(
    method: String, target: String, headers: Headers = [:], body: Body = .empty, connection: UInt64? = nil,
    peer: Peer? = nil
  ) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
    self.connection = connection
    self.peer = peer
  }
}

/// An HTTP response.
///
/// The server writes `Connection`, `Transfer-Encoding` and `Content-Length` to match the body. It keeps a given
/// `Content-Length` only if the response cannot have a body (a response to `HEAD`, a 304).
package struct Response: Sendable {
  /// 200 to 599; 101 if ``upgrade`` or ``takeover`` is set.
  package var status: Int
  /// The reason phrase; may be empty. The server library may send its own instead.
  package var reason: String
  /// The header fields in order.
  package var headers: Headers
  /// The body, before any transfer coding.
  package var body: Body
  /// Trailer fields. The body must be a stream of unknown length; they are complete when it ends.
  package var trailers: Trailers?
  /// On a server, takes over the connection after a 101 response, which has no body.
  ///
  /// Called once, on a server thread, and must return at once. Not called if the client has already disconnected.
  package var upgrade: (@Sendable (Duplex) -> Void)?
  /// The same as ``upgrade``, for code that has a loop of its own: gets the connection, which it has to close, and the
  /// bytes that were already read.
  package var takeover: (@Sendable (any DuplexChannel, _ received: [UInt8]) -> Void)?
  /// On a server, breaks the connection instead of sending this response.
  package var fault: ConnectionFault?

  package init(
    status: Int, reason: String = "", headers: Headers = [:], body: Body = .empty, trailers: Trailers? = nil
  ) {
    self.status = status
    self.trailers = trailers
    self.reason = reason
    self.headers = headers
    self.body = body
  }
}

/// How a server breaks a connection.
package enum ConnectionFault: Sendable, Equatable {
  /// Sends these bytes as they are, then closes; without bytes, the client sees an empty response.
  case close(after: [UInt8])
  /// Resets it (TCP RST; RFC 9293, 3.5.2).
  case reset
}

/// The process at the other end of a Unix socket.
package struct Peer: Sendable, Hashable {
  /// The user ID at the time of connecting.
  package let uid: UInt32
  /// The process ID at the time of connecting; 0 if it is in another PID namespace.
  package let pid: Int32

  package init(uid: UInt32, pid: Int32) {
    self.uid = uid
    self.pid = pid
  }
}

/// Trailer fields of a chunked body (RFC 9112, 7.1.2) or of HTTP/2 (RFC 9113, 8.1), filled in as the body arrives.
package final class Trailers: Sendable {
  private let content: Guarded<Headers>

  package init(_ headers: Headers = [:]) { content = Guarded(headers) }

  /// The fields received so far; complete once the body has ended.
  package var headers: Headers {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }

  /// Appends a field.
  package func append(_ name: String, _ value: String) { content.withLock { $0.append(name, value) } }
}
