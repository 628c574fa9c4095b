package import Basics

#if canImport(Darwin)
  package import Darwin
#else
  package import Glibc
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
    CodedError(.inputOutput, "the connection closed before the end of the response's \(part)")
  }
}

/// A connection to a server on the same machine. Its calls block until a deadline.
///
/// Apps and test runners use it instead of ``HTTPClient``, so that they link no HTTP library.
package struct LocalSocket: ~Copyable {
  /// Where a server on this machine accepts connections.
  package enum Address: Sendable {
    /// A port of an IPv4 loopback address.
    case loopback(in_addr, port: UInt16)
    /// The path of a Unix socket, at most ``longestPath`` bytes long.
    case unix(path: String)
  }

  /// The longest path that fits into a Unix socket's address, without its terminating null byte.
  package static let longestPath = MemoryLayout.size(ofValue: sockaddr_un().sun_path) - 1

  private let descriptor: Int32
  private let isCancelled: (@Sendable () -> Bool)?

  /// Connects.
  ///
  /// - Parameters:
  ///   - address: where to connect.
  ///   - deadline: the time limit.
  ///   - isCancelled: ends waits early when it returns true; asked ten times a second.
  /// - Throws: ``CodedError`` of kind `noUpstream` or `unanswered`.
  package init(
    to address: Address, by deadline: ContinuousClock.Instant, isCancelled: (@Sendable () -> Bool)? = nil
  ) throws(CodedError) {
    self.isCancelled = isCancelled
    let family = if case .loopback = address { AF_INET } else { AF_UNIX }
    #if canImport(Darwin)
      descriptor = socket(family, SOCK_STREAM, 0)
    #else
      descriptor = socket(family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #endif
    guard descriptor >= 0 else {
      throw CodedError(
        .noUpstream, "socket: \(String(cString: strerror(errno))); raise the limit of open files ('ulimit -n')")
    }
    #if canImport(Darwin)
      _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
      var on: Int32 = 1
      setsockopt(descriptor, SOL_SOCKET, SO_NOSIGPIPE, &on, socklen_t(MemoryLayout<Int32>.size))
    #endif
    guard fcntl(descriptor, F_SETFL, fcntl(descriptor, F_GETFL) | O_NONBLOCK) == 0 else {
      throw CodedError("fcntl", errno)
    }
    switch address {
    case .loopback(let host, let port):
      var noDelay: Int32 = 1
      setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
      var name = sockaddr_in()
      name.sin_family = sa_family_t(AF_INET)
      name.sin_port = port.bigEndian
      name.sin_addr = host
      try connect(to: name, by: deadline)
    case .unix(let path):
      var name = sockaddr_un()
      name.sun_family = sa_family_t(AF_UNIX)
      withUnsafeMutableBytes(of: &name.sun_path) { $0.copyBytes(from: path.utf8.prefix(Self.longestPath)) }
      try connect(to: name, by: deadline)
    }
  }

  deinit {
    if descriptor >= 0 { close(descriptor) }
  }

  /// Sends all bytes.
  package func send(_ bytes: [UInt8], by deadline: ContinuousClock.Instant) throws(CodedError) {
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

  /// Reads one complete response.
  ///
  /// - Parameters:
  ///   - deadline: the time limit.
  ///   - limit: the maximum number of bytes.
  /// - Returns: the response.
  /// - Throws: ``CodedError`` of kind `broken` if it is not a valid response, `inputOutput` if it was cut off,
  ///   `noUpstream` or `unanswered`.
  package func receiveResponse(
    by deadline: ContinuousClock.Instant, upTo limit: Int = HTTPResponse.limit
  ) throws(CodedError) -> HTTPResponse {
    var received: [UInt8] = []
    var size: Int?
    while true {
      let bytes = try receive(by: deadline)
      received += bytes
      if size == nil { size = try HTTPResponse.size(received) }
      // A long response is not parsed for each of its parts.
      if let size, received.count < min(size, limit), !bytes.isEmpty { continue }
      if let response = try HTTPResponse.parse(received, ended: bytes.isEmpty, upTo: limit) { return response }
    }
  }

  /// The next bytes; empty when the peer has closed the connection.
  private func receive(by deadline: ContinuousClock.Instant) throws(CodedError) -> [UInt8] {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      if count >= 0 { return Array(buffer.prefix(count)) }
      try wait(for: Int16(POLLIN), after: errno, call: "recv", by: deadline)
    }
  }

  private func connect<Name>(to name: Name, by deadline: ContinuousClock.Instant) throws(CodedError) {
    let result = withUnsafeBytes(of: name) { bytes in
      let pointer = bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self)
      #if canImport(Darwin)
        return Darwin.connect(descriptor, pointer, socklen_t(bytes.count))
      #else
        return Glibc.connect(descriptor, pointer, socklen_t(bytes.count))
      #endif
    }
    if result == 0 { return }
    // An interrupted connect continues, like one in progress (connect(2)). A Unix socket whose backlog is full refuses.
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
      if isCancelled?() == true { throw CodedError(.unanswered, "the wait was cancelled") }
      let left = ContinuousClock.now.duration(to: deadline)
      guard left > .zero else { throw CodedError(.unanswered, "no response in time") }
      var watched = pollfd(fd: descriptor, events: events, revents: 0)
      let ready = poll(&watched, 1, Int32(min(left / .milliseconds(1), isCancelled == nil ? 60_000 : 100)) + 1)
      if ready > 0 { return }
      guard ready == 0 || errno == EINTR else { throw CodedError("poll", errno) }
    }
  }
}

