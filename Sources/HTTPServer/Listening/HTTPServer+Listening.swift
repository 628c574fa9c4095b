extension HTTPServer {
  /// Accepts connections on 127.0.0.1.
  ///
  /// - Parameters:
  ///   - port: nil takes a free one.
  ///   - handler: answers what arrives at this port.
  /// - Returns: the listener; it need not be kept.
  /// - Throws: ``ServerError`` when the port is taken, or the server has been stopped.
  @discardableResult
  package func listen(on port: UInt16? = nil, handler: any RequestHandler) throws -> Listener {
    try core.serve(ListeningSocket.onLoopback(port: port), handler: handler)
  }

  /// Accepts connections on a Unix socket that only this user (and root) can reach: its file has mode 0600.
  ///
  /// A file that a killed process left behind is replaced. ``Listener/close()`` and ``stop(grace:)`` remove the file.
  /// ``Request/peer`` names the process that asks.
  ///
  /// - Parameters:
  ///   - path: of at most 107 bytes (103 on Apple's systems).
  ///   - handler: answers what arrives there.
  /// - Returns: the listener; it need not be kept.
  /// - Throws: ``ServerError`` when the path is too long or not usable, when another process answers there, or when
  ///   the server has been stopped.
  @discardableResult
  package func listen(onUnixSocket path: String, handler: any RequestHandler) throws -> Listener {
    try core.serve(ListeningSocket.onPath(path), handler: handler)
  }

  /// Accepts connections on a socket that listens already, such as one that systemd hands over.
  ///
  /// - Parameters:
  ///   - descriptor: a stream socket that listens on a loopback address or a Unix path. The server owns it from here
  ///     on, except when it is none such. A Unix socket's file is left to who made it.
  ///   - handler: answers what arrives there.
  /// - Returns: the listener; it need not be kept.
  /// - Throws: ``ServerError`` when it is no such socket, or the server has been stopped.
  @discardableResult
  package func listen(descriptor: Int32, handler: any RequestHandler) throws -> Listener {
    try core.serve(ListeningSocket.inherited(descriptor), handler: handler)
  }

  /// Takes a port on 127.0.0.1 at which connections wait until they are served.
  ///
  /// - Parameter port: nil takes a free one.
  /// - Returns: the port; keep it.
  /// - Throws: ``ServerError`` when the port is taken.
  package func reserve(_ port: UInt16? = nil) throws -> ReservedListener {
    ReservedListener(try .onLoopback(port: port), core: core)
  }
}
