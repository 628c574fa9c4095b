#if DEBUG || Controlled
  import Basics

  #if canImport(Darwin)
    import Darwin
  #else
    import Glibc
  #endif

  extension CodedError {
    /// A socket call that failed; the peer counts as absent.
    fileprivate init(_ call: String, _ code: Int32) {
      self.init(.noUpstream, "\(call): \(String(cString: strerror(code)))")
    }

    /// Bytes that are not a valid response.
    fileprivate static func malformed(_ problem: String) -> CodedError { CodedError(.broken, problem) }

    /// The peer closed the connection in the middle of the response; it counts as absent.
    fileprivate static func cutOff(_ part: String) -> CodedError {
      CodedError(.inputOutput, "the connection closed within the response's \(part)")
    }
  }

  /// A TCP connection to the same machine. Its calls block until a deadline.
  struct LoopbackSocket: ~Copyable {
    private let descriptor: Int32

    /// Connects.
    ///
    /// - Parameters:
    ///   - address: an IPv4 address of this machine.
    ///   - port: the port to connect to.
    ///   - deadline: the time limit.
    /// - Throws: ``CodedError``.
    init(to address: in_addr, port: UInt16, by deadline: ContinuousClock.Instant) throws(CodedError) {
      #if canImport(Darwin)
        descriptor = socket(AF_INET, SOCK_STREAM, 0)
      #else
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
      #endif
      guard descriptor >= 0 else { throw CodedError("socket", errno) }
      #if canImport(Darwin)
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        var on: Int32 = 1
        setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
      #endif
      var noDelay: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
      guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
        throw CodedError("fcntl", errno)
      }
      try connect(to: address, port: port, by: deadline)
    }

    deinit {
      if descriptor >= 0 { close(descriptor) }
    }

    /// Sends all bytes.
    func send(_ bytes: [UInt8], by deadline: ContinuousClock.Instant) throws(CodedError) {
      #if canImport(Darwin)
        let flags: Int32 = 0
      #else
        // A closed connection must cause an error, not a signal that ends the app.
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

    /// The next bytes; empty when the peer has closed the connection.
    func receive(by deadline: ContinuousClock.Instant) throws(CodedError) -> [UInt8] {
      var buffer = [UInt8](repeating: 0, count: 65_536)
      while true {
        let count = recv(descriptor, &buffer, buffer.count, 0)
        if count >= 0 { return Array(buffer.prefix(count)) }
        try wait(for: Int16(POLLIN), after: errno, call: "recv", by: deadline)
      }
    }

    private func connect(
      to address: in_addr, port: UInt16, by deadline: ContinuousClock.Instant
    ) throws(CodedError) {
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
      // An interrupted connect continues, like one in progress (connect(2)).
      guard errno == EINPROGRESS || errno == EINTR else { throw CodedError("connect", errno) }
      try wait(for: Int16(POLLOUT), after: EAGAIN, call: "connect", by: deadline)
      var failure: Int32 = 0
      var size = socklen_t(MemoryLayout<Int32>.size)
      getsockopt(descriptor, SOL_SOCKET, SO_ERROR, &failure, &size)
      guard failure == 0 else { throw CodedError("connect", failure) }
    }

    /// Waits until a failed call can be repeated.
    private func wait(
      for events: Int16, after code: Int32, call: String, by deadline: ContinuousClock.Instant
    ) throws(CodedError) {
      if code == EINTR { return }
      guard code == EAGAIN || code == EWOULDBLOCK else { throw CodedError(call, code) }
      while true {
        let left = ContinuousClock.now.duration(to: deadline)
        guard left > .zero else { throw CodedError(.unanswered, "no response in time") }
        var watched = pollfd(fd: descriptor, events: events, revents: 0)
        let ready = poll(&watched, 1, Int32(min(left.seconds * 1_000, 60_000)) + 1)
        if ready > 0 { return }
        guard ready == 0 || errno == EINTR else { throw CodedError("poll", errno) }
      }
    }
  }

  /// A complete HTTP/1.1 response of the environment: small and not compressed.
  struct HTTPResponse: Equatable {
    /// 200 to 599.
    var status: Int
    /// The body without transfer coding.
    var body: [UInt8]
    /// Whether the connection can be used for another request.
    var keepsAlive: Bool

    /// The maximum number of bytes: enough for the longest random string in any alphabet.
    static let limit = 8 << 20

    /// Parses a response.
    ///
    /// - Parameters:
    ///   - bytes: all bytes received so far.
    ///   - ended: whether the peer has closed the connection.
    /// - Returns: nil if the response is not complete.
    /// - Throws: ``CodedError``.
    static func parse(_ bytes: [UInt8], ended: Bool) throws(CodedError) -> HTTPResponse? {
      guard bytes.count <= limit else { throw CodedError.malformed("the response has more than \(limit) bytes") }
      guard let headEnd = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
        if ended { throw CodedError.cutOff("head") }
        return nil
      }
      let lines = bytes[..<headEnd.lowerBound].split(separator: 0x0A, omittingEmptySubsequences: false)
      let head = try Head(lines.map { String(decoding: $0.last == 0x0D ? $0.dropLast() : $0, as: UTF8.self) })
      let rest = Array(bytes[headEnd.upperBound...])
      if 100..<200 ~= head.status { return try parse(rest, ended: ended) }

      let body: [UInt8]?
      if head.status == 204 || head.status == 304 {
        body = []
      } else if head.isChunked {
        body = try dechunked(rest)
      } else if let length = head.length {
        body = rest.count < length ? nil : Array(rest.prefix(length))
      } else {
        body = ended ? rest : nil
      }
      guard let body else {
        if ended { throw CodedError.cutOff("body") }
        return nil
      }
      let isDelimited = head.isChunked || head.length != nil || head.status == 204 || head.status == 304
      return HTTPResponse(status: head.status, body: body, keepsAlive: isDelimited && head.keepsAlive && !ended)
    }

    /// The content of a chunked body (RFC 9112, section 7.1); nil if it is not complete.
    private static func dechunked(_ bytes: [UInt8]) throws(CodedError) -> [UInt8]? {
      let lineEnd = Array("\r\n".utf8)
      var body: [UInt8] = []
      var rest = bytes[...]
      while let end = rest.firstRange(of: lineEnd) {
        let digits = rest[..<end.lowerBound].prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 }
        guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16), 0...limit ~= size else {
          throw CodedError.malformed("a chunk has no size")
        }
        rest = rest[end.upperBound...]
        if size == 0 { return rest.starts(with: lineEnd) || rest.firstRange(of: lineEnd + lineEnd) != nil ? body : nil }
        guard rest.count >= size + lineEnd.count else { return nil }
        body += rest.prefix(size)
        rest = rest.dropFirst(size + lineEnd.count)
      }
      return nil
    }

    /// A status line and the three relevant header fields.
    private struct Head {
      var status = 0
      var length: Int?
      var isChunked = false
      var keepsAlive: Bool

      init(_ lines: [String]) throws(CodedError) {
        let words = lines[0].split(separator: " ", maxSplits: 2)
        guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), 100...599 ~= status else {
          throw CodedError.malformed("the response is not HTTP/1.1")
        }
        self.status = status
        keepsAlive = words[0] != "HTTP/1.0"
        for line in lines.dropFirst() {
          let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
          guard parts.count == 2 else { throw CodedError.malformed("a header line has no colon") }
          let value = parts[1].split { $0 == " " || $0 == "\t" }.joined(separator: " ").lowercased()
          switch parts[0].lowercased() {
          case "content-length":
            guard let length = Int(value), length >= 0 else {
              throw CodedError.malformed("the Content-Length '\(value)' is not valid")
            }
            self.length = length
          case "transfer-encoding": isChunked = value.hasSuffix("chunked")
          case "connection" where value.contains("close"): keepsAlive = false
          default: break
          }
        }
      }
    }
  }
#endif
