import Basics
import CEpoll
import Dispatch
import EventLoops
import Glibc
import HTTPMessages
import HTTPServer

/// A connection whose protocol is not known yet: looks at its first bytes, and passes it on.
///
/// The bytes stay in the socket (MSG_PEEK in recv(2)), so that whatever serves the connection reads them itself.
final class InterceptedConnection: DescriptorUser, @unchecked Sendable {
  private enum Phase {
    /// Waits for the client's first bytes.
    case looking
    case handshaking(TLSChannel)
    /// Connects to the target of a relay.
    case dialling
    /// Connected for a client that has sent nothing: the side that sends first decides.
    case silent(upstream: Int32)
    case over
  }

  var deadline: UInt64?
  var isQueued = false

  private let descriptor: Int32
  private var destination: Destination
  private let admission: Admission
  private unowned let worker: InterceptionWorker
  /// Carries the bytes from and to the program, if this is the end of a socket pair.
  private weak var relay: Relay?
  private var phase = Phase.looking
  private var isWatched = false
  /// The number of bytes seen so far.
  private var seen = 0
  /// The number of CONNECT requests so far.
  private var tunnels = 0
  private var mayServerSendFirst: Bool
  /// Whether the client has sent nothing for long, and there is no target to relay to.
  private var isSilent = false

  /// - Parameters:
  ///   - descriptor: a non-blocking stream socket.
  ///   - destination: where the program wanted to connect to.
  ///   - admission: counts the connection.
  ///   - worker: the owner.
  ///   - relay: carries the bytes from and to the program.
  init(
    _ descriptor: Int32, _ destination: Destination, _ admission: Admission, on worker: InterceptionWorker,
    relay: Relay? = nil
  ) {
    self.descriptor = descriptor
    self.destination = destination
    self.admission = admission
    self.worker = worker
    self.relay = relay
    mayServerSendFirst = !destination.isTLS || admission.core.configuration.identity != nil
  }

  /// The maximum number of tunnels inside one another, such as through a chain of proxies. Each takes space on the stack.
  private static let mostTunnels = 8

  private var core: InterceptorCore { admission.core }

  func isReady(_ descriptor: Int32, for readiness: Readiness) {}

  func proceed(now: UInt64) {
    switch phase {
    case .looking:
      guard let tunnel = core.configuration.tunnel else { return look(now) }
      open(tunnel)
    case .handshaking(let channel): shake(channel, now)
    case .silent(let upstream): listen(to: upstream, now)
    case .dialling, .over: break
    }
  }

  func end() {
    switch phase {
    case .over: return
    case .handshaking(let channel): channel.close()
    case .silent(let upstream):
      close(upstream)
      close(descriptor)
    case .looking, .dialling: close(descriptor)
    }
    phase = .over
    if isSilent { core.delegate.noticed(.silent(destination)) }
  }

  /// Closes the connection.
  private func finish() {
    if case .silent(let upstream) = phase { worker.forget(upstream) }
    worker.forget(descriptor)
    worker.unschedule(self)
    end()
  }

  /// Closes the connection if the program has opened it in advance, such as a browser, and sent nothing.
  func makeRoom() {
    if isSilent { finish() }
  }

  /// Leaves the descriptor to another user.
  private func release() {
    worker.forget(descriptor)
    worker.unschedule(self)
    phase = .over
  }

  // MARK: The first bytes

  private func look(_ now: UInt64) {
    let most = min(worker.scratch.count, FirstBytes.sizeLimit + 4096)
    let count = recv(descriptor, worker.scratch.baseAddress, most, Int32(MSG_PEEK | MSG_DONTWAIT))
    guard count > 0 else {
      guard count < 0, errno == EAGAIN || errno == EINTR else { return finish() }
      return waitForFirstByte(now)
    }
    isSilent = false
    let bytes = UnsafeRawBufferPointer(rebasing: worker.scratch[..<count])
    switch FirstBytes(ofClient: bytes) {
    case .incomplete:
      // What stays incomplete was not the start of a request.
      if !waitForMore(than: count, now) { other(FirstBytes.name(ofClient: bytes)) }
    case .tls: hello(bytes, now)
    // The server recognises HTTP/2 by itself.
    case .http1, .http2: serve()
    case .connect(let authority, let length): connect(to: authority, headLength: length, now)
    case .other(let name): other(name)
    }
  }

  private func watch() {
    guard !isWatched else { return }
    isWatched = true
    worker.watch(descriptor, for: .reading)
  }

  private func waitForFirstByte(_ now: UInt64) {
    watch()
    guard mayServerSendFirst else { return }
    guard let deadline else {
      self.deadline = now + core.configuration.silence.nanoseconds
      return worker.schedule(self)
    }
    guard deadline <= now else { return }
    guard !core.delegate.refusesSilentClient(for: destination) else { return finish() }
    // Without a target, the program may be silent for as long as it likes, such as a browser's spare connection.
    mayServerSendFirst = false
    self.deadline = nil
    worker.schedule(self)
    guard let target = core.delegate.relayOfSilentClient(for: destination) else { return isSilent = true }
    dial(target, protocolName: nil)
  }

