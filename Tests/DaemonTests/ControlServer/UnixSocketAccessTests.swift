import Basics
import HTTPServer
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Unix socket access", .timeLimit(.minutes(5)))
struct UnixSocketAccessTests {
  private static func get(_ target: String, _ headers: [String] = []) -> String {
    (["GET \(target) HTTP/1.1", "Host: localhost"] + headers).joined(separator: "\r\n") + "\r\n\r\n"
  }

  /// Returns the answer to one request at a socket owned by the given user.
  private func ask(_ request: String, owner: UInt32) async throws -> RawClient.Answer {
    let folder = "/tmp/diorama-\(getpid())-\(UInt32.random(in: 0...UInt32.max))"
    try #require(mkdir(folder, 0o700) == 0)
    defer { rmdir(folder) }
    let server = try HTTPServer()
    let control = ControlServer(FakeOperations(), token: Secret(RunningControlServer.token), version: "1")
    try server.listen(onUnixSocket: folder + "/socket", handler: control.handler(.unixSocket(owner: owner)))
    let answer = try await onThread { try RawClient(path: folder + "/socket").exchange(request) }
    await server.stop(grace: .seconds(2))
    return answer
  }

  @Test("is granted to the owner without a token")
  func own() async throws {
    let answer = try await ask(Self.get("/v1/environments"), owner: geteuid())
    #expect(answer.status == 200 && answer.json["environments"] != nil)
  }

  @Test("is refused with a wrong token")
  func wrongToken() async throws {
    let answer = try await ask(Self.get("/v1/environments", ["Authorization: Bearer wrong"]), owner: geteuid())
    #expect(answer.status == 401)
  }

  @Test(
    "is refused to another user, even for operations without a token",
    .enabled(if: geteuid() != 0, "root has access everywhere; strangers.py tests another user as root"))
  func other() async throws {
    #expect(try await ask(Self.get("/v1/health"), owner: geteuid() + 1).status == 403)
  }

  @Test("is granted to root", .enabled(if: geteuid() == 0, "requires root"))
  func root() async throws {
    #expect(try await ask(Self.get("/v1/environments"), owner: 65_534).status == 200)
  }
}
