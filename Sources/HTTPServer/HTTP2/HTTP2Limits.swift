/// Limits and timeouts of an HTTP/2 connection.
package struct HTTP2Limits: Sendable {
  /// The number of requests that a client may send at the same time.
  package var maximumStreams: Int
  /// The maximum size of a request's header list in bytes, as RFC 9113, 6.5.2 counts it. A larger one gets a 431, or a
  /// 414 if the target alone is larger.
  package var headerLimit: Int
  /// The maximum size of a request body in bytes; a larger one gets a 413.
  package var bodyLimit: Int
  /// Seconds after which a connection is closed that has no requests, or whose client neither sends nor reads what it is
  /// expected to.
  package var idleSeconds: Int
  /// Seconds in which the first request must begin, and in which every request head must be complete.
  package var headSeconds: Int

  package init(
    maximumStreams: Int = 100, headerLimit: Int = 32_768, bodyLimit: Int = 8 << 30, idleSeconds: Int = 75,
    headSeconds: Int = 20
  ) {
    self.maximumStreams = max(1, maximumStreams)
    self.headerLimit = max(1024, headerLimit)
    self.bodyLimit = max(0, bodyLimit)
    self.idleSeconds = max(1, idleSeconds)
    self.headSeconds = max(1, headSeconds)
  }

  /// The limits of a server's connections.
  ///
  /// - Parameter configuration: the server's configuration.
  package init(_ configuration: HTTPServer.Configuration) {
    self.init(
      headerLimit: configuration.headerLimit, bodyLimit: configuration.bodyLimit,
      idleSeconds: configuration.idleSeconds,
      headSeconds: configuration.headSeconds)
  }

  /// The number of bytes of a request's body that a client may send before the handler has read any. With the
  /// ``BytePipe`` to the handler, this bounds the memory of a stream.
  static let streamWindow = 1_048_576
  /// The same for all streams of a connection, of bytes that the connection has not looked at.
  static let connectionWindow = 4_194_304
}
