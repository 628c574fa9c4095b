#if DEBUG || Controlled
  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  /// What went wrong on a socket, in the system's words.
  struct SocketFailure: Error, CustomStringConvertible {
    let description: String
    /// Whether the peer was there and silent.
    let isTimeOut: Bool

    init(_ description: String, isTimeOut: Bool = false) {
      self.description = description
      self.isTimeOut = isTimeOut
    }

    init(_ call: String, _ code: Int32) {
      self.init("\(call): \(String(cString: strerror(code)))")
    }
  }

  /// A TCP connection to this machine, whose calls block until a deadline.
  struct LoopbackSocket: ~Copyable {
    private let descriptor: Int32

    /// Connects.
    ///
    /// - Parameters:
    ///   - address: an IPv4 address of this machine.
    ///   - port: the port to connect to.
    ///   - deadline: when to give up.
    /// - Throws: ``SocketFailure``.
    init(to address: in_addr, port: UInt16, by deadline: ContinuousClock.Instant) throws(SocketFailure) {
      #if canImport(Darwin)
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
      #else
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      #endif
      guard descriptor >= 0 else { throw SocketFailure("socket", errno) }
      #if canImport(Darwin)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
      #endif
      var noDelay: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
      guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
        throw SocketFailure("fcntl", errno)
      }
      try connect(to: address, port: port, by: deadline)
    }

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Sends all bytes.
    func send(_ bytes: [UInt8], by deadline: ContinuousClock.Instant) throws(SocketFailure) {
      #if canImport(Darwin)
        let flags: Int32 = 0
      #else
        // A peer that has gone is an error to answer, not a signal that ends the app.
        let flags = Int32(MSG_NOSIGNAL)
      #endif
      var rest = bytes[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { buffer in
          #if canImport(Darwin)
            Darwin.send(descriptor, buffer.baseAddress, buffer.count, flags)
          #else
            Glibc.send(descriptor, buffer.baseAddress, buffer.count, flags)
          #endif
        }
        if count >= 0 {
          rest = rest.dropFirst(count)
        } else {
          try wait(for: Int16(POLLOUT), after: errno, call: "send", by: deadline)
        }
      }
    }

    /// The next bytes; none when the peer has closed.
    func receive(by deadline: ContinuousClock.Instant) throws(SocketFailure) -> [UInt8] {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count >= 0 { return Array(buffer.prefix(count)) }
        try wait(for: Int16(POLLIN), after: errno, call: "recv", by: deadline)
      }
    }

    private func connect(
      to address: in_addr, port: UInt16, by deadline: ContinuousClock.Instant
    ) throws(SocketFailure) {
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = port.bigEndian
      name.sin_addr = address
      let result = withUnsafePointer(to: &name) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
          #if canImport(Darwin)
            Darwin.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
          #else
            Glibc.connect(descriptor, pointer, socklen_t(MemoryLayout<sockaddr_in>.size))
          #endif
        }
      }
      if result == 0 { return }
      // An interrupted connect goes on by itself, like one in progress (connect(2)).
      guard errno == EINPROGRESS || errno == EINTR else { throw SocketFailure("connect", errno) }
      try wait(for: Int16(POLLOUT), after: EAGAIN, call: "connect", by: deadline)
      var failure: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size)
      guard failure == 0 else { throw SocketFailure("connect", failure) }
    }

    /// Waits until a call that has just failed is worth another try.
    private func wait(
      for events: Int16, after code: Int32, call: String, by deadline: ContinuousClock.Instant
    ) throws(SocketFailure) {
      if code == EINTR { return }
      guard code == EAGAIN || code == EWOULDBLOCK else { throw SocketFailure(call, code) }
      while true {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw SocketFailure("no answer in time", isTimeOut: true) }
        var watched = pollfd(fd: descriptor, events: events, revents: 0)
        let ready = poll(&watched, 1, Int32(min(left.seconds * 1_000, 60_000)) + 1)
        if ready > 0 { return }
        guard ready == 0 || errno == EINTR else { throw SocketFailure("poll", errno) }
      }
    }
  }
#endif
