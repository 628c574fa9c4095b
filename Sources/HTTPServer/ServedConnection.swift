package import Basics
package import EventLoops

/// A connection that was accepted elsewhere, such as an intercepted one, and that an ``HTTPServer`` serves.
package struct ServedConnection: Sendable {
  let connection: Connection

  /// Ends the connection and its request now. ``ConnectionObserver/closed`` follows.
  package func end() { connection.core.end(connection) }
}

/// What happens to a ``ServedConnection``. The closures are called on a server thread and must return at once.
package struct ConnectionObserver: Sendable {
  /// The connection is about to be reset. The other end of a socket pair sees only that it ends.
  let reset: @Sendable () -> Void
  /// The connection is about to be closed.
  let closed: @Sendable () -> Void

  /// - Parameters:
  ///   - reset: called before a connection is reset on purpose, or because a response failed.
  ///   - closed: called once, when the connection is about to be closed.
  package init(
    reset: @escaping @Sendable () -> Void = {}, closed: @escaping @Sendable () -> Void
  ) {
    self.reset = reset
    self.closed = closed
  }
}

extension HTTPServer {
  /// Serves HTTP on a socket that is already connected, with the limits and timeouts of accepted connections.
  ///
  /// ```swift
  /// try server.serve(descriptor: pair.server, handler: handler, on: EventLoop.current)
  /// ```
  /// - Parameters:
  ///   - descriptor: a connected TCP or Unix stream socket, or one end of a socket pair. The server takes ownership, also
  ///     if this throws. ``Request/peer`` is nil.
  ///   - handler: answers the requests.
  ///   - loop: the loop to serve it on, one of ``loops``; nil for that of the worker with the fewest connections.
  ///   - observer: learns about the end of the connection.
  /// - Returns: the connection, which you need not keep.
  /// - Throws: ``CodedError`` if the client has disconnected, the server has stopped or has no room for a connection.
  @discardableResult
  package func serve(
    descriptor: Int32, handler: any RequestHandler, on loop: EventLoop? = nil, observer: ConnectionObserver? = nil
  ) throws(CodedError) -> ServedConnection {
    ServedConnection(
      connection: try core.serve(connected: descriptor, handler: handler, on: loop, observer: observer))
  }

  /// The loops of the server's threads; none once it stops.
  ///
  /// A source on one of them can pass bytes to and from a connection on the same loop without a thread switch.
  package var loops: [EventLoop] { core.loops }

  /// Closes connections that have been inactive for a second since their last response, because others wait.
  package func makeRoom() { core.endIdleConnections() }

  /// The limits of HTTP/2 connections.
  package var http2Limits: HTTP2Limits { HTTP2Limits(core.configuration) }

  /// The maximum number of connections.
  package var maximumConnections: Int { core.configuration.maximumConnections }
}
