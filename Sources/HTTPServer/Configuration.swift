#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

extension HTTPServer {
  /// Sizes and times of a server.
  ///
  /// The defaults are for a server on a loopback address.
  package struct Configuration: Sendable {
    /// Threads that serve requests.
    package var threads: Int
    /// Connections at one time; another one waits in the listener's backlog until one has ended.
    package var maximumConnections: Int
    /// Bytes of a request's head; more answers 431, or 414 when the request line alone has more.
    ///
    /// Memory of about this size is held by each connection that has had a request.
    package var headerLimit: Int
    /// Bytes of a request's body; more answers 413.
    package var bodyLimit: Int
    /// Seconds after which a connection without any activity is closed.
    ///
    /// One that waits for its handler is exempt.
    package var idleSeconds: Int
    /// Seconds within which the whole head of a request must have arrived, counted from connecting, or from the first
    /// bytes that follow an answer.
    ///
    /// It ends senders who keep a connection by sending slowly.
    package var headSeconds: Int

    package init(
      threads: Int = Self.defaultThreads, maximumConnections: Int = 4096, headerLimit: Int = 32_768,
      bodyLimit: Int = 8 << 30, idleSeconds: Int = 75, headSeconds: Int = 20
    ) {
      self.threads = max(1, threads)
      self.maximumConnections = max(1, maximumConnections)
      self.headerLimit = max(1024, headerLimit)
      self.bodyLimit = max(0, bodyLimit)
      self.idleSeconds = max(1, idleSeconds)
      self.headSeconds = max(1, headSeconds)
    }

    /// One thread for each processor that is on, at most four.
    package static var defaultThreads: Int { max(1, min(sysconf(Int32(_SC_NPROCESSORS_ONLN)), 4)) }

    /// A connection's memory in libmicrohttpd.
    ///
    /// It holds the head, an index of its fields, and then the head of the answer too: hence more than the limit, so
    /// that an answer still fits when the head only just does.
    var poolSize: Int { headerLimit + max(4096, headerLimit / 4) }
  }
}
