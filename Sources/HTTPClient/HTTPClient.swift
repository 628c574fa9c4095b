import Basics
import Dispatch
import EventLoops
package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Sends requests to upstreams unchanged: it adds and decodes nothing, and follows no redirects.
///
/// Transfers run on libcurl's multi interface; HTTP/2 runs on connections that libcurl opens. Transfers started on the
/// thread of an ``EventLoop`` stay on it; all others run on the client's own thread. No thread ever blocks on an upstream. Connections are kept and reused. If a kept
/// connection turns out to be closed before the first byte of the response, libcurl repeats the request once (RFC 9112,
/// 9.3.1).
///
/// ```swift
/// let client = try HTTPClient()
/// let response = try await client.send(
///   Request(method: "GET", target: "/a%7Eb?x=1"), to: Origin(parsing: "https://dev.api1.com"))
/// let body = try await response.body.collect(upTo: 1 << 20)
/// ```
package final class HTTPClient: Sendable {
  /// The settings of a client.
  package struct Configuration: Sendable {
    /// The timeout for establishing a connection in seconds: name resolution, TCP, proxy and TLS together.
    package var connectSeconds: Double
    /// Seconds without a byte in either direction after which a transfer fails with `.timedOut`.
    ///
    /// Not applied to server-sent events, nor while our side is slow to read the response or write the request.
    package var stallSeconds: Double
    /// The path of a PEM file with the trusted certificate authorities.
    ///
    /// Nil: `CURL_CA_BUNDLE`, else `SSL_CERT_DIR` and `SSL_CERT_FILE`, else libcurl's defaults.
    package var certificateAuthorities: String?
    /// The environment variables for proxies and certificate authorities.
    ///
    /// These are `http_proxy`, `https_proxy`, `all_proxy`, `no_proxy` and those above, by curl's rules. Nil: this
    /// process's environment, read once when the client is created.
    package var environment: [String: String]?
    /// The path of a Unix socket to use for every connection, whatever the origin.
    ///
    /// `Host` still names the origin. At most 107 bytes on Linux, 103 on Darwin.
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
    /// By event loop, which they keep alive.
    var drivers: [ObjectIdentifier: CurlDriver] = [:]
    /// The client's own loop.
    var own: EventLoop?
    var isOver = false
  }

  private let settings: Settings
  private let state = Guarded(State())

  /// Creates a client.
  ///
  /// - Throws: ``UpstreamError`` of kind `.other` if libcurl cannot be initialised.
  package init(_ configuration: Configuration = .init()) throws {
    settings = Settings(configuration)
    try CurlDriver.prepare()
  }

  deinit {
    shutdown()
  }

  /// Sends a request and returns once the response head has arrived.
  ///
  /// The header fields are sent in order, with their case and repetitions, after `Host` (the request's, else the
  /// origin's authority). Hop-by-hop fields and `Expect` are dropped; `Content-Length` or chunked coding follows from
  /// the body. The body of a `HEAD` request is not sent. Cancelling the task ends the transfer; so does abandoning the
  /// response's stream.
  ///
  /// With ``Request/isHTTP2``, HTTP/2 is used: with prior knowledge for `http`, negotiated for `https`, where a server
  /// without it gets HTTP/1.1, and through the tunnel of a proxy (`CONNECT`) for both. When such a response ends, the rest
  /// of the request is not sent.
  ///
  /// - Parameters:
  ///   - request: the request; its target in origin form (`/path?query`) or `*` is sent as is.
  ///   - origin: the upstream.
  ///   - trust: trusted CAs and client certificate.
  /// - Returns: the response, with its fields as received and its body without transfer coding, not decoded otherwise.
  ///   The body is `.bytes` if it has arrived completely, else a stream, which fails with ``UpstreamError`` if the
  ///   upstream disconnects. Abandon the stream if you do not read it.
  /// - Throws: ``UpstreamError``, of kind `.other` also if descriptors or threads run out; the error of the request's
  ///   stream; `CancellationError`.
  package func send(_ request: Request, to origin: Origin, trust: Trust = .usual) async throws -> Response {
    let driver = try driver(for: origin)
    let transfer = try Transfer(request, to: origin, trust: trust, on: driver)
    return try await withTaskCancellationHandler {
      // The transfer resumes it exactly once.
      let response = try await withUnsafeThrowingContinuation { continuation in
        transfer.start(continuation)
      }
      transfer.awaited()
      return response
    } onCancel: {
      driver.post(.cancel(transfer))
    }
  }

  /// Sends a request whose response is delivered as raw bytes if it is short and arrives completely.
  ///
  /// Call it on the thread of an ``EventLoop``; the receiver is called there, once, after this has returned.
  ///
  /// - Parameters:
  ///   - request: the request, sent as is.
  ///   - origin: the upstream.
  ///   - trust: trusted CAs and client certificate.
  ///   - receiver: receives the response.
  /// - Returns: a handle to cancel it, after which the receiver may or may not get the failure; nil on any other
  ///   thread, or if the request cannot be sent this way.
  package func send(
    _ request: RawRequest, to origin: Origin, trust: Trust = .usual, _ receiver: any RawReceiver
  ) -> RawTransfer? {
    guard EventLoop.current != nil, let driver = try? driver(for: origin) else { return nil }
    let transfer = Transfer(request, to: origin, trust: trust, on: driver, driver.takeRaw(), receiver)
    // The client may have been shut down in the meantime.
    guard driver.post(.start(transfer)) else { return nil }
    return RawTransfer(transfer, driver)
  }

  /// Asks an upstream to upgrade a connection, as a WebSocket does.
  ///
  /// Uses a connection of its own. A thread blocks during the handshake only.
  ///
  /// - Parameters:
  ///   - request: as for ``send(_:to:trust:)``, without a body; `Connection` and `Upgrade` are added.
  ///   - token: the value of `Upgrade`, such as `websocket`.
  ///   - origin: the upstream.
  ///   - trust: trusted CAs and client certificate.
  /// - Returns: the response head, and the connection if the status is 101.
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

  /// Ends all transfers with an error; later requests fail too.
  ///
  /// Waits until the client's own thread has ended. May be called repeatedly.
  package func shutdown() {
    let (drivers, own) = state.withLock { state in
      state.isOver = true
      defer { state.drivers = [:] }
      return (state.drivers.values, state.own.take())
    }
    for driver in drivers { driver.post(.end) }
    own?.stop()
  }

  /// The driver on this thread's loop, or on the client's own.
  private func driver(for origin: Origin) throws -> CurlDriver {
    let current = EventLoop.current
    return try state.withLock { state in
      guard !state.isOver else { throw UpstreamError.shutDown(origin) }
      let loop = try current ?? ownLoop(&state)
      let key = ObjectIdentifier(loop)
      if let driver = state.drivers[key] { return driver }
      // Remove drivers whose loop has ended.
      state.drivers = state.drivers.filter { !$0.value.isOver }
      let driver = try CurlDriver(settings)
      if loop === current { driver.run(on: loop) } else { loop.enqueue { driver.run(on: loop) } }
      state.drivers[key] = driver
      return driver
    }
  }

  private func ownLoop(_ state: inout State) throws -> EventLoop {
    if let own = state.own { return own }
    do {
      let loop = try EventLoop(named: "http-client")
      do {
        try loop.start()
      } catch {
        loop.stop()
        throw error
      }
      state.own = loop
      return loop
    } catch let error as CodedError {
      throw UpstreamError(
        kind: .other,
        message: "cannot start a thread for upstream requests (\(error)): raise the limits of open files and of "
          + "threads ('ulimit -n', 'ulimit -u')")
    }
  }
}

