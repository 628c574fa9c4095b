/// An HTTP/1.1 server on libmicrohttpd: any number of listening sockets, one pool of threads, and streams both ways
/// for which no thread waits.
///
/// ```swift
/// let server = try HTTPServer()
/// let listener = try server.listen(handler: handler)  // a free port on 127.0.0.1
/// …
/// await server.stop()
/// ```
package final class HTTPServer: Sendable {
  let core: ServerCore

  /// Starts the threads.
  ///
  /// Nothing listens yet.
  ///
  /// - Throws: ``ServerError`` when the system gives no threads or descriptors.
  package init(_ configuration: Configuration = .init()) throws {
    core = try ServerCore(configuration)
  }

  deinit {
    // Who drops a server without stopping it gets no grace, but keeps no threads either.
    let core = core
    Task { await core.stop(grace: .zero) }
  }

  /// Stops: nothing is accepted from now on, idle connections are closed, and running requests finish.
  ///
  /// What still runs after `grace` is cancelled and cut. When this returns, all connections, threads and descriptors
  /// are gone. Stopping again waits for the same end.
  ///
  /// - Parameter grace: how long running requests may take.
  package func stop(grace: Duration = .seconds(5)) async {
    await core.stop(grace: grace)
  }
}
