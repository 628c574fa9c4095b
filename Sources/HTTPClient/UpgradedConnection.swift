import CCurl
import EventLoops
package import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An upgraded connection to an upstream, over TLS if the origin requires it.
package final class UpgradedConnection: DuplexChannel, @unchecked Sendable {
  /// The maximum size of a refusal's body in bytes.
  private static let refusalLimit = 1 << 20

  package let descriptor: Int32
  // Curl's handles are not thread-safe: use one thread at a time.
  private var easy: EasyHandle?
  /// Bytes received after the response head.
  private var early: [UInt8] = []

  private init(_ easy: EasyHandle, descriptor: Int32) {
    self.easy = easy
    self.descriptor = descriptor
  }

  /// Starts moving bytes; call this once.
  package func start() -> Duplex { DuplexPump.start(self, received: early) }

  /// Connects, sends the request and waits for the response head.
  static func open(
    _ request: Request, to token: String, at origin: Origin, _ trust: Trust, _ settings: Settings
  ) throws -> (Response, UpgradedConnection?) {
    let text = try head(of: request, to: token, at: origin)
    let easy = try EasyHandle(settings, trust: trust, origin: origin)
    try easy.prepareConnection(to: origin)
    let code = curl_easy_perform(easy.raw)
    guard code == CURLE_OK else { throw easy.failure(code, to: origin).error(for: origin) }
    let connection = UpgradedConnection(easy, descriptor: curl_get_socket(easy.raw))
    guard connection.descriptor >= 0 else { throw UpstreamError.cut(origin) }
    let until = monotonicNanoseconds() + settings.stallNanoseconds
    try connection.sendAll(Array(text.utf8), to: origin, until: until, settings)
    var response = try connection.readHead(from: origin, until: until, settings)
    guard response.status != 101 else { return (response, connection) }
    response.body = .bytes(
      try connection.readRefusal(response, from: origin, until: until, settings))
    return (response, nil)
  }

  private static func head(of request: Request, to token: String, at origin: Origin) throws -> String {
    var headers = request.headers
    headers.removeHopByHop()
    if headers["Host"] == nil { headers.set("Host", origin.authority) }
    headers.append("Connection", "Upgrade")
    headers.append("Upgrade", token)
    let isTarget = request.target.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }
    guard isTarget, request.target.hasPrefix("/") else {
      throw UpstreamError.invalid(origin, "'\(request.target)' is not a path with a query")
    }
    var text = "GET \(request.target) HTTP/1.1\r\n"
    for field in headers.fields {
      guard field.name.isToken, field.value.utf8.allSatisfy({ $0 != 0x0A && $0 != 0x0D && $0 != 0 }) else {
        throw UpstreamError.invalid(origin, "the header \(field.name) cannot be sent")
      }
      text += "\(field.name): \(field.value)\r\n"
    }
    return text + "\r\n"
  }

  // MARK: Blocking calls for the handshake

  private func sendAll(_ bytes: [UInt8], to origin: Origin, until: UInt64, _ settings: Settings) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      guard let count = rest.withUnsafeBytes({ write($0) }) else { throw UpstreamError.cut(origin) }
      rest = rest.dropFirst(count)
      if count == 0 { try wait(POLLOUT, for: origin, until: until, settings) }
    }
  }

  private func readHead(from origin: Origin, until: UInt64, _ settings: Settings) throws -> Response {
    var bytes: [UInt8] = []
    while true {
      if let end = bytes.firstEnd(of: [13, 10, 13, 10]) {
        early = Array(bytes[end...])
        return try Self.response(bytes[..<(end - 2)], from: origin)
      }
      guard bytes.count <= 65_536 else {
        throw UpstreamError(kind: .other, message: "\(origin) sent a head of more than 65536 bytes: shorten it")
      }
      var count: Int? = 0
      bytes += [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, written in
        count = read(into: UnsafeMutableRawBufferPointer(buffer))
        written = count ?? 0
      }
      guard let count else { throw UpstreamError.cut(origin) }
      if count == 0 { try wait(POLLIN, for: origin, until: until, settings) }
    }
  }

  /// Reads the body of a response without upgrade: up to its declared length, else to the end of the connection.
  private func readRefusal(
    _ response: Response, from origin: Origin, until: UInt64, _ settings: Settings
  ) throws -> [UInt8] {
    guard response.status != 204, response.status != 304 else { return [] }
    let isChunked = response.headers["Transfer-Encoding"] != nil
    let length = isChunked ? nil : response.headers["Content-Length"].flatMap { Int($0) }
    var bytes = early
    while bytes.count <= Self.refusalLimit {
      if isChunked {
        if let body = try ChunkedBody.whole(bytes[...], from: origin) { return body }
      } else if let length, bytes.count >= length {
        return Array(bytes.prefix(max(0, length)))
      }
      var count: Int? = 0
      bytes += [UInt8](unsafeUninitializedCapacity: 16_384) { buffer, written in
        count = read(into: UnsafeMutableRawBufferPointer(buffer))
        written = count ?? 0
      }
      guard let count else {
        guard !isChunked, length == nil else { throw UpstreamError.cut(origin) }
        return bytes
      }
      if count == 0 { try wait(POLLIN, for: origin, until: until, settings) }
    }
    throw UpstreamError(
      kind: .other,
      message: "\(origin) refused with a body of more than \(Self.refusalLimit) bytes: shorten it"
    )
  }

  private static func response(_ bytes: ArraySlice<UInt8>, from origin: Origin) throws -> Response {
    var head = ResponseHead()
    for line in bytes.split(separator: 10) { line.withUnsafeBytes { _ = head.take($0) } }
    guard head.status > 0 else {
      throw UpstreamError(
        kind: .other, message: "\(origin) does not answer with HTTP: correct its address or scheme")
    }
    return Response(status: head.status, reason: head.reason, headers: head.headers)
  }

  private func wait(_ events: Int32, for origin: Origin, until: UInt64, _ settings: Settings) throws {
    let now = monotonicNanoseconds()
    guard now < until else { throw UpstreamError.stalled(origin, after: settings.stallNanoseconds) }
    var found = pollfd(fd: descriptor, events: Int16(events), revents: 0)
    _ = poll(&found, 1, Int32(min((until - now) / 1_000_000 + 1, 60_000)))
  }

  // MARK: The channel

  package func read(into buffer: UnsafeMutableRawBufferPointer) -> Int? {
    easy.flatMap { $0.read(into: buffer) }
  }

  package func write(_ bytes: UnsafeRawBufferPointer) -> Int? {
    easy.flatMap { $0.write(bytes) }
  }

  package func close() { easy = nil }
}

