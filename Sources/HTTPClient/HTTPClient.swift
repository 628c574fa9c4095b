import Dispatch
import EventLoops
package import HTTPMessages

/// Sends requests to upstreams as they stand: nothing is added, decoded or followed.
///
/// Transfers run on libcurl's multi interface: those that begin on the thread of an ``EventLoop`` stay there, all others
/// are on a thread of the client's own; no thread ever waits for an upstream. Connections are
/// kept and used again. libcurl repeats a request once more by itself where a kept connection turns out to be closed
/// before a byte of the answer came (RFC 9112, 9.3.1).
///
/// ```swift
/// let client = try HTTPClient()
/// let response = try await client.send(
///   Request(method: "GET", target: "/a%7Eb?x=1"), to: Origin(parsing: "https://dev.api1.com"))
/// let body = try await response.body.collect(upTo: 1 << 20)
/// ```
package final class HTTPClient: Sendable {
  /// What a client may be told.
  package struct Configuration: Sendable {
    /// Seconds until a connection stands: name, TCP, proxy and TLS together.
    package var connectSeconds: Double
    /// Seconds without a byte either way that end a transfer with `.timedOut`.
    ///
    /// Server-sent events may be as far apart as they like. A transfer that waits for our side (a slow reader of the response, a slow writer of the request) is not the
    /// upstream's fault and goes on.
    package var stallSeconds: Double
    /// The path of a PEM file with the authorities to trust.
    ///
    /// Nil: `CURL_CA_BUNDLE`, else `SSL_CERT_DIR` and
    /// `SSL_CERT_FILE`, else those that libcurl was built with.
    package var certificateAuthorities: String?
    /// The variables in which proxies and authorities are looked up.
    ///
    /// They are `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy` and the above, by curl's rules. Nil: this
    /// process's own, read once when the client is made.
    package var environment: [String: String]?
    /// The path of a Unix socket that every connection goes to, whatever the origin.
    ///
    /// The origin is still what `Host` says. At most 107 bytes on Linux, 103 on Darwin.
    package var unixSocket: String?

    /// Times in seconds; see the properties.
    package init(
      connectSeconds: Double = 10, stallSeconds: Double = 60, certificateAuthorities: String? = nil,
      environment: [String: String]? = nil, unixSocket: String? = nil
    ) {
      self.connectSeconds = connectSeconds
      self.stallSeconds = stallSeconds
      self.certificateAuthorities = certificateAuthorities
      self.environment = environment
      self.unixSocket = unixSocket
    }
  }

  private struct State {
    /// By the loop that they run on, which they keep.
    var drivers: [ObjectIdentifier: CurlDriver] = [:]
    /// The client's own, and its driver.
    var own: (loop: EventLoop, driver: CurlDriver)?
    var isOver = false
  }

  private let settings: Settings
  private let state = Guarded(State())

  /// Makes a client.
  ///
  /// - Throws: ``UpstreamError`` of kind `.other` where libcurl does not start.
  package init(_ configuration: Configuration = .init()) throws {
    settings = Settings(configuration)
    try CurlDriver.prepare()
  }

  deinit {
    shutdown()
  }

  /// Sends a request, and returns once the response's head is there.
  ///
  /// The request's header fields go out in order, with their case and repeats, after `Host` (the request's, else the
  /// origin's authority). What belongs to one connection is dropped, `Expect` too; `Content-Length` or chunked coding
  /// follows from the body. The body of a `HEAD` request is not sent. Cancelling the task ends the transfer at once,
  /// and later abandoning the response's stream does.
  ///
  /// - Parameters:
  ///   - request: the target in origin form (`/path?query`, or `*`), sent as it is.
  ///   - origin: where to.
  ///   - trust: whom to trust there, and as whom to come.
  /// - Returns: the response; fields as received, the body without transfer coding but otherwise not decoded:
  ///   `.bytes` if all of it has come already, else a stream that fails with ``UpstreamError`` if the upstream dies.
  ///   Whoever does not want the stream has to abandon it.
  /// - Throws: ``UpstreamError``, of kind `.other` also when the machine has no descriptor or thread left; what the
  ///   request's stream failed with; `CancellationError`.
  package func send(_ request: Request, to origin: Origin, trust: Trust = .usual) async throws -> Response {
    let driver = try driver(for: origin)
    let transfer = try Transfer(request, to: origin, trust: trust, on: driver)
    return try await withTaskCancellationHandler {
      // It is resumed once, whatever becomes of the transfer.
      try await withUnsafeThrowingContinuation { continuation in
        transfer.start(continuation)
      }
    } onCancel: {
      driver.post(.cancel(transfer))
    }
  }

  /// Sends a request whose answer comes as bytes, as long as it is short and comes whole.
  ///
  /// For who is on the thread of an ``EventLoop``: the receiver is called there, once, and after this has returned.
  ///
  /// - Parameters:
  ///   - request: as it goes out.
  ///   - origin: where to.
  ///   - trust: as for ``send(_:to:trust:)``.
  ///   - receiver: gets the answer.
  /// - Returns: what cancels it, after which the receiver may be told of the failure or not; nil on any other thread,
  ///   or where it cannot be sent so.
  package func send(
    _ request: RawRequest, to origin: Origin, trust: Trust = .usual, _ receiver: any RawReceiver
  ) -> RawTransfer? {
    guard EventLoop.current != nil, let driver = try? driver(for: origin) else { return nil }
    let transfer = Transfer(request, to: origin, trust: trust, on: driver, driver.takeRaw(), receiver)
    // The client may have been shut down meanwhile.
    guard driver.post(.start(transfer)) else { return nil }
    return RawTransfer(transfer, driver)
  }

  /// Asks an upstream to let a connection leave HTTP, as a WebSocket does.
  ///
  /// The connection is one of its own. A thread waits for its beginning, and none after that.
  ///
  /// - Parameters:
  ///   - request: as for ``send(_:to:trust:)``, without a body; `Connection` and `Upgrade` are added.
  ///   - token: for `Upgrade`, such as `websocket`.
  ///   - origin: where to.
  ///   - trust: as for ``send(_:to:trust:)``.
  /// - Returns: the head of the answer; and the connection, where its status is 101.
  /// - Throws: ``UpstreamError``.
  package func upgrade(
    _ request: Request, to token: String, at origin: Origin, trust: Trust = .usual
  ) async throws -> (Response, UpgradedConnection?) {
    let settings = settings
    return try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global().async {
        continuation.resume(
          with: Result { try UpgradedConnection.open(request, to: token, at: origin, trust, settings) })
      }
    }
  }

  /// Ends all transfers; they fail, and so does every later request.
  ///
  /// Waits until the client's own thread has ended. May be called again.
  package func shutdown() {
    let (drivers, own) = state.withLock { state in
      state.isOver = true
      defer { state.drivers = [:] }
      return (state.drivers.values, state.own.take())
    }
    for driver in drivers { driver.post(.end) }
    own?.loop.stop()
  }

  /// The driver on this thread's loop, or else on the client's own.
  private func driver(for origin: Origin) throws -> CurlDriver {
    let current = EventLoop.current
    return try state.withLock { state in
      guard !state.isOver else { throw UpstreamError.shutDown(origin) }
      guard let current else { return try ownDriver(&state) }
      if let driver = state.drivers[ObjectIdentifier(current)] { return driver }
      // Those whose loop has ended.
      state.drivers = state.drivers.filter { !$0.value.isOver }
      let driver = try CurlDriver.run(on: current, settings)
      state.drivers[ObjectIdentifier(current)] = driver
      return driver
    }
  }

  private func ownDriver(_ state: inout State) throws -> CurlDriver {
    if let own = state.own { return own.driver }
    do {
      let loop = try EventLoop(named: "http-client")
      let driver = try CurlDriver.run(on: loop, settings)
      do {
        try loop.start()
      } catch {
        loop.stop()
        throw error
      }
      state.own = (loop, driver)
      return driver
    } catch let failure as EventLoop.Failure {
      throw UpstreamError(
        kind: .other,
        message: "no thread or no descriptor for upstream requests (\(failure)): raise the limits of open files and of "
          + "threads ('ulimit -n', 'ulimit -u')")
    }
  }
}
