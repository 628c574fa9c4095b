import ControlAPI
import EnvironmentService
import Foundation
import HTTPClient
import LaunchContract
import Testing

@testable import Daemon

@Suite("Who follows a journal", .timeLimit(.minutes(2)))
struct FollowingTests {
  @Test("gets every entry although the environment has ended meanwhile, and then its end")
  func end() async throws {
    let test = try TestHost()
    let client = try HTTPClient(.init())
    let environment = try await test.host.provision(.mock)
    let endpoint = try #require(environment.endpoints["api"])
    let follower = try test.host.followJournal(environment.id)
    _ = await status(of: endpoint, client: client)
    let first = try #require(try await follower.next(after: 0, limit: 10, timeout: .seconds(60)))
    #expect(first.entries.map(\.number) == [1])
    for _ in 0..<3 { _ = await status(of: endpoint, client: client) }
    _ = try await test.host.end(environment.id)
    let rest = try #require(try await follower.next(after: 1, limit: 2, timeout: .zero))
    #expect(rest.entries.map(\.number) == [2, 3])
    #expect(try await follower.next(after: 3, limit: 2, timeout: .zero)?.entries.map(\.number) == [4])
    #expect(try await follower.next(after: 4, limit: 2, timeout: .seconds(600)) == nil)
    await test.stop()
  }

  @Test("is told of the end while he waits for an entry, and of no end where there was only nothing new")
  func waiting() async throws {
    let test = try TestHost()
    let id = try await test.host.provision(.mock).id
    let follower = try test.host.followJournal(id)
    #expect(try await follower.next(after: 0, limit: 1, timeout: .zero)?.entries.isEmpty == true)
    async let last = follower.next(after: 0, limit: 1, timeout: .seconds(600))
    _ = try await test.host.end(id)
    #expect(try await last == nil)
    await test.stop()
  }

  @Test("is one of so many, from the first to the last look")
  func places() async throws {
    let test = try TestHost { $0.limits.waits = 1 }
    let id = try await test.host.provision(.mock).id
    try {
      let follower = try test.host.followJournal(id)
      let error = #expect(throws: DaemonError.self) { try test.host.followJournal(id) }
      #expect(error?.status == 429)
      #expect(test.host.counters().waiting == 1)
      withExtendedLifetime(follower) {}
    }()
    #expect(test.host.counters().waiting == 0)
    _ = try test.host.followJournal(id)
    await test.stop()
  }
}
