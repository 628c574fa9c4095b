import HTTPMessages

/// A port on 127.0.0.1 at which clients can connect already, and wait until they are served.
///
/// ```swift
/// let reserved = try server.reserve(20_011)  // nobody else gets the port now
/// …                                          // all that an answer needs
/// try reserved.serve(handler: handler)
/// ```
/// Dropping it without ``serve(handler:)`` gives the port back.
package final class ReservedListener: Sendable {
  /// The port.
  package let port: UInt16
  private let core: ServerCore
  private let socket: Guarded<ListeningSocket?>

  init(_ socket: ListeningSocket, core: ServerCore) {
    port = socket.place.port
    self.core = core
    self.socket = Guarded(socket)
  }

  deinit { close() }

  /// Serves who waits and who comes from now on.
  ///
  /// - Parameter handler: answers what arrives at this port.
  /// - Returns: the listener; it need not be kept.
  /// - Throws: ``ServerError`` when this has been served or closed before, or the server has been stopped; the port is
  ///   free then.
  @discardableResult
  package func serve(handler: any RequestHandler) throws -> Listener {
    guard let socket = socket.withLock({ $0.take() }) else {
      throw ServerError(
        what: "the reserved port is served or closed already", where: "127.0.0.1 port \(port)", next: "reserve it anew")
    }
    return try core.serve(socket, handler: handler)
  }

  /// Gives the port back; who waits there is refused.
  ///
  /// After ``serve(handler:)``, and the second time, this does nothing.
  package func close() {
    socket.withLock { $0.take() }?.close()
  }
}
