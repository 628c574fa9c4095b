import Basics
import ChildProcesses
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Isolation

@Suite("Ports of isolated commands", .needsNamespaces, .timeLimit(.minutes(5)))
struct PortForwarderTests {
  @Test("a published port is reached from outside, with half-closed connections")
  func publish() async throws {
    try await onThread {
      let served = try Served()
      let outcome = try Python.run(Python.client, "127.0.0.1", served.port, "c", "100000")
      #expect(outcome.text == "6 100000\n", "\(outcome.words)")
    }
  }

  @Test("a server that listens on ::1 is reached, too, and so is a published IPv6 address")
  func publishSix() async throws {
    try await onThread {
      let served = try Served(at: "::1", outside: "::1")
      #expect(try Python.run(Python.client, "::1", served.port, "c", "3").text == "1 3\n")
    }
  }

  @Test("large transfers pass in both directions unchanged")
  func large() async throws {
    try await onThread {
      let served = try Served()
      let size = 48 << 20
      let digest = try Python.run(
        "import hashlib; print(hashlib.sha256(bytes(range(256)) * (\(size) // 256)).hexdigest())")
      let outcome = try Python.run(Python.client, "127.0.0.1", served.port, "e", String(size))
      #expect(outcome.text == "\(size) \(digest.text)", "\(outcome.words)")
    }
  }

  @Test("a reader that does not read stops the sender")
  func backPressure() async throws {
    try await onThread {
      let served = try Served()
      let client = try RawClient(port: served.number)
      try client.send("s")
      let stalled = served.isolated.line().split(separator: " ")
      #expect(stalled.first == "stalled")
      // Only the system's buffers are filled.
      #expect(try #require(stalled.last.flatMap { Int($0) }) < 64 << 20)
      var count = 0
      while case let bytes = try client.receive(), !bytes.isEmpty { count += bytes.count }
      #expect(count == 128 << 20)
      #expect(served.isolated.line() == "sent True")
    }
  }

  @Test("hundreds of connections pass at once")
  func many() async throws {
    OpenFiles.raiseLimit()
    try await onThread {
      let served = try Served()
      let outcome = try Python.run(
        """
        import socket, sys
        all = [socket.create_connection(("127.0.0.1", int(sys.argv[1])), 120) for _ in range(300)]
        for number, each in enumerate(all): each.sendall(b"e%d" % number)
        for each in all: each.shutdown(socket.SHUT_WR)
        print([b"".join(iter(lambda: each.recv(99), b"")) for each in all] == [b"%d" % number for number in range(300)])
        """, served.port)
      #expect(outcome.text == "True\n", "\(outcome.words)")
    }
  }

  @Test("a connection is reset if no program listens inside, or the server resets it")
  func reset() async throws {
    try await onThread {
      let served = try Served()
      #expect(try Python.run(Python.client, "127.0.0.1", served.port, "r", "0").text == "ConnectionResetError\n")
      let silent = try Served(command: ["sleep", "1000"])
      #expect(try Python.run(Python.client, "127.0.0.1", silent.port, "c", "0").text == "ConnectionResetError\n")
    }
  }

  @Test("a published port that is in use is an error that names it")
  func taken() async throws {
    try await onThread {
      let served = try Served()
      let error = try #require(throws: CodedError.self) {
        try PortForwarder(publishing: [PublishedPort(port: served.number)], admitting: [])
      }
      #expect(error.kind == .inputOutput)
      #expect(error.message.contains("port 127.0.0.1:\(served.port): Address already in use; stop"), "\(error)")
      let foreign = try #require(throws: CodedError.self) {
        try PortForwarder(publishing: [PublishedPort(port: 8080, host: "192.0.2.1")], admitting: [])
      }
      #expect(foreign.message.contains("address of this machine"), "\(foreign)")
    }
  }

  @Test("a port of the host is reached inside at 127.0.0.1 and ::1; others are refused")
  func admit() async throws {
    try await onThread {
      let words = Python.words + [Python.server, "127.0.0.1", "0"]
      let server = try Child(words.map { Array($0.utf8) }, environment: [:])
      let port = try server.line()
      let other = port == "65000" ? "65001" : "65000"
      let script = """
        client=$1; shift
        "$@" "$client" 127.0.0.1 \(port) c 10; "$@" "$client" ::1 \(port) c 20; "$@" "$client" 127.0.0.1 \(other) c 0
        """
      let isolated = try Isolated((["sh", "-c", script, "sh", Python.client] + Python.words).map { Array($0.utf8) })
      let forwarder = try PortForwarder(publishing: [], admitting: [try #require(UInt16(port))])
      try forwarder.start(isolated.command)
      let (status, output, _) = try isolated.finish()
      #expect(status == 0)
      #expect(String(decoding: output, as: UTF8.self) == "2 10\n2 20\nConnectionRefusedError\n")
      forwarder.stop()
      server.send(SIGKILL)
    }
  }

  @Test("all connections and ports are closed at the end")
  func end() async throws {
    try await onThread {
      let served = try Served()
      let client = try RawClient(port: served.number)
      try client.send("eabc")
      #expect(try client.receive() == Array("abc".utf8))
      served.forwarder.stop()
      #expect(throws: RawClient.Failure.self) { try client.receive() }
      // The port is free again.
      let again = soon { try? PortForwarder(publishing: [PublishedPort(port: served.number)], admitting: []) }
      #expect(again != nil)
    }
  }
}

/// A server inside whose port is published.
private final class Served: Sendable {
  let isolated: Isolated
  let forwarder: PortForwarder
  let number: UInt16

  var port: String { String(number) }

  init(at host: String = "127.0.0.1", outside: String = "127.0.0.1", command: [String]? = nil) throws {
    // Another program can take the port in between.
    let (number, forwarder) = try #require(
      soon {
        let number = Self.freePort()
        let forwarder = try? PortForwarder(publishing: [PublishedPort(port: number, host: outside)], admitting: [])
        return forwarder.map { (number, $0) }
      })
    self.number = number
    self.forwarder = forwarder
    let words = command ?? Python.words + [Python.server, host, String(number)]
    isolated = try Isolated(words.map { Array($0.utf8) })
    try forwarder.start(isolated.command)
    try isolated.command.start()
    if command == nil { #expect(isolated.line() == String(number)) }
  }

  deinit { forwarder.stop() }

  private static func freePort() -> UInt16 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    defer { close(descriptor) }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        _ = bind(descriptor, $0, size)
        getsockname(descriptor, $0, &size)
      }
    }
    return UInt16(bigEndian: address.sin_port)
  }
}
