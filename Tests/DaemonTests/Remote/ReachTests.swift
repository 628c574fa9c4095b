import Testing

@testable import Daemon
@testable import DaemonClient

@Suite("Settings for other machines")
struct ReachTests {
  @Test("listen on an IPv4 address and a port", arguments: ["127.0.0.2:4011", "0.0.0.0:0", "192.0.2.1:65535"])
  func valid(text: String) throws { #expect(try ListenAddress(text).description == text) }

  @Test(
    "refuse other addresses",
    arguments: [
      "", "4011", ":4011", "127.0.0.2", "127.0.0.2:x", "127.0.0.2:65536", "ci.example.com:1", "[::1]:1", "1:2",
    ])
  func wrong(text: String) { #expect(throws: (any Error).self) { try ListenAddress(text) } }

  private func check(_ listen: String?, _ change: (inout DaemonConfiguration) -> Void = { _ in }) throws {
    var configuration = DaemonConfiguration()
    configuration.listen = try listen.map { try ListenAddress($0) }
    change(&configuration)
    try configuration.checkReach()
  }

  @Test("must not contradict each other")
  func contradictions() throws {
    try check(nil)
    try check("192.0.2.1:1")
    try check("0.0.0.0:1") { $0.advertise = "ci.example.com" }
    #expect(throws: (any Error).self) { try check("0.0.0.0:1") }
    #expect(throws: (any Error).self) { try check(nil) { $0.advertise = "a" } }
    #expect(throws: (any Error).self) { try check(nil) { $0.tlsKey = "/a" } }
    #expect(throws: (any Error).self) { try check("192.0.2.1:1") { $0.tlsKey = "/a" } }
    #expect(throws: (any Error).self) { try check("192.0.2.1:1") { $0.advertise = "a:1" } }
    #expect(throws: (any Error).self) { try check("192.0.2.1:1") { $0.advertise = "" } }
  }

  private func daemon(_ variables: [String: String]) throws -> RemoteDaemon? {
    try RemoteDaemon(variables: variables.mapValues { $0 })
  }

  @Test("of clients are a URL, a token, and how to check the certificate")
  func client() throws {
    #expect(try daemon([:]) == nil)
    #expect(try daemon(["DIORAMA_DAEMON": "1"]) == nil)
    let own = ["DIORAMA_DAEMON": "https://a.example:4011/", "DIORAMA_DAEMON_TOKEN": "t"]
    #expect(try daemon(own)?.trust == .system)
    #expect(try daemon(own.merging(["DIORAMA_DAEMON_CA": "/a"]) { $1 })?.trust == .authorities(path: "/a"))
    let digits = String(repeating: "0a", count: 32)
    let pinned = own.merging(["DIORAMA_DAEMON_FINGERPRINT": "sha256:" + digits]) { $1 }
    #expect(try daemon(pinned)?.trust == .publicKey([UInt8](repeating: 10, count: 32)))
    for wrong in [
      ["DIORAMA_DAEMON": "http://a.example:4011"], ["DIORAMA_DAEMON": "https://a.example/x"],
      ["DIORAMA_DAEMON_TOKEN": ""],
      ["DIORAMA_DAEMON_TOKEN": "a\r\nb"], ["DIORAMA_DAEMON_FINGERPRINT": "sha256:00"],
      ["DIORAMA_DAEMON_FINGERPRINT": "md5:" + digits],
      ["DIORAMA_DAEMON_FINGERPRINT": "sha256:" + digits, "DIORAMA_DAEMON_CA": "/a"],
    ] {
      #expect(throws: DaemonClientError.self) { try daemon(own.merging(wrong) { $1 }) }
    }
  }
}