extension [UInt8] {
  /// The end index of the first occurrence of a pattern.
  fileprivate func firstEnd(of pattern: [UInt8]) -> Int? {
    guard count >= pattern.count else { return nil }
    var index = 0
    while index + pattern.count <= count {
      if self[index] == pattern[0], self[index..<(index + pattern.count)].elementsEqual(pattern) {
        return index + pattern.count
      }
      index += 1
    }
    return nil
  }
}

/// Decodes a short chunked body (RFC 9112, 7.1) on a connection that curl does not read for us.
enum ChunkedBody {
  /// Decodes the chunks.
  ///
  /// - Parameters:
  ///   - bytes: the bytes received so far.
  ///   - origin: the upstream, for errors.
  /// - Returns: the body; nil if the last chunk has not arrived.
  /// - Throws: an ``UpstreamError`` for a chunk without a size.
  static func whole(_ bytes: ArraySlice<UInt8>, from origin: Origin) throws -> [UInt8]? {
    var rest = bytes
    var body: [UInt8] = []
    while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
      let digits = rest[..<end].prefix { $0 != UInt8(ascii: ";") && $0 > 0x20 }
      guard let size = Int(String(decoding: digits, as: UTF8.self), radix: 16),
        0...Int(Int32.max) ~= size
      else {
        throw UpstreamError(
          kind: .other,
          message: "\(origin) sent a chunk without a size: check the upstream's log")
      }
      rest = rest[(end + 1)...]
      if size == 0 { return body }
      guard rest.count >= size + 2 else { return nil }
      body += rest.prefix(size)
      rest = rest.dropFirst(size + 2)
    }
    return nil
  }
}
