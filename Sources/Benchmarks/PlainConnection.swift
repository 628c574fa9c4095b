import Basics
import Foundation

/// A persistent loopback connection for sequential requests, with little overhead on the client's side.
final class PlainConnection {
  private let descriptor: Int32
  private var buffer = [UInt8](repeating: 0, count: 65_536)
  private var rest: [UInt8] = []

  init(port: UInt16) throws {
    descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    var noDelay: Int32 = 1
    setsockopt(descriptor, Int32(IPPROTO_TCP), TCP_NODELAY, &noDelay, socklen_t(MemoryLayout<Int32>.size))
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else {
      let reason = String(cString: strerror(errno))
      close(descriptor)
      throw CodedError(.inputOutput, "cannot connect to port \(port): \(reason)")
    }
  }

  deinit { close(descriptor) }

  /// Sends a request and reads the complete response.
  ///
  /// - Parameters:
  ///   - head: the request line and header fields, without Content-Length and the empty line.
  ///   - body: the body.
  /// - Returns: the status and the body.
  /// - Throws: ``CodedError`` if the connection is closed.
  func exchange(_ head: String, body: [UInt8] = []) throws -> (status: Int, body: [UInt8]) {
    let request = Array("\(head)\r\nHost: 127.0.0.1:\(port)\r\nContent-Length: \(body.count)\r\n\r\n".utf8) + body
    var sent = 0
    while sent < request.count {
      let count = request[sent...].withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { throw CodedError(.inputOutput, "cannot send: \(String(cString: strerror(errno)))") }
      sent += count
    }
    return try receive()
  }

  /// Requests a path and reads the body of the response, which ends with the connection.
  func readToEnd(_ path: String) throws -> [UInt8] {
    let request = Array("GET \(path) HTTP/1.0\r\nHost: 127.0.0.1:\(port)\r\n\r\n".utf8)
    guard send(descriptor, request, request.count, Int32(MSG_NOSIGNAL)) == request.count else {
      throw CodedError(.inputOutput, "cannot send: \(String(cString: strerror(errno)))")
    }
    var bytes: [UInt8] = []
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count >= 0 else {
        throw CodedError(.inputOutput, "the connection was cut: \(String(cString: strerror(errno)))")
      }
      guard count > 0 else { break }
      bytes += buffer[..<count]
    }
    guard let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) else {
      throw CodedError(.inputOutput, "the response is not HTTP")
    }
    return Array(bytes[end.upperBound...])
  }

  private var port: UInt16 {
    var address = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
      _ = pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { getpeername(descriptor, $0, &length) }
    }
    return UInt16(bigEndian: address.sin_port)
  }

  private func receive() throws -> (status: Int, body: [UInt8]) {
    var bytes = rest
    while true {
      if let end = bytes.firstRange(of: Array("\r\n\r\n".utf8)) {
        let head = String(decoding: bytes[..<end.lowerBound], as: UTF8.self)
        let lines = head.components(separatedBy: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
          throw CodedError(.inputOutput, "the response is not HTTP: \(head)")
        }
        let field = lines.first { $0.lowercased().hasPrefix("content-length:") }
        let length = field.flatMap { Int($0.dropFirst("content-length:".count).trimmingCharacters(in: .whitespaces)) }
        let total = end.upperBound + (length ?? 0)
        while bytes.count < total { try more(&bytes) }
        rest = Array(bytes[total...])
        return (status, Array(bytes[end.upperBound..<total]))
      }
      try more(&bytes)
    }
  }

  private func more(_ bytes: inout [UInt8]) throws {
    let count = recv(descriptor, &buffer, buffer.count, 0)
    guard count > 0 else { throw CodedError(.inputOutput, "the connection closed before the end of the response") }
    bytes += buffer[..<count]
  }
}
