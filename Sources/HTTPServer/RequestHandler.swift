package import HTTPMessages

/// What answers the requests that arrive at a ``Listener``.
package protocol RequestHandler: Sendable {
  /// The fast path, for an answer that is at hand.
  ///
  /// Called on a server thread, which serves many connections, once the head is there and, if there is a body of
  /// known length up to 64 KiB, the whole body too; a longer body, or one of unknown length, goes straight to
  /// ``respond(to:)``. It must not wait, and nothing of `request` may be kept.
  ///
  /// - Returns: the answer; nil sends the request on to ``respond(to:)``.
  func answer(_ request: borrowing RequestView) -> PreparedResponse?

  /// The fast path for an answer that somebody else gives.
  ///
  /// Called where ``answer(_:)`` has had none, on the same thread. What it begins tells its end on that thread, too, and
  /// not before this has returned; it can still decide then to go on as with any other request.
  ///
  /// - Parameters:
  ///   - request: nothing of it may be kept.
  ///   - answer: where the answer goes.
  /// - Returns: what has begun; nil sends the request on to ``respond(to:)``.
  func pass(_ request: borrowing RequestView, to answer: LateAnswer) -> (any Passage)?

  /// Whether ``respond(to:)`` does little between its waits.
  ///
  /// Then all of it runs on the server thread of its connection, unless a body comes in meanwhile: nothing has to wait
  /// for another thread. The other connections of that thread wait for it.
  var isBrief: Bool { get }

  /// Everything else.
  ///
  /// It starts on a server thread and should get to its first suspension quickly. Its task is cancelled when the
  /// client goes away. The answer is sent once the whole request has arrived. If it returns bytes before the
  /// request's body has been read, the rest of that is dropped; if it returns a stream, somebody must read the
  /// request's body to its end all the same, or abandon it.
  ///
  /// - Returns: the answer. A stream in its body is read until it ends or fails; failing cuts the connection.
  /// - Throws: anything; the client gets a 500 that names it.
  func respond(to request: Request) async throws -> Response

  /// A connection that has brought requests is closed, by the client or by the server.
  ///
  /// Called on a server thread, in the midst of libmicrohttpd: return at once, and wake no connection from here.
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
