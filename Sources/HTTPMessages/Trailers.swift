/// Fields that follow a body in chunks (RFC 9112, 7.1.2): filled in while the body passes, and whole at its end.
package final class Trailers: Sendable {
  private let content: Guarded<Headers>

  package init(_ headers: Headers = [:]) { content = Guarded(headers) }

  /// What has come so far; all of it once the body has ended.
  package var headers: Headers {
    get { content.withLock { $0 } }
    set { content.withLock { $0 = newValue } }
  }

  /// Adds a field at the end.
  package func append(_ name: String, _ value: String) { content.withLock { $0.append(name, value) } }
}
