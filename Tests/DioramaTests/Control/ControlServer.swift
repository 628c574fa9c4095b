import Basics
import Foundation
import LaunchContract
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// An HTTP server on a loopback port that stands in for the environment: one thread, one connection at a time.
final class ControlServer: Sendable {
  /// A received request.
  struct Received: Sendable, Equatable {
    var path: String
    var headers: [String: String]
    var body: Data
    /// The number of its connection, from 0.
    var connection: Int
  }

  /// The bytes of a response, and whether to close the connection after them.
  struct Answer: Sendable {
    var bytes: String
    var closes = false

    static func json(_ status: Int, _ body: String, type: String = "application/json") -> Answer {
      Answer(
        bytes: "HTTP/1.1 \(status) X\r\nContent-Type: \(type)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
    }

    static let noContent = Answer(bytes: "HTTP/1.1 204 No Content\r\n\r\n")
  }

  let port: UInt16
  private let listener: Int32
  private let received = Collected<Received>()

  /// All requests so far.
  var requests: [Received] { received.values }

  /// The uses of strings reported so far.
  func uses() throws -> [StringUse] {
    try requests.filter { $0.path.hasSuffix("/strings") }.map {
      try JSONDecoder().decode(StringUse.self, from: $0.body)
    }
  }

  var control: LaunchContract.Control {
    .init(url: "http://127.0.0.1:\(port)/__diorama", token: "t0ken")
  }

  /// Starts listening. If `answer` returns nil, the server closes the connection without a response.
  init(_ answer: @escaping @Sendable (Received) -> Answer?) throws {
    #if canImport(Darwin)
      listener = socket(AF_INET, SOCK_STREAM, 0)
    #else
      listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #endif
    var name = sockaddr_in()
    name.sin_family = sa_family_t(AF_INET)
    name.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let listener = listener
    let isBound = withUnsafeMutablePointer(to: &name) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(listener, $0, size) == 0 && getsockname(listener, $0, &size) == 0
      }
    }
    try #require(isBound && listen(listener, 64) == 0)
    port = UInt16(bigEndian: name.sin_port)
    Thread.detachNewThread { [self] in
      var connections = 0
      while true {
        let descriptor = accept(listener, nil, nil)
        guard descriptor >= 0 else {
          close(listener)
          return
        }
        serve(descriptor, connections, answer)
        close(descriptor)
        connections += 1
      }
    }
  }

  /// Stops accepting connections.
  ///
  /// The thread closes the descriptor, because its number must not be reused while `accept` waits on it.
  func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
  }

  /// Returns the reported values, as the environment does while recording.
  static let recording: @Sendable (Received) -> Answer? = { request in
    guard request.path.hasSuffix("/strings") else { return .noContent }
    guard let use = try? JSONDecoder().decode(StringUse.self, from: request.body),
      let answer = try? JSON.encode(StringUseAnswer(value: use.value, ordinal: use.ordinal))
    else { return .json(400, #"{"detail":"not a use of a string"}"#, type: "application/problem+json") }
    return .json(200, String(decoding: answer, as: UTF8.self))
  }

  private func serve(_ descriptor: Int32, _ connection: Int, _ answer: (Received) -> Answer?) {
    var buffer: [UInt8] = []
    while let request = next(descriptor, &buffer, connection) {
      received.add(request)
      guard let answer = answer(request) else { return }
      let bytes = Array(answer.bytes.utf8)
      guard write(descriptor, bytes, bytes.count) == bytes.count, !answer.closes else { return }
    }
  }

  private func next(_ descriptor: Int32, _ buffer: inout [UInt8], _ connection: Int) -> Received? {
    while true {
      if let head = buffer.firstRange(of: Array("\r\n\r\n".utf8)) {
        let lines = String(decoding: buffer[..<head.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let pairs = lines.dropFirst().map { $0.components(separatedBy: ": ") }
        let headers = Dictionary(pairs.map { ($0[0].lowercased(), $0[1]) }) { first, _ in first }
        let end = head.upperBound + (headers["content-length"].flatMap { Int($0) } ?? 0)
        if buffer.count >= end {
          let body = Data(buffer[head.upperBound..<end])
          buffer = Array(buffer[end...])
          return Received(
            path: lines[0].components(separatedBy: " ")[1], headers: headers, body: body, connection: connection)
        }
      }
      var chunk = [UInt8](repeating: 0, count: 65_536)
      let count = read(descriptor, &chunk, chunk.count)
      guard count > 0 else { return nil }
      buffer += chunk.prefix(count)
    }
  }
}

/// Runs a test with a server, and stops it afterwards.
func withControlServer<Result>(
  _ answer: @escaping @Sendable (ControlServer.Received) -> ControlServer.Answer? = ControlServer.recording,
  _ body: (ControlServer) throws -> Result
) throws -> Result {
  let server = try ControlServer(answer)
  defer { server.stop() }
  return try body(server)
}
