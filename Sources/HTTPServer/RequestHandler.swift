import CMicroHTTPD
package import HTTPMessages

/// Answers the requests to a ``Listener``, and those of HTTP/2 connections, by ``respond(to:)`` alone.
package protocol RequestHandler: Sendable {
  /// The fast path, for a response that is ready.
  ///
  /// Called on a server thread, which serves many connections, once the head has arrived and, if the body has a known
  /// length up to 64 KiB, the whole body too. Longer bodies and those of unknown length go to ``respond(to:)``
  /// directly. It must not wait, and must not keep any part of `request`.
  ///
  /// - Returns: the response; nil to pass the request on to ``respond(to:)``.
  func answer(_ request: borrowing RequestView) -> PreparedResponse?

  /// The fast path for a response that comes from elsewhere, such as an upstream.
  ///
  /// Called if ``answer(_:)`` returned nil, on the same thread. The operation it starts must complete on that thread
  /// too, after this has returned; it may then still choose ``respond(to:)``'s way.
  ///
  /// - Parameters:
  ///   - request: no part of it may be kept.
  ///   - answer: receives the response.
  /// - Returns: the operation started; nil to pass the request on to ``respond(to:)``.
  func pass(_ request: borrowing RequestView, to answer: LateAnswer) -> (any Passage)?

  /// Whether ``respond(to:)`` does little work between suspensions.
  ///
  /// It then runs entirely on its connection's server thread, unless it receives a streamed body, and needs no thread
  /// switches. The thread's other connections wait meanwhile.
  var isBrief: Bool { get }

  /// Answers all other requests.
  ///
  /// Starts on a server thread and should suspend quickly. The task is cancelled when the client disconnects. The
  /// response is sent once the whole request has arrived; over HTTP/2 at once, and the body's rest is no longer received
  /// after its end. If it returns bytes before the request's body has been read, the rest of the body is dropped. If it
  /// returns a stream, the request's body must still be read to its end or abandoned.
  ///
  /// - Returns: the response. A stream as its body is read until it ends or fails; a failure cuts the connection.
  /// - Throws: any error; the client gets a 500 that describes it.
  func respond(to request: Request) async throws -> Response

  /// A connection that sent requests has been closed, by the client or by the server.
  ///
  /// Called on a server thread from inside libmicrohttpd: return at once, and do not wake any connection.
  ///
  /// - Parameter connection: as in ``Request/connection``.
  func closed(_ connection: UInt64)
}

extension RequestHandler {
  package func answer(_ request: borrowing RequestView) -> PreparedResponse? { nil }
  package func pass(_ request: borrowing RequestView, to answer: LateAnswer) -> (any Passage)? { nil }
  package var isBrief: Bool { false }
  package func closed(_ connection: UInt64) {}
}

/// A request as bytes owned by the server, valid while ``RequestHandler/answer(_:)`` runs.
package struct RequestView: ~Copyable {
  /// The method as sent.
  package let method: UnsafeRawBufferPointer
  /// The request target exactly as sent.
  package let target: UnsafeRawBufferPointer
  /// The body without any transfer coding; may be empty.
  package let body: UnsafeRawBufferPointer
  private let connection: OpaquePointer

  init(
    method: UnsafeRawBufferPointer, target: UnsafeRawBufferPointer, body: UnsafeRawBufferPointer,
    connection: OpaquePointer
  ) {
    self.method = method
    self.target = target
    self.body = body
    self.connection = connection
  }

  /// The value of the first header field with this name, case-insensitively; nil if absent.
  package func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
    Head.field(name, of: connection)
  }

  /// Calls `body` for each header field in order, until it returns false.
  ///
  /// - Parameter body: receives the name and the value; returns whether to continue.
  /// - Returns: false if `body` stopped the iteration.
  package func forEachHeader(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) -> Bool {
    Head.forEach(of: connection, body)
  }
}