  /// - Returns: false if no more bytes will come: the client has ended its direction, or the time is over.
  private func waitForMore(than count: Int, _ now: UInt64) -> Bool {
    watch()
    if seen == 0 {
      deadline = now + core.configuration.handshakeLimit.nanoseconds
      worker.schedule(self)
    } else if count == seen {
      // An event without new bytes.
      if diorama_peer_has_left(descriptor) != 0 || deadline ?? .max <= now { return false }
    }
    seen = count
    return true
  }

  // MARK: TLS

  private func hello(_ bytes: UnsafeRawBufferPointer, _ now: UInt64) {
    switch ClientHello(bytes) {
    case .incomplete where bytes.count < FirstBytes.sizeLimit + 2048:
      if !waitForMore(than: bytes.count, now) { finish() }
    case .incomplete, .invalid:
      core.delegate.noticed(.handshakeFailed(destination, cause: "the ClientHello is not valid"))
      finish()
    case .hello(let name, let protocols):
      destination.name = name ?? destination.name
      destination.isTLS = true
      guard protocols.isEmpty || protocols.contains(where: { $0 == "http/1.0" || core.protocols.contains($0) }) else {
        return refuse(protocols)
      }
      handshake(now)
    }
  }

  /// Relays a connection that will not be HTTP without decrypting it, or closes it.
  private func refuse(_ protocols: [String]) {
    if let target = core.delegate.relay(
      for: destination, protocol: "TLS with ALPN \(protocols.joined(separator: ", "))")
    {
      return dial(target, protocolName: "TLS")
    }
    // A fatal alert, no_application_protocol (RFC 7301, 3.2).
    discard()
    send([21, 3, 3, 0, 2, 2, 120])
    finish()
  }

  private func handshake(_ now: UInt64) {
    do {
      guard
        let credentials = try core.configuration.identity?.credentials
          ?? core.authority?.credentials(for: destination.host)
      else {
        throw CodedError(.inputOutput, "there is no certificate authority", at: "interceptor")
      }
      let channel = try TLSChannel(
        descriptor, credentials: credentials, protocols: core.protocols, settings: core.tls)
      phase = .handshaking(channel)
      deadline = now + core.configuration.handshakeLimit.nanoseconds
      worker.schedule(self)
      shake(channel, now)
    } catch {
      core.delegate.noticed(.handshakeFailed(destination, cause: "\(error)"))
      finish()
    }
  }

  private func shake(_ channel: TLSChannel, _ now: UInt64) {
    switch channel.handshake() {
    case .waiting(let isForWriting):
      guard deadline ?? .max > now else {
        core.delegate.noticed(.handshakeFailed(destination, cause: "the client did not complete it in time"))
        return finish()
      }
      isWatched = true
      worker.watch(descriptor, for: isForWriting ? [.reading, .writing] : .reading)
    case .failed(.certificateRefused(let cause)):
      core.delegate.noticed(.certificateRefused(destination, cause: cause))
      finish()
    case .failed(.closedAfterCertificate):
      core.noteUnused(destination, "the connection was closed after the certificate")
      finish()
    case .failed(.other(let cause)):
      core.delegate.noticed(.handshakeFailed(destination, cause: cause))
      finish()
    case .done:
      release()
      channel.onFirstBytes = { [core, destination] in
        // A program may use any number of names.
        core.trustedHosts.withLock { if $0.count < 10_000 { $0.insert(destination.host) } }
      }
      if channel.selectedProtocol == "h2" {
        serveHTTP2(on: channel)
      } else {
        worker.split(channel, destination, admission)
      }
    }
  }

  // MARK: HTTP

  private func serve() {
    release()
    let (core, admission, relay, number) = (core, admission, relay, core.nextNumber())
    let observer = ConnectionObserver(
      reset: { [weak relay] in relay?.isReset = true },
      closed: {
        core.unregister(number)
        _ = admission
      })
    do {
      let served = try core.server.serve(
        descriptor: descriptor, handler: core.delegate.handler(for: destination), on: worker.loop, observer: observer)
      core.register(number) { served.end() }
    } catch {
      // The server has closed the descriptor. While everything stops, that is no failure.
      if !core.isStopping { core.delegate.noticed(.failed("\(destination) was not served: \(error)")) }
    }
  }

