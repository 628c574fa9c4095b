/// Where a server accepts connections: a port on 127.0.0.1, or a Unix socket.
///
/// It listens until ``close()``, or until the server stops, whether this value is kept or not.
package final class Listener: Sendable {
  /// The port; 0 for a Unix socket.
  package let port: UInt16
  /// The path of a Unix socket (abstract names begin with `@`); nil for a port.
  package let path: String?
  private let id: UInt32
  private let core: ServerCore

  init(place: ListeningSocket.Place, id: UInt32, core: ServerCore) {
    port = place.port
    path = place.path
    self.id = id
    self.core = core
  }

  /// Stops accepting, and frees the port or removes the socket's file.
  ///
  /// Connections accepted before live on. Closing again does nothing.
  package func close() {
    core.closeListener(id)
  }
}
