package import Basics
import EventLoops
import Dispatch
import Glibc
package import HTTPMessages
package import HTTPServer
import Synchronization

/// Takes the connections of programs that cannot be changed, and serves them as the hosts that the programs wanted to
/// reach.
///
/// TLS ends here, with certificates of a ``CertificateAuthority``. HTTP requests go to the handlers of the delegate, on
/// the threads of an `HTTPServer`; other protocols are relayed or refused. It also answers DNS questions.
///
/// ```swift
/// let interceptor = try Interceptor(server: server, authority: authority, delegate: delegate)
/// try interceptor.start(listener: sockets.tcp, nameServers: [sockets.udp4, sockets.udp6])
/// …
/// await interceptor.stop()
/// await server.stop()
/// ```
package final class Interceptor: Sendable {
  /// Settings of an interceptor.
  package struct Configuration: Sendable {
    /// The time in which a TLS handshake or a request's first line must be complete.
    package var handshakeLimit = Duration.seconds(20)
    /// The time after which a server may be the one that sends first.
    package var silence = Duration.milliseconds(300)
    /// Passes all connections on to another interceptor; nil to handle them here.
    package var tunnel: Tunnel?
    /// The certificate for all TLS connections, of a server that programs reach by its own name; nil for one of the
    /// authority for each host. Clients that send nothing for ``silence`` are then closed within TLS, too, if the delegate
    /// refuses them.
    package var identity: ServerIdentity?

    package init(tunnel: Tunnel? = nil) { self.tunnel = tunnel }
  }

  /// Issues the certificates; nil if there is a tunnel.
  package var authority: CertificateAuthority? { core.authority }

  let core: InterceptorCore

  /// Prepares an interceptor, without accepting connections.
  ///
  /// - Parameters:
  ///   - server: serves the HTTP requests. Stop it after the interceptor.
  ///   - authority: issues the certificates; nil if the configuration has a tunnel.
  ///   - delegate: decides what happens to connections.
  ///   - configuration: the settings.
  /// - Throws: `CodedError` if the server has stopped, or GnuTLS or the system fails.
  package init(
    server: HTTPServer, authority: CertificateAuthority?, delegate: any InterceptionDelegate,
    configuration: Configuration = .init()
  ) throws(CodedError) {
    core = try InterceptorCore(server, authority, delegate, configuration)
  }

  deinit {
    let core = core
    Task { await core.stop() }
  }

  /// Starts to accept connections and to answer DNS questions. Call it once.
  ///
  /// - Parameters:
  ///   - listener: a listening TCP socket, whose connections to port 53 are for DNS.
  ///   - nameServers: UDP sockets with IP_PKTINFO or IPV6_RECVPKTINFO.
  ///   - destination: the destination of an accepted connection, or nil to close it. By default, its local address, which is
  ///     the original destination for a transparent listener.
  /// - Throws: `CodedError` if the system fails. The interceptor owns the sockets in any case.
  package func start(
    listener: Int32, nameServers: [Int32] = [],
    destination: @escaping @Sendable (Int32) -> Destination? = { Destination(localAddressOf: $0) }
  ) throws(CodedError) {
    try core.start(listener, nameServers, destination)
  }

  /// Handles a connection that another interceptor has passed on, like an accepted connection.
  ///
  /// - Parameters:
  ///   - channel: the connection, which the interceptor owns from now on.
  ///   - destination: where the program wanted to connect to, with its name if that is known.
  ///   - received: bytes that were already read from the connection.
  package func serve(_ channel: any DuplexChannel, destination: Destination, received: [UInt8]) {
    core.serve(channel, destination, received)
  }

  /// Closes the sockets and all connections, and waits until they are closed. Further calls wait, too.
  package func stop() async { await core.stop() }
}

/// The interceptor as shared by its threads; ``Interceptor`` is the handle to it.
final class InterceptorCore: @unchecked Sendable {
  private struct State {
    var isStopping = false
    var lastNumber: UInt64 = 0
    /// TLS connections that their clients closed soon, without a request: what happened, and how often.
    var unused: [Destination: (cause: String, count: Int)] = [:]
    /// What ends connections that others own.
    var enders: [UInt64: @Sendable () -> Void] = [:]
  }

  let server: HTTPServer
  let authority: CertificateAuthority?
  let delegate: any InterceptionDelegate
  let configuration: Interceptor.Configuration
  let names = NameTable()
  let tls: TLSChannel.Settings
  /// What TLS clients are offered, best first.
  let protocols = ["h2", "http/1.1"]
  /// The hosts to which the program has sent something by TLS, so that it trusts their certificates.
  let trustedHosts = Guarded<Set<String>>([])
  /// The number of connections, not counting internal ones.
  let open = Monitor(0)

  private let state = Guarded(State())
  private let acceptor: EventLoop
  private let workers: [InterceptionWorker]

  init(
    _ server: HTTPServer, _ authority: CertificateAuthority?, _ delegate: any InterceptionDelegate,
    _ configuration: Interceptor.Configuration
  ) throws(CodedError) {
    self.server = server
    self.authority = authority
    self.delegate = delegate
    self.configuration = configuration
    tls = try TLSChannel.Settings()
    acceptor = try EventLoop(named: "interceptor")
    workers = server.loops.map(InterceptionWorker.init)
    guard !workers.isEmpty else {
      throw CodedError(.inputOutput, "the HTTP server has been stopped; start another one", at: "interceptor")
    }
    for worker in workers { worker.start(for: self) }
  }