  private func connect(to authority: String, headLength: Int, _ now: UInt64) {
    tunnels += 1
    guard let (host, port) = Self.hostAndPort(authority), tunnels <= Self.mostTunnels else {
      discard()
      send(
        Array("HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8))
      return finish()
    }
    recv(descriptor, worker.scratch.baseAddress, headLength, Int32(MSG_DONTWAIT))
    guard send(Array("HTTP/1.1 200 Connection established\r\n\r\n".utf8)) else { return finish() }
    destination = core.destination(ofHost: host, port: port)
    // What comes through the tunnel is a new connection.
    seen = 0
    deadline = nil
    mayServerSendFirst = true
    worker.schedule(self)
    look(now)
  }

  /// Splits the authority of CONNECT (RFC 9110, 9.3.6): a host and a port, which is not optional.
  static func hostAndPort(_ authority: String) -> (String, UInt16)? {
    guard let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[authority.index(after: colon)...]),
      port > 0
    else { return nil }
    let host = authority[..<colon]
    if host.first == "[", host.last == "]" { return (String(host.dropFirst().dropLast()), port) }
    return host.isEmpty || host.contains(":") ? nil : (String(host), port)
  }

  private func serveHTTP2(on channel: TLSChannel) {
    let (core, admission, number) = (core, admission, core.nextNumber())
    let (destination, start) = (destination, monotonicNanoseconds())
    do throws(CodedError) {
      let served = try HTTP2Connection(
        channel, handler: core.delegate.handler(for: destination), connection: number,
        limits: core.server.http2Limits, on: worker.loop,
        closed: {
          if channel.onFirstBytes != nil { core.clientLeft(channel, destination, since: start) }
          core.unregister(number)
          _ = admission
        })
      core.register(number) { served.stop(grace: .zero) }
    } catch {
      core.delegate.noticed(.failed("\(destination): \(error)"))
      channel.close()
    }
  }

  // MARK: Other protocols

  private func other(_ name: String) {
    if destination.isTLS {
      // The client's encryption has ended here, so its bytes cannot be relayed to a server that expects it.
      core.delegate.noticed(.unsupported(destination, protocol: "TLS with \(name)"))
      return finish()
    }
    guard let target = core.delegate.relay(for: destination, protocol: name) else { return finish() }
    dial(target, protocolName: name)
  }

  /// Connects to a target.
  ///
  /// - Parameters:
  ///   - target: where to connect to.
  ///   - protocolName: the protocol; nil if the client is silent.
  private func dial(_ target: RelayTarget, protocolName: String?) {
    phase = .dialling
    deadline = nil
    worker.schedule(self)
    let (worker, core) = (worker, core)
    // Resolving a name blocks a thread, and so may connecting.
    DispatchQueue.global().async {
      let result = Dialler.connect(to: target)
      let isAccepted = worker.loop.enqueue { self.dialled(result, protocolName) }
      if !isAccepted, case .success(let upstream) = result { close(upstream) }
      _ = core
    }
  }

  /// Passes the connection on. What the program sends waits in the socket.
  private func open(_ tunnel: Tunnel) {
    phase = .dialling
    let (worker, core, destination) = (worker, core, destination)
    // Connecting blocks a thread.
    DispatchQueue.global().async {
      let result = tunnel.connect(to: destination)
      let isAccepted = worker.loop.enqueue { self.dialled(result, "") }
      if !isAccepted, case .success(let upstream) = result { close(upstream) }
      _ = core
    }
  }

  private func dialled(_ result: Result<Int32, Dialler.Failure>, _ protocolName: String?) {
    guard case .dialling = phase else {
      if case .success(let upstream) = result { close(upstream) }
      return
    }
    phase = .looking
    switch result {
    case .failure(let failure):
      core.delegate.noticed(.relayFailed(destination, cause: failure.cause))
      // A client of a web server may still send a request.
      let mayBeHTTP = protocolName == nil && [80, 443].contains(destination.port)
      if mayBeHTTP { look(monotonicNanoseconds()) } else { finish() }
    case .success(let upstream):
      guard protocolName == nil else { return relay(to: upstream) }
      phase = .silent(upstream: upstream)
      worker.watch(upstream, for: .reading)
      worker.add(self, at: upstream)
    }
  }

  private func relay(to upstream: Int32) {
    release()
    let relay = Relay(
      client: SocketChannel(descriptor), server: SocketChannel(upstream), isServerLocal: false, destination, admission,
      on: worker)
    worker.add(relay, at: descriptor, upstream)
  }

  private func listen(to upstream: Int32, _ now: UInt64) {
    func peek(_ descriptor: Int32) -> Int? {
      let count = recv(descriptor, worker.scratch.baseAddress, 4096, Int32(MSG_PEEK | MSG_DONTWAIT))
      return count < 0 && (errno == EAGAIN || errno == EINTR) ? nil : count
    }
    if peek(descriptor) != nil {
      // The client speaks first after all, or has left.
      phase = .looking
      worker.forget(upstream)
      close(upstream)
      return look(now)
    }
    guard let count = peek(upstream) else { return }
    worker.forget(upstream)
    guard count > 0 else {
      phase = .looking
      close(upstream)
      return finish()
    }
    let name = FirstBytes.name(ofServer: UnsafeRawBufferPointer(rebasing: worker.scratch[..<count]))
    core.delegate.noticed(.relayed(destination, protocol: name))
    phase = .looking
    relay(to: upstream)
  }

  // MARK: Bytes

  /// Drops the bytes that have arrived, so that closing the connection does not reset it before the client has read what
  /// was sent.
  private func discard() {
    while recv(descriptor, worker.scratch.baseAddress, worker.scratch.count, Int32(MSG_DONTWAIT)) > 0 {}
  }

  @discardableResult
  private func send(_ bytes: [UInt8]) -> Bool {
    Glibc.send(descriptor, bytes, bytes.count, Int32(MSG_DONTWAIT | MSG_NOSIGNAL)) == bytes.count
  }
}