/// A complete HTTP/1.1 response: small and not compressed.
package struct HTTPResponse: Equatable, Sendable {
  /// 200 to 599.
  package var status: Int
  /// The body without transfer coding.
  package var body: [UInt8]
  /// The header fields, with names in lower case. Repeated fields are joined.
  package var headers: [String: String] = [:]
  /// Whether the connection can be used for another request.
  package var keepsAlive: Bool

  /// The maximum number of bytes: enough for the longest random string in any alphabet.
  package static let limit = 8 << 20

  package init(status: Int, body: [UInt8], keepsAlive: Bool) {
    self.status = status
    self.body = body
    self.keepsAlive = keepsAlive
  }

  /// The number of bytes of a final response, as its head declares them; nil if it does not, or is not complete.
  fileprivate static func size(_ bytes: [UInt8]) throws(CodedError) -> Int? {
    guard let headEnd = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
    let head = try Head(bytes[..<headEnd.lowerBound])
    guard head.status >= 200, !head.isChunked, let length = head.length else { return nil }
    return headEnd.upperBound + length
  }

  /// Parses a response.
  ///
  /// - Parameters:
  ///   - bytes: all bytes received so far.
  ///   - ended: whether the peer has closed the connection.
  ///   - limit: the maximum number of bytes.
  /// - Returns: nil if the response is not complete.
  /// - Throws: ``CodedError``.
  package static func parse(
    _ bytes: [UInt8], ended: Bool, upTo limit: Int = limit
  ) throws(CodedError) -> HTTPResponse? {
    guard bytes.count <= limit else { throw CodedError.malformed("the response has more than \(limit) bytes") }
    guard let headEnd = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
      if ended { throw CodedError.cutOff("head") }
      return nil
    }
    let head = try Head(bytes[..<headEnd.lowerBound])
    let rest = Array(bytes[headEnd.upperBound...])
    if 100..<200 ~= head.status { return try parse(rest, ended: ended, upTo: limit) }

    let body: [UInt8]?
    if head.status == 204 || head.status == 304 {
      body = []
    } else if head.isChunked {
      body = try dechunked(rest, upTo: limit)
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
    var response = HTTPResponse(status: head.status, body: body, keepsAlive: isDelimited && head.keepsAlive && !ended)
    response.headers = head.fields
    return response
  }

  /// The content of a chunked body (RFC 9112, section 7.1); nil if it is not complete.
  private static func dechunked(_ bytes: [UInt8], upTo limit: Int) throws(CodedError) -> [UInt8]? {
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
    var fields: [String: String] = [:]

    init(_ bytes: ArraySlice<UInt8>) throws(CodedError) {
      let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: false).map {
        String(decoding: $0.last == 0x0D ? $0.dropLast() : $0, as: UTF8.self)
      }
      let words = lines[0].split(separator: " ", maxSplits: 2)
      guard words.count >= 2, words[0].hasPrefix("HTTP/1."), let status = Int(words[1]), 100...599 ~= status else {
        throw CodedError.malformed("the response is not HTTP/1.1")
      }
      self.status = status
      keepsAlive = words[0] != "HTTP/1.0"
      for line in lines.dropFirst() {
        let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else { throw CodedError.malformed("a header line has no colon") }
        let field = parts[1].split { $0 == " " || $0 == "\t" }.joined(separator: " ")
        let (name, value) = (parts[0].lowercased(), field.lowercased())
        fields[name] = fields[name].map { "\($0), \(field)" } ?? field
        switch name {
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