  func start(
    _ listener: Int32, _ nameServers: [Int32], _ destination: @escaping @Sendable (Int32) -> Destination?
  ) throws(CodedError) {
    let source = NameServerSource(nameServers, NameServer(table: names)) { [delegate] in delegate.noticed($0) }
    source.start(on: acceptor)
    ListenerSource(listener, self, destination).start(on: acceptor)
    do throws(CodedError) { try acceptor.start() } catch {
      acceptor.stop()
      throw error
    }
  }

  func serve(_ channel: any DuplexChannel, _ destination: Destination, _ received: [UInt8]) {
    guard let admission = Admission(self) else { return channel.close() }
    let worker = admission.worker
    let isAccepted = worker.loop.enqueue {
      worker.split(TunnelChannel(channel), destination, received: received, admission)
    }
    if !isAccepted { channel.close() }
  }

  /// A destination that a program has named, such as by CONNECT.
  func destination(ofHost host: String, port: UInt16) -> Destination {
    guard let name = HostName.normalized(Array(host.utf8)) else {
      return Destination(address: host, port: port, name: names.name(of: host))
    }
    let address = names.address(of: name)
    return Destination(address: address.map(IPv4.text) ?? name, port: port, name: name)
  }

  /// Closes connections that are not in use, for new ones.
  func makeRoom() {
    server.makeRoom()
    for worker in workers { worker.makeRoom() }
  }

  /// The worker with the fewest connections.
  var idlestWorker: InterceptionWorker {
    workers.min { $0.load.load(ordering: .relaxed) < $1.load.load(ordering: .relaxed) } ?? workers[0]
  }

  /// Nanoseconds in which a client that closes the connection without having sent anything has refused the certificate.
  private static let refusal: UInt64 = 1_000_000_000

  /// Reports a client that has left without having sent anything after the handshake.
  ///
  /// - Parameters:
  ///   - channel: its connection.
  ///   - destination: where it wanted to connect to.
  ///   - start: when the handshake was complete, in nanoseconds of the monotonic clock.
  func clientLeft(_ channel: TLSChannel, _ destination: Destination, since start: UInt64) {
    if let cause = channel.refusal { return delegate.noticed(.certificateRefused(destination, cause: cause)) }
    guard monotonicNanoseconds() - start < Self.refusal else { return }
    noteUnused(destination, "it closed the connection without a request")
  }

  /// Notes a connection that its client did not use.
  ///
  /// Browsers open spare connections. Whether another one shows that they trust the certificate is known at the end.
  func noteUnused(_ destination: Destination, _ cause: String) {
    state.withLock { state in
      guard state.unused[destination] != nil || state.unused.count < 1000 else { return }
      state.unused[destination, default: (cause, 0)].count += 1
    }
  }

  private func reportUnused() {
    let trusted = trustedHosts.withLock { $0 }
    for (destination, (cause, count)) in state.withLock({ $0.unused })
      .sorted(by: { $0.key.description < $1.key.description })
    {
      // One program may trust the certificate, and another one not.
      delegate.noticed(
        trusted.contains(destination.host)
          ? .unused(destination, count: count) : .certificateRefused(destination, cause: cause))
    }
  }

  // MARK: Connections that others own

  /// A number for a connection that belongs to the HTTP server or to an HTTP/2 service.
  func nextNumber() -> UInt64 {
    state.withLock { state in
      state.lastNumber += 1
      return state.lastNumber
    }
  }

  /// Registers what ends a connection, which is called at once if the interceptor stops.
  ///
  /// It is called with the lock held, so that ``unregister(_:)`` returns only when it is not in use.
  func register(_ number: UInt64, _ end: @escaping @Sendable () -> Void) {
    state.withLock { state in
      if state.isStopping { end() } else { state.enders[number] = end }
    }
  }

  func unregister(_ number: UInt64) {
    state.withLock { _ = $0.enders.removeValue(forKey: number) }
  }

  var isStopping: Bool { state.withLock { $0.isStopping } }

  // MARK: Stopping

  func stop() async {
    let isFirst = state.withLock { state in
      defer { state.isStopping = true }
      return !state.isStopping
    }
    if isFirst {
      await withUnsafeContinuation { continuation in
        // Waits for the thread, which would block one of Swift's pool.
        DispatchQueue.global().async {
          self.acceptor.stop()
          continuation.resume()
        }
      }
      for worker in workers { worker.endAll() }
      state.withLock { state in
        for end in state.enders.values { end() }
      }
    }
    // The timeout is for connections that libmicrohttpd drops without notice.
    await open.waitIgnoringCancellation(until: .now + .seconds(5)) { $0 == 0 }
    // The HTTP server closes a socket just after it has said so.
    for worker in workers { await worker.roundTrip() }
    if isFirst { reportUnused() }
  }
}

extension Duration {
  /// For deadlines on the monotonic clock.
  var nanoseconds: UInt64 { UInt64(max(self / .nanoseconds(1), 0)) }
}
