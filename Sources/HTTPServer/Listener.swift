/// A port on 127.0.0.1 at which a server accepts connections.
///
/// It listens until ``close()``, or until the server stops, whether this value is kept or not.
package final class Listener: Sendable {
  /// The port.
  package let port: UInt16
  private let id: UInt32
  private let core: ServerCore

  init(port: UInt16, id: UInt32, core: ServerCore) {
    self.port = port
    self.id = id
    self.core = core
  }

  /// Stops accepting and frees the port.
  ///
  /// Connections accepted before live on. Closing again does nothing.
  package func close() {
    core.closeListener(id)
  }
}
