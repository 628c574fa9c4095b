import Basics
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import PortLeases

@Suite("Users of portserver clients")
struct PortserverPeerTests {
  /// Requests a port for its own process; prints its user and the response.
  private static let client = #"""
    import os, socket, sys
    address, user = sys.argv[1], int(sys.argv[2])
    if user != os.getuid():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    client = socket.socket(socket.AF_UNIX)
    client.connect("\0" + address[1:])
    try:
        client.sendall(b"%d\n" % os.getpid())
        said = client.recv(100)
    except (BrokenPipeError, ConnectionResetError):
        said = b""  # the end was there before the request
    print(os.getuid(), said)
    """#

  private static func ask(_ address: String, as user: uid_t) async throws -> String {
    try await onThread {
      let words = ["/usr/bin/env", "python3", "-c", client, address, "\(user)"]
      let outcome = try Child(words.map { Array($0.utf8) }, environment: ProcessInfo.processInfo.environment).finish()
      return outcome.text + outcome.words
    }
  }

  @Test(
    "other than the server's are refused without a byte, which is counted and logged",
    .enabled(if: geteuid() == 0, "only root can start a process of another user; the decision alone is tested below"))
  func other() async throws {
    let address = "@diorama-test-\(UUID().uuidString)"
    let events = Guarded<[String]>([])
    let pool = try PortPool.own(10)
    let server = try PortserverServer(address: address, pool: pool) { event in
      events.withLock { $0.append("\(event)") }
    }
    #expect(try await Self.ask(address, as: 65_534) == "65534 b''\n")
    #expect(pool.leases.isEmpty)
    #expect(events.withLock { $0 } == ["the portserver refused a client: it belongs to another user"])
    #expect(server.statistics.contains("0 ports leased, 0 clients denied, 0 without a valid request, 1 of other"))
    // The same program gets a port as the server's own user.
    let answer = try await Self.ask(address, as: 0)
    #expect(pool.leases.map { "0 b'\($0.port)\\n'\n" } == [answer])
    await server.stop()
  }

  @Test("must be the server's own or root; an unknown user is refused")
  func welcome() {
    #expect(PortLeases.Peer.isWelcome(1000, own: 1000))
    #expect(PortLeases.Peer.isWelcome(0, own: 1000))
    #expect(!PortLeases.Peer.isWelcome(65_534, own: 1000))
    #expect(!PortLeases.Peer.isWelcome(65_534, own: 0))
    #expect(!PortLeases.Peer.isWelcome(nil, own: 0))
  }
}
