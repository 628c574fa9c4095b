package import Basics
import EventLoops

#if os(Linux)
  import CPosixSpawn
  import Glibc

  /// Connects ports of an isolated command with those of the host: `--publish` from outside to inside, `--host-port`
  /// from inside to outside.
  ///
  /// Bytes pass unchanged. If one side stops sending, the other one is notified and can continue; if one is reset, so
  /// is the other. A slow reader slows down its sender. A connection to a port on which no program listens is reset.
  ///
  /// ```swift
  /// let forwarder = try PortForwarder(publishing: [PublishedPort(port: 8080)], admitting: [5432])
  /// // after IsolatedCommand.handshake(), before IsolatedCommand.start()
  /// try forwarder.start(command)
  /// // after the end of the command
  /// forwarder.stop()
  /// ```
  package final class PortForwarder: Sendable {
    private let loop: EventLoop
    private let admitted: [UInt16]
    /// Listeners outside, until the relay has them.
    private let listeners: Guarded<[Listener]>

    /// Listens on the published ports, before the command is started. Connections wait until ``start(_:)``.
    ///
    /// - Parameters:
    ///   - published: ports of the command that are reachable from outside.
    ///   - admitted: ports of 127.0.0.1 and ::1 outside that the command reaches at the same addresses.
    /// - Throws: ``CodedError`` if a published port is in use, or a port is given twice.
    package init(publishing published: [PublishedPort], admitting admitted: [UInt16]) throws(CodedError) {
      for port in Set(admitted) {
        if published.contains(where: { $0.port == port }) {
          throw CodedError(
            .usage, "port \(port) cannot be published and be a port of the host; leave out one of the two")
        }
        if admitted.count(where: { $0 == port }) > 1 {
          throw CodedError(.usage, "port \(port) of the host is given twice; give it once")
        }
      }
      loop = try EventLoop(named: "ports")
      self.admitted = admitted
      var listeners: [Listener] = []
      do throws(CodedError) {
        for (index, port) in published.enumerated() {
          guard !published[..<index].contains(port) else {
            throw CodedError(.usage, "port \(port) is published twice; give it once")
          }
          listeners.append(try Listener(publishing: port))
        }
      } catch {
        for listener in listeners { close(listener.descriptor) }
        throw error
      }
      self.listeners = Guarded(listeners)
    }

    deinit { stop() }

    /// Begins to forward connections, after ``IsolatedCommand/handshake()`` and before ``IsolatedCommand/start()``.
    ///
    /// - Parameter command: the command.
    /// - Throws: ``CodedError`` if the helper has ended, or no descriptors are left.
    package func start(_ command: IsolatedCommand) throws(CodedError) {
      for port in admitted {
        for address in InternetAddress.loopback(port) {
          let listener = try Listener(admitting: address, port: port, into: command)
          // Without IPv6 in the kernel, programs try 127.0.0.1.
          if let listener { listeners.withLock { $0.append(listener) } }
        }
      }
      let all = listeners.withLock { listeners in
        defer { listeners = [] }
        return listeners
      }
      guard !all.isEmpty else { return }
      let relay = Relay(all, command: command)
      relay.place = loop.add(relay)
      try loop.start()
    }

    /// Closes all ports and connections. May be called repeatedly.
    package func stop() {
      loop.stop()
      listeners.withLock { listeners in
        for listener in listeners { close(listener.descriptor) }
        listeners = []
      }
    }
  }

  /// A listening socket, and where its connections lead.
  private struct Listener: Sendable {
    let descriptor: Int32
    let port: UInt16
    /// Whether connections lead to the command; otherwise, to the host.
    let leadsInside: Bool

    /// The maximum number of waiting connections; the system may have a lower limit.
    private static let backlog: Int32 = 1024

    init(publishing port: PublishedPort) throws(CodedError) {
      self.port = port.port
      leadsInside = true
      guard let address = InternetAddress(port.host, port: port.port) else {
        throw CodedError(.usage, "'\(port.host)' is not an IP address; give one, such as 127.0.0.1")
      }
      descriptor = Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0, Self.listen(descriptor, at: address) else {
        let code = errno
        if descriptor >= 0 { close(descriptor) }
        throw CodedError(
          .inputOutput, "cannot publish port \(port): \(String(cString: strerror(code))); \(Self.advice(code))")
      }
    }

    /// Listens inside on an address at which the command reaches a port of the host.
    ///
    /// - Returns: nil if the system has no such address.
    init?(admitting address: InternetAddress, port: UInt16, into command: IsolatedCommand) throws(CodedError) {
      self.port = port
      leadsInside = false
      do { descriptor = try command.socket(address.isV6 ? .tcp6 : .tcp4) } catch {
        guard address.isV6 else { throw error }
        return nil
      }
      guard Self.listen(descriptor, at: address) else {
        let code = errno
        close(descriptor)
        if address.isV6 { return nil }
        throw CodedError(
          .inputOutput, "cannot listen on port \(port) for the command: \(String(cString: strerror(code)))")
      }
    }

    private static func listen(_ descriptor: Int32, at address: InternetAddress) -> Bool {
      // Otherwise connections that ended less than a minute ago would keep the port in use (tcp(7), TIME_WAIT).
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_REUSEADDR, &on, socklen_t(MemoryLayout<Int32>.size))
      guard address.withPointer({ bind(descriptor, $0, $1) }) == 0 else { return false }
      return Glibc.listen(descriptor, backlog) == 0 && setNonblocking(descriptor)
    }

    private static func advice(_ code: Int32) -> String {
      switch code {
      case EADDRINUSE:
        "stop the program that uses it, such as another isolated command ('ss -ltnp' shows it), or publish another port"
      case EACCES: "choose a port above 1023, or run with the privilege to use it"
      case EADDRNOTAVAIL, EAFNOSUPPORT: "give an address of this machine ('ip address' shows them)"
      case EMFILE, ENFILE: "raise the limit of open files ('ulimit -n')"
      default: "try another port"
      }
    }
  }

  private func setNonblocking(_ descriptor: Int32) -> Bool {
    fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0
  }

  /// The listeners and connections of a ``PortForwarder``, on its thread.
  private final class Relay: EventSource, @unchecked Sendable {
    /// The most bytes that one direction passes in a turn, and keeps for a slow reader.
    private static let chunk = 65_536
    /// Nanoseconds until accepting is tried again without free descriptors.
    private static let pause: UInt64 = 100_000_000
    /// The most connections that a listener accepts in a turn.
    private static let mostAccepted = 64

    /// One end of a connection.
    private struct Side {
      let descriptor: Int32
      /// What the other end has sent and this one has not accepted yet.
      var pending: [UInt8] = []
      /// Where the rest of `pending` begins.
      var start = 0
      /// Whether this end has sent everything.
      var hasEnded = false
      /// Whether this end knows that the other one has sent everything.
      var isNotified = false
    }

    /// A pair of connections, from the client to the server.
    private final class Link {
      var client: Side
      var server: Side?
      /// The addresses that remain to be tried.
      var addresses: ArraySlice<InternetAddress>
      let leadsInside: Bool

      init(_ client: Int32, _ listener: Listener) {
        self.client = Side(descriptor: client)
        addresses = InternetAddress.loopback(listener.port)[...]
        leadsInside = listener.leadsInside
      }
    }

    var place: EventPlace?
    private let command: IsolatedCommand
    private var listeners: [Int32: Listener]
    private var links: [Int32: Link] = [:]
    private var ready: Set<Int32> = []
    /// Whether the listeners wait for free descriptors.
    private var isPaused = false
    private var isNew = true
    private var buffer = [UInt8](repeating: 0, count: Relay.chunk)

    init(_ listeners: [Listener], command: IsolatedCommand) {
      self.listeners = Dictionary(uniqueKeysWithValues: listeners.map { ($0.descriptor, $0) })
      self.command = command
    }

    // MARK: EventSource

    // A descriptor that is closed here could be reused while its events are still being reported, so the work is done
    // in the turn.
    func isReady(_ descriptor: Int32, for readiness: Readiness) { ready.insert(descriptor) }

    func turn(now: UInt64) -> UInt64? {
      guard let place else { return nil }
      if isNew || isPaused {
        isNew = false
        isPaused = false
        for descriptor in listeners.keys {
          place.loop.watch(descriptor, for: .reading, at: place)
          ready.insert(descriptor)
        }
      }
      let due = ready
      ready = []
      for descriptor in due {
        if let listener = listeners[descriptor] {
          accept(listener, place)
        } else if let link = links[descriptor] {
          advance(link, place)
        }
      }
      return isPaused ? now + Self.pause : nil
    }

    func loopEnds() {
      for link in links.values {
        // Each link is found by both of its descriptors.
        for side in [link.client, link.server].compactMap(\.self)
        where links.removeValue(forKey: side.descriptor) != nil {
          reset(side.descriptor)
        }
      }
      for descriptor in listeners.keys { close(descriptor) }
      listeners = [:]
    }

    // MARK: Connecting

    private func accept(_ listener: Listener, _ place: EventPlace) {
      for _ in 0..<Self.mostAccepted {
        let client = diorama_accept4(
          listener.descriptor, nil, nil, Int32(SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue))
        guard client >= 0 else {
          if [EMFILE, ENFILE, ENOBUFS, ENOMEM].contains(errno) { pauseListeners(place) }
          return
        }
        let link = Link(client, listener)
        links[client] = link
        connect(link, place)
      }
      ready.insert(listener.descriptor)
      place.wake()
    }

    /// Leaves clients in the backlogs.
    private func pauseListeners(_ place: EventPlace) {
      isPaused = true
      for descriptor in listeners.keys { place.loop.pause(descriptor) }
    }

    /// Tries the next address; without one, the client is reset as if it had connected to the closed port itself.
    private func connect(_ link: Link, _ place: EventPlace) {
      while let address = link.addresses.popFirst() {
        guard let descriptor = makeSocket(link, address) else { continue }
        let result = address.withPointer { Glibc.connect(descriptor, $0, $1) }
        guard result == 0 || errno == EINPROGRESS else {
          close(descriptor)
          continue
        }
        link.server = Side(descriptor: descriptor)
        links[descriptor] = link
        for each in [descriptor, link.client.descriptor] { setNoDelay(each) }
        if result == 0 {
          link.addresses = []
          advance(link, place)
        } else {
          place.loop.watch(descriptor, for: .writing, at: place)
        }
        return
      }
      end(link, place, resetting: true)
    }

    private func makeSocket(_ link: Link, _ address: InternetAddress) -> Int32? {
      let descriptor =
        link.leadsInside
        ? (try? command.socket(address.isV6 ? .tcp6 : .tcp4)) ?? -1
        : Glibc.socket(address.family, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
      guard descriptor >= 0 else { return nil }
      guard setNonblocking(descriptor) else {
        close(descriptor)
        return nil
      }
      return descriptor
    }

    /// The programs decide how their bytes are put into packets.
    private func setNoDelay(_ descriptor: Int32) {
      var on: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, socklen_t(MemoryLayout<Int32>.size))
    }

    // MARK: Relaying

    /// Does what is possible for a link now, and watches for the rest.
    private func advance(_ link: Link, _ place: EventPlace) {
      guard var server = link.server else { return }
      if !link.addresses.isEmpty {
        guard let error = connectionError(server.descriptor) else { return }
        guard error == 0 else {
          forget(server.descriptor, place)
          close(server.descriptor)
          link.server = nil
          return connect(link, place)
        }
        link.addresses = []
      }
      var client = link.client
      let isAlive = pass(from: &client, to: &server) && pass(from: &server, to: &client)
      link.client = client
      link.server = server
      guard isAlive else { return end(link, place, resetting: true) }
      guard !client.isNotified || !server.isNotified else { return end(link, place, resetting: false) }
      watch(client, other: server, place)
      watch(server, other: client, place)
    }

    /// - Returns: the error of a connection; 0 if it is established, nil if it is not yet.
    private func connectionError(_ descriptor: Int32) -> Int32? {
      var state = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
      guard poll(&state, 1, 0) > 0 else { return nil }
      var error: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &error, &size)
      return error
    }

    /// Passes bytes in one direction until one side has to wait, but at most a few chunks, since other links wait.
    ///
    /// - Returns: false if the link is broken.
    private func pass(from source: inout Side, to target: inout Side) -> Bool {
      var chunks = 4
      while true {
        if !target.pending.isEmpty {
          guard let isDone = flush(&target) else { return false }
          guard isDone else { return true }
        }
        if source.hasEnded {
          // shutdown(2) fails if the other side has left.
          if !target.isNotified { shutdown(target.descriptor, Int32(SHUT_WR)) }
          target.isNotified = true
          return true
        }
        guard chunks > 0 else { return true }
        chunks -= 1
        let count = buffer.withUnsafeMutableBytes { recv(source.descriptor, $0.baseAddress, $0.count, 0) }
        if count == 0 {
          source.hasEnded = true
        } else if count > 0 {
          guard let sent = send(buffer[..<count], to: target.descriptor) else { return false }
          if sent < count { target.pending = Array(buffer[sent..<count]) }
        } else if errno != EINTR {
          return errno == EAGAIN
        }
      }
    }

    /// Sends what is pending.
    ///
    /// - Returns: whether that was all; nil if the connection is broken.
    private func flush(_ side: inout Side) -> Bool? {
      guard let sent = send(side.pending[side.start...], to: side.descriptor) else { return nil }
      side.start += sent
      guard side.start == side.pending.count else { return false }
      side.pending = []
      side.start = 0
      return true
    }

    /// - Returns: how many bytes were sent; nil if the connection is broken.
    private func send(_ bytes: ArraySlice<UInt8>, to descriptor: Int32) -> Int? {
      let count = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
      return count >= 0 ? count : errno == EAGAIN || errno == EINTR ? 0 : nil
    }

    private func watch(_ side: Side, other: Side, _ place: EventPlace) {
      var readiness: Readiness = []
      if !side.pending.isEmpty { readiness.insert(.writing) }
      if !side.hasEnded, other.pending.isEmpty { readiness.insert(.reading) }
      if readiness.isEmpty {
        place.loop.pause(side.descriptor)
      } else {
        place.loop.watch(side.descriptor, for: readiness, at: place)
      }
    }

    // MARK: Ending

    private func end(_ link: Link, _ place: EventPlace, resetting: Bool) {
      for side in [link.client, link.server].compactMap(\.self) {
        forget(side.descriptor, place)
        if resetting { reset(side.descriptor) } else { close(side.descriptor) }
      }
      // Descriptors are free again.
      if isPaused { place.wake() }
    }

    private func forget(_ descriptor: Int32, _ place: EventPlace) {
      place.loop.forget(descriptor)
      links.removeValue(forKey: descriptor)
      ready.remove(descriptor)
    }

    /// Closes a connection with a reset (socket(7), SO_LINGER with a time of 0).
    private func reset(_ descriptor: Int32) {
      var option = linger(l_onoff: 1, l_linger: 0)
      setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
      close(descriptor)
    }
  }
#endif