/// A configuration with environment variables resolved. They are read once, since `getenv` is not thread-safe, and
/// passed to curl so that it reads none itself.
struct Settings: Sendable {
  let connectMilliseconds: Int
  let stallNanoseconds: UInt64
  /// The proxy URLs; empty for none.
  let httpProxy: String
  let httpsProxy: String
  let noProxy: String
  let authoritiesFile: String?
  let authoritiesFolder: String?
  /// Where a user would add an authority, for error messages.
  let authoritiesPlace: String
  let unixSocket: String?

  init(_ configuration: HTTPClient.Configuration) {
    let lookUp: (String) -> String? = { name in
      let value = configuration.environment.map { $0[name] } ?? getenv(name).map { String(cString: $0) }
      return value.flatMap { $0.isEmpty ? nil : $0 }
    }
    let first: ([String]) -> String = { names in names.lazy.compactMap(lookUp).first ?? "" }
    // In curl's order. HTTP_PROXY is omitted on purpose: a CGI server sets it from a request header (curl's manual,
    // "Environment").
    httpProxy = first(["http_proxy", "all_proxy", "ALL_PROXY"])
    httpsProxy = first(["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"])
    noProxy = first(["no_proxy", "NO_PROXY"])
    // Libcurl does not read these; this is the order of the curl command.
    if let file = configuration.certificateAuthorities ?? lookUp("CURL_CA_BUNDLE") {
      authoritiesFile = file
      authoritiesFolder = nil
      authoritiesPlace = configuration.certificateAuthorities == nil ? "\(file) (CURL_CA_BUNDLE)" : file
    } else {
      authoritiesPlace =
        lookUp("SSL_CERT_FILE").map { "\($0) (SSL_CERT_FILE)" } ?? "a file and set SSL_CERT_FILE to its path"
      authoritiesFile = lookUp("SSL_CERT_FILE")
      authoritiesFolder = lookUp("SSL_CERT_DIR")
    }
    unixSocket = configuration.unixSocket
    connectMilliseconds = Int(Self.sensible(configuration.connectSeconds) * 1000)
    stallNanoseconds = UInt64(Self.sensible(configuration.stallSeconds) * 1e9)
  }

  /// The proxy for a scheme; empty for none.
  func proxy(for scheme: String) -> String {
    scheme == "https" ? httpsProxy : httpProxy
  }

  /// Clamps to the range from a millisecond to about eleven days; NaN becomes the minimum.
  private static func sensible(_ seconds: Double) -> Double {
    seconds > 0.001 ? min(seconds, 1e6) : 0.001
  }
}

/// Trusted CAs and client certificate for one upstream, if different from the client's.
package struct Trust: Sendable, Hashable {
  /// The path of a PEM file with the only trusted authorities; nil for the client's.
  package var authorities: String?
  /// The path of a PEM file with a client certificate and its intermediate certificates.
  package var clientCertificate: String?
  /// The path of a PEM file with the certificate's key, without a password; nil if it is in the certificate's file.
  package var clientKey: String?
  /// Whether to skip certificate verification.
  package var isInsecure: Bool
  /// The only accepted public key, in curl's form: `sha256//` and the Base64 of its digest (CURLOPT_PINNEDPUBLICKEY(3)).
  /// It is checked even if ``isInsecure`` is set.
  package var pinnedKey: String?

  package init(
    authorities: String? = nil, clientCertificate: String? = nil, clientKey: String? = nil, isInsecure: Bool = false,
    pinnedKey: String? = nil
  ) {
    self.pinnedKey = pinnedKey
    self.authorities = authorities
    self.clientCertificate = clientCertificate
    self.clientKey = clientKey
    self.isInsecure = isInsecure
  }

  /// The client's trust settings.
  package static let usual = Trust()
}
