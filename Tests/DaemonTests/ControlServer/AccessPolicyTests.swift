import Basics
import HTTPMessages
import LaunchContract
import Testing

@testable import Daemon

@Suite("Access policy")
struct AccessPolicyTests {
  private let policy = AccessPolicy(.loopback(port: 4000), token: Secret("secret"))
  private let socket = AccessPolicy(.unixSocket(owner: 1000), token: Secret("secret"))

  private func request(_ headers: Headers, uid: UInt32? = nil) -> Request {
    Request(method: "GET", target: "/", headers: headers, peer: uid.map { Peer(uid: $0, pid: 1) })
  }

  @Test(
    "accepts the daemon's loopback names with its port",
    arguments: ["127.0.0.1:4000", "localhost:4000", "LOCALHOST:4000", "[::1]:4000"])
  func host(name: String) {
    #expect(policy.refusal(of: request(["Host": name])) == nil)
  }

  @Test(
    "refuses any other host name, against DNS rebinding",
    arguments: [
      "", "evil.example", "evil.example:4000", "127.0.0.1", "127.0.0.1:4001", "localhost", "127.0.0.2:4000",
      "localhost.evil.example:4000", "127.0.0.1:4000.evil.example", "user@127.0.0.1:4000", "2130706433:4000",
    ])
  func wrongHost(name: String) {
    #expect(policy.refusal(of: request(["Host": name]))?.status == 403)
  }

  @Test("refuses a missing and a repeated Host header")
  func hosts() {
    #expect(policy.refusal(of: request([:]))?.status == 403)
    #expect(policy.refusal(of: request(["Host": "127.0.0.1:4000", "host": "evil.example"]))?.status == 403)
  }

  @Test("accepts a host name without a port if the port is 80")
  func portOfHTTP() {
    #expect(AccessPolicy(.loopback(port: 80), token: Secret("t")).refusal(of: request(["Host": "localhost"])) == nil)
  }

  @Test(
    "refuses web pages of other origins",
    arguments: [
      "https://evil.example", "null", "http://127.0.0.1:4001", "https://127.0.0.1:4000", "", "http://localhost",
    ])
  func origin(text: String) {
    #expect(policy.refusal(of: request(["Host": "localhost:4000", "Origin": text]))?.status == 403)
    #expect(socket.refusal(of: request(["Origin": text], uid: 1000))?.status == 403)
  }

  @Test("accepts web pages of its own origin", arguments: ["http://127.0.0.1:4000", "http://localhost:4000"])
  func sameOrigin(text: String) {
    #expect(policy.refusal(of: request(["Host": "localhost:4000", "Origin": text])) == nil)
  }

  @Test("refuses cross-site requests without an Origin header")
  func sites() {
    for site in ["cross-site", "same-site", "Cross-Site"] {
      #expect(policy.refusal(of: request(["Host": "localhost:4000", "Sec-Fetch-Site": site]))?.status == 403)
    }
    for site in ["none", "same-origin"] {
      #expect(policy.refusal(of: request(["Host": "localhost:4000", "Sec-Fetch-Site": site])) == nil)
    }
  }

  @Test("requires the token over TCP, and explains how to send it")
  func token() throws {
    let missing = try #require(policy.lackOfToken(in: request([:])))
    #expect(missing.status == 401)
    #expect(missing.headers["WWW-Authenticate"] == #"Bearer realm="diorama""#)
    #expect(policy.lackOfToken(in: request(["Authorization": "Bearer secret"])) == nil)
    #expect(policy.lackOfToken(in: request(["Authorization": "bearer secret"])) == nil)
  }

  @Test(
    "refuses any other token",
    arguments: [
      "Bearer secre", "Bearer secret1", "Bearer Secret", "Bearer", "Basic secret", "secret", "Bearer  secret", "",
    ])
  func wrongToken(value: String) {
    #expect(policy.lackOfToken(in: request(["Authorization": value]))?.status == 401)
    #expect(socket.lackOfToken(in: request(["Authorization": value]))?.status == 401)
  }

  @Test("refuses two tokens, even if one is valid")
  func twoTokens() {
    let two: Headers = ["Authorization": "Bearer secret", "authorization": "Bearer other"]
    #expect(policy.lackOfToken(in: request(two))?.status == 401)
  }

  @Test("on the Unix socket, accepts only its own user and root, without a token")
  func peers() {
    #expect(socket.refusal(of: request([:], uid: 1000)) == nil)
    #expect(socket.refusal(of: request([:], uid: 0)) == nil)
    #expect(socket.refusal(of: request([:], uid: 65_534))?.status == 403)
    #expect(socket.refusal(of: request([:]))?.status == 403)
    #expect(socket.lackOfToken(in: request([:], uid: 1000)) == nil)
  }

  @Test("compares tokens completely")
  func comparison() {
    let token = Array("0123456789abcdef".utf8)
    #expect(ConstantTime.areEqual(token, token))
    for index in token.indices {
      var other = token
      other[index] ^= 1
      #expect(!ConstantTime.areEqual(token, other))
    }
    #expect(!ConstantTime.areEqual(token, Array(token.dropLast())))
    #expect(ConstantTime.areEqual([], []))
  }
}
