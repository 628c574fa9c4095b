import Foundation
import TestSupport
import Testing

@testable import PortLeases

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A client of the protocol like portpicker's, one connection per port, but byte by byte.
final class PortserverClient: Sendable {
  let descriptor: Int32

  init(_ address: String) throws {
    descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let bytes = Array(address.utf8)
    var unix = sockaddr_un()
    unix.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &unix.sun_path) { $0.copyBytes(from: bytes) }
    if bytes.first == UInt8(ascii: "@") { unix.sun_path.0 = 0 }
    let result = withUnsafePointer(to: &unix) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, socklen_t(2 + bytes.count)) }
    }
    guard result == 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
  }

  deinit { close(descriptor) }

  func send(_ text: String) {
    _ = Glibc.send(descriptor, text, text.utf8.count, Int32(MSG_NOSIGNAL))
  }

  /// All bytes until the end; nil if the connection is reset.
  func answer() -> String? {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 100)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count >= 0 else { return nil }
      if count == 0 { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
    }
  }

  static func ask(_ text: String, at address: String) throws -> String? {
    let client = try PortserverClient(address)
    client.send(text)
    return client.answer()
  }
}

@Suite("Portserver clients")
struct PortserverTests {
  private let address = "@diorama-test-\(UUID().uuidString)"

  @Test("get a port of the pool, owned by the process they name")
  func leased() async throws {
    let address = address
    try await onThread {
      let pool = try PortPool.own(10)
      let server = try PortserverServer(address: address, pool: pool)
      let child = try sleeper()
      let answer = try #require(try PortserverClient.ask("\(child.pid)\n", at: address))
      let port = try #require(UInt16(answer.dropLast()))
      #expect(answer == "\(port)\n")
      #expect(pool.leases.map(\.port) == [port])
      #expect(pool.leases[0].owner == (try child.owner))
      // It may bind without SO_REUSEADDR: ports below the ephemeral range are not held.
      #expect(!pool.leases[0].holds)
      #expect(TestSocket.isFree(port))
      #expect(server.statistics.contains("1 ports leased, 0 clients denied"))
      child.end()
    }
  }

  @Test("get a held port if the pool overlaps the ephemeral ports")
  func held() async throws {
    let address = address
    try await onThread {
      // More than other programs use at any time.
      let pool = PortPool(range: EphemeralPorts.range)
      let server = try PortserverServer(address: address, pool: pool)
      let answer = try #require(try PortserverClient.ask("\(getpid())\n", at: address))
      let port = try #require(UInt16(answer.dropLast()))
      #expect(TestSocket(reuse: false).bind(port) == EADDRINUSE)
      #expect(TestSocket(reuse: true).bindSoon(port))
      withExtendedLifetime(server) {}
    }
  }

  @Test(
    "are disconnected without a byte if they name no process that can own a port, or send garbage",
    arguments: [
      "0\n", "1\n", "-5\n", "2147483647\n", "99999999999\n", "abc\n", "\n", "12 34\n",
      String(repeating: " ", count: 20) + "\n", String(repeating: "7", count: 100),
    ])
  func refused(request: String) async throws {
    let address = address
    try await onThread {
      let pool = try PortPool.own(10)
      let server = try PortserverServer(address: address, pool: pool)
      #expect(try PortserverClient.ask(request, at: address) == "")
      #expect(pool.leases.isEmpty)
      withExtendedLifetime(server) {}
    }
  }

  @Test("are disconnected without a byte if their process has ended or no port is left")
  func denied() async throws {
    let address = address
    try await onThread {
      let pool = try PortPool.own(1)
      let port = pool.range.lowerBound
      let server = try PortserverServer(address: address, pool: pool)
      let child = try sleeper()
      #expect(try PortserverClient.ask("\(child.pid)\n", at: address) == "\(port)\n")
      #expect(try PortserverClient.ask("\(getpid())\n", at: address) == "")
      child.end()
      #expect(try PortserverClient.ask("\(child.pid)\n", at: address) == "")
      #expect(try PortserverClient.ask("\(getpid())\n", at: address) == "\(port)\n")
      #expect(server.statistics.contains("2 ports leased, 2 clients denied"))
    }
  }

  @Test("may send the request in pieces, with blanks, or close their sending side instead of sending the newline")
  func pieces() async throws {
    let address = address
    try await onThread {
      let pool = try PortPool.own(10)
      let server = try PortserverServer(address: address, pool: pool)
      let digits = Array("\(getpid())")
      let client = try PortserverClient(address)
      client.send(String(digits[..<1]))
      client.send(String(digits[1...]))
      client.send("\r\n")
      #expect(try #require(client.answer()).hasSuffix("\n"))
      let other = try PortserverClient(address)
      other.send(" \(getpid())")
      shutdown(other.descriptor, Int32(SHUT_WR))
      #expect(try #require(other.answer()).hasSuffix("\n"))
      #expect(pool.leases.count == 2)
      withExtendedLifetime(server) {}
    }
  }

  @Test("are dropped if their request is missing or incomplete for too long")
  func slow() async throws {
    let address = address
    try await onThread {
      let server = try PortserverServer(
        address: address, pool: try PortPool.own(10), patience: .milliseconds(100))
      let silent = try PortserverClient(address)
      #expect(silent.answer() == "")
      #expect(try PortserverClient.ask("12", at: address) == "")
      #expect(server.statistics.contains("2 without a valid request"))
    }
  }

  @Test("are served while hundreds of others send nothing")
  func crowd() async throws {
    let address = address
    try await onThread {
      let server = try PortserverServer(address: address, pool: try PortPool.own(10))
      let silent = try (0..<300).map { _ in try PortserverClient(address) }
      #expect(try #require(try PortserverClient.ask("\(getpid())\n", at: address)).hasSuffix("\n"))
      withExtendedLifetime((silent, server)) {}
    }
  }
}
