package import HTTPMessages
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A client that sends and receives exact bytes.
///
/// Its calls block for at most four minutes. Run them in ``onThread(_:)`` and not on the threads of Swift's pool, on
/// which the handlers under test run.
package final class RawClient: @unchecked Sendable {
  package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(description: String) {
      self.description = description
    }
  }

  package struct Answer {
    package var head: String
    package var body: [UInt8]

    package var status: Int { Int(head.dropFirst(9).prefix(3)) ?? 0 }
    package var lines: [String] { head.split(separator: "\r\n").map(String.init) }
    package var text: String { String(decoding: body, as: UTF8.self) }
    package var headers: Headers {
      Headers(
        lines.dropFirst().map { line in
          let parts = line.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
          return Headers.Field(String(parts[0]), String(parts[1].drop(while: { $0 == " " })))
        })
    }
  }

  /// Negative once closed, which one thread may do while another one receives.
  private let handle: Atomic<Int32>
  package var descriptor: Int32 { handle.load(ordering: .sequentiallyConsistent) }
  private var buffer: [UInt8] = []

  /// Connects. A small `receiveBuffer` makes the system buffer less for a slow reader.
  package init(port: UInt16, receiveBuffer: Int32? = nil) throws {
    handle = Atomic(socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    if var receiveBuffer {
      setsockopt(descriptor, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4)
    }
    var on: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &on, 4)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    try connect(to: address)
  }

  /// Connects to a Unix socket.
  package init(path: String) throws {
    handle = Atomic(socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0))
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
    try connect(to: address)
  }

  /// Takes over a connected socket, such as one end of a pair.
  package init(connected descriptor: Int32) {
    handle = Atomic(descriptor)
    limitWaiting()
  }

  private func limitWaiting() {
    var limit = timeval(tv_sec: 240, tv_usec: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    setsockopt(descriptor, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
  }

  private func connect(to address: some BitwiseCopyable) throws {
    limitWaiting()
    let result = withUnsafeBytes(of: address) { bytes in
      Glibc.connect(descriptor, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    guard result == 0 else {
      let code = errno
      close()
      throw Failure(description: "cannot connect: \(String(cString: strerror(code)))")
    }
  }

  deinit { close() }

  package func close() {
    let descriptor = handle.exchange(-1, ordering: .sequentiallyConsistent)
    if descriptor >= 0 { Glibc.close(descriptor) }
  }

  /// Closes with a reset, as a killed process with unread data does.
  package func reset() {
    var linger = Glibc.linger(l_onoff: 1, l_linger: 0)
    setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout<Glibc.linger>.size))
    close()
  }

  package func endWriting() { shutdown(descriptor, Int32(SHUT_WR)) }

  package func send(_ text: String) throws { try send(Array(text.utf8)) }

  package func send(_ bytes: [UInt8]) throws {
    var sent = 0
    while sent < bytes.count {
      let count = bytes.withUnsafeBytes {
        Glibc.send(descriptor, $0.baseAddress.map { $0 + sent }, $0.count - sent, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw Failure(description: "send: \(String(cString: strerror(errno)))") }
      sent += count
    }
  }

  /// Sends as much as fits without blocking; returns the number of bytes.
  package func sendSome(_ bytes: [UInt8]) -> Int {
    bytes.withUnsafeBytes {
      max(0, Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL | MSG_DONTWAIT)))
    }
  }

  /// The next bytes; empty at the end.
  package func receive(_ most: Int = 65_536) throws -> [UInt8] {
    if !buffer.isEmpty {
      let bytes = Array(buffer.prefix(most))
      buffer.removeFirst(bytes.count)
      return bytes
    }
    var bytes = [UInt8](repeating: 0, count: most)
    let count = recv(descriptor, &bytes, most, 0)
    guard count >= 0 else { throw Failure(description: "receive: \(String(cString: strerror(errno)))") }
    return Array(bytes.prefix(count))
  }

  package func receiveAll() throws -> [UInt8] {
    var all: [UInt8] = []
    while true {
      let bytes = try receive()
      if bytes.isEmpty { return all }
      all += bytes
    }
  }

  private func fill() throws {
    let kept = buffer
    buffer = []
    let bytes = try receive()
    guard !bytes.isEmpty else {
      throw Failure(description: "ended after '\(String(decoding: kept.prefix(300), as: UTF8.self))'")
    }
    buffer = kept + bytes
  }

  private func take(_ count: Int) throws -> [UInt8] {
    while buffer.count < count { try fill() }
    defer { buffer.removeFirst(count) }
    return Array(buffer.prefix(count))
  }

  private func takeLine() throws -> String {
    while true {
      if let end = buffer.firstIndex(of: 10) {
        let line = try take(end + 1)
        return String(decoding: line.dropLast(2), as: UTF8.self)
      }
      try fill()
    }
  }

  /// Reads a head up to the empty line.
  package func receiveHead() throws -> Answer {
    var head = ""
    while true {
      let line = try takeLine()
      if line.isEmpty { return Answer(head: head, body: []) }
      head += line + "\r\n"
    }
  }

  /// Reads one response by its framing.
  package func receiveAnswer(toHead: Bool = false) throws -> Answer {
    var answer = try receiveHead()
    if toHead || answer.status == 204 || answer.status == 304 || answer.status < 200 { return answer }
    if answer.headers["Transfer-Encoding"] == "chunked" {
      while true {
        let size = Int(try takeLine(), radix: 16) ?? -1
        guard size >= 0 else { throw Failure(description: "a chunk without a size") }
        answer.body += try take(size)
        _ = try takeLine()
        if size == 0 { return answer }
      }
    }
    if let length = answer.headers["Content-Length"].flatMap({ Int($0) }) {
      answer.body = try take(length)
    } else {
      answer.body =
        buffer
        + (try {
          buffer = []; return try receiveAll()
        }())
    }
    return answer
  }

  /// The next chunk of a chunked response whose head has been read; nil at its end.
  package func receiveChunk() throws -> [UInt8]? {
    guard let size = Int(try takeLine(), radix: 16) else { throw Failure(description: "a chunk without a size") }
    let chunk = try take(size)
    _ = try takeLine()
    return size == 0 ? nil : chunk
  }

  /// Whether unread bytes, or the end of the connection, are available.
  package var hasMore: Bool {
    var byte: UInt8 = 0
    return !buffer.isEmpty || recv(descriptor, &byte, 1, Int32(MSG_PEEK | MSG_DONTWAIT)) >= 0
  }

  package func exchange(_ request: String) throws -> Answer {
    try send(request)
    return try receiveAnswer(toHead: request.hasPrefix("HEAD"))
  }
}
