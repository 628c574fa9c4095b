import Basics
import ControlAPI
import EnvironmentConfiguration
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

@Suite("Access from other machines")
struct RemoteAccessTests {
  private let folder: ScratchFolder
  private let book: TokenBook
  private let token: String
  private let access: RemoteAccess
  private let log = Guarded<[String]>([])

  init() throws {
    folder = try ScratchFolder()
    book = try TokenBook(folder: folder.path)
    token = try book.create("ci").revealed
    let log = log
    access = RemoteAccess(
      book, log: Log(level: .debug) { line in log.withLock { $0.append(String(decoding: line, as: UTF8.self)) } })
  }

  private func status(_ token: String?, from peer: String = "192.0.2.1") -> Int {
    do { return try access.client(bearing: token, from: peer).name == "ci" ? 200 : 0 } catch { return error.status }
  }

  @Test("requires a token of its own for every call")
  func tokens() {
    let policy = AccessPolicy(.remote(access, peer: "192.0.2.1"), token: Secret("local"))
    func request(_ headers: Headers) -> Request { Request(method: "GET", target: "/v1/health", headers: headers) }
    #expect(throws: DaemonError.self) { try policy.client(of: request([:])) }
    // The token of control.json is for this machine.
    #expect(throws: DaemonError.self) { try policy.client(of: request(["Authorization": "Bearer local"])) }
    #expect((try? policy.client(of: request(["Authorization": "Bearer \(token)"])))?.name == "ci")
    #expect(policy.refusal(of: request(["Origin": "https://evil.example"]))?.status == 403)
  }

  @Test("ends what a call has made if its token was revoked meanwhile")
  func revoked() async throws {
    let operations = FakeOperations()
    operations.state.withLock { [book] in $0.whileLeasing = { _ = try? book.revoke("ci") } }
    let client = try access.client(bearing: token, from: "192.0.2.1")
    let handler = ControlHandler(
      server: ControlServer(operations, token: Secret("local"), version: "1", bodyLimit: 1 << 20, tokens: book),
      policy: AccessPolicy(.remote(access, peer: "192.0.2.1"), token: Secret("local")))
    let response = try await handler.respond(
      to: Request(
        method: "POST", target: "/v1/leases",
        headers: ["Authorization": "Bearer \(token)", "Content-Type": "application/json"],
        body: .bytes(Array(#"{"resources":{"patient":{"pool":"patients"}}}"#.utf8))))
    #expect(response.status == 401)
    #expect(operations.state.withLock { $0.ended } == [client.id])
  }

  @Test("limits wrong tokens by address, but never a valid one")
  func limited() {
    for _ in 0..<FailureCounts.most { #expect(status("wrong") == 401) }
    #expect(status("wrong") == 429)
    #expect(status(nil) == 429)
    #expect(status("wrong", from: "192.0.2.2") == 401)
    #expect(status(token) == 200)
  }

  @Test("logs the address, and never the token")
  func logged() {
    for _ in 0..<20 { _ = status("a-wrong-token") }
    let lines = log.withLock { $0 }
    #expect(lines.count == FailureCounts.most + 1)
    #expect(lines.allSatisfy { $0.contains("192.0.2.1") && !$0.contains("a-wrong-token") })
  }

  @Test("starts to count again after a minute")
  func window() {
    var counts = FailureCounts()
    let now = ContinuousClock.now
    for count in 1...12 { #expect(counts.add("a", at: now) == count) }
    #expect(counts.add("a", at: now + .seconds(59)) == 13)
    #expect(counts.add("a", at: now + .seconds(60)) == 1)
  }

  private func refusal(_ hasRoots: Bool, _ change: (inout ProvisioningRequest) -> Void) -> String? {
    var request = ProvisioningRequest()
    change(&request)
    do {
      try RemoteRequests.check(request, hasRoots: hasRoots)
      return nil
    } catch {
      return error.status == 422 ? error.detail : "\(error.status)"
    }
  }

  @Test("refuses owners and files of the daemon's machine")
  func requests() {
    #expect(refusal(false) { $0.ttlSeconds = 60 } == nil)
    #expect(refusal(true) { $0.owner = Owner(pid: 1) }?.contains("ttlSeconds") == true)
    #expect(refusal(false) { $0.configuration.cassette = "/a" }?.contains("cassetteRoots") == true)
    #expect(refusal(true) { $0.configuration.cassette = "/a" } == nil)
    #expect(refusal(false) { $0.configuration.stubs = "/a" }?.contains("stubs") == true)
    #expect(refusal(false) { $0.configuration.proto = ["/a"] }?.contains("proto") == true)
    for path in [\UpstreamAccess.ca, \.clientCertificate, \.clientKey] {
      let detail = refusal(true) {
        var upstream = EnvironmentConfiguration.Upstream(url: "https://a.example")
        upstream.access[keyPath: path] = "/etc/key.pem"
        $0.configuration.upstreams["api"] = upstream
      }
      #expect(detail?.contains("upstreams.api") == true)
    }
  }
}
