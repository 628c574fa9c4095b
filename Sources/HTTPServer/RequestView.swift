import CMicroHTTPD

/// A request as bytes that belong to the server, valid while ``RequestHandler/answer(_:)`` runs.
package struct RequestView: ~Copyable {
  /// The method as sent.
  package let method: UnsafeRawBufferPointer
  /// The request target exactly as sent.
  package let target: UnsafeRawBufferPointer
  /// The body without any transfer coding; empty when there is none.
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

  /// The value of the first header field of that name, without regard to case; nil when there is none.
  package func header(_ name: StaticString) -> UnsafeRawBufferPointer? {
    Head.field(name, of: connection)
  }

  /// Goes through all header fields in order, as long as the body wants more.
  ///
  /// - Parameter body: gets a name and a value, and returns whether to go on.
  /// - Returns: false where the body has ended it.
  package func forEachHeader(_ body: (UnsafeRawBufferPointer, UnsafeRawBufferPointer) -> Bool) -> Bool {
    Head.forEach(of: connection, body)
  }
}
