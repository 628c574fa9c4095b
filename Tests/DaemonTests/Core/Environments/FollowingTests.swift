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
    let test = try TestManager()
    let client = try HTTPClient(.init())
    let environment = try await test.manager.provision(.mock)
    let endpoint = try #require(environment.endpoints["api"])
    let follower = try test.manager.followJournal(environment.id)
    _ = await status(of: endpoint, client: client)
    let first = try #require(try await follower.next(after: 0, limit: 10, timeout: .seconds(60)))
    #expect(first.entries.map(\.number) == [1])
    for _ in 0..<3 { _ = await status(of: endpoint, client: client) }
    _ = try await test.manager.end(environment.id)
    let rest = try #require(try await follower.next(after: 1, limit: 2, timeout: .zero))
    #expect(rest.entries.map(\.number) == [2, 3])
    #expect(try await follower.next(after: 3, limit: 2, timeout: .zero)?.entries.map(\.number) == [4])
    #expect(try await follower.next(after: 4, limit: 2, timeout: .seconds(600)) == nil)
    await test.stop()
  }

  @Test("is told of the end while he waits for an entry, and of no end where there was only nothing new")
  func waiting() async throws {
    let test = try TestManager()
    let id = try await test.manager.provision(.mock).id
    let follower = try test.manager.followJournal(id)
    #expect(try await follower.next(after: 0, limit: 1, timeout: .zero)?.entries.isEmpty == true)
    async let last = follower.next(after: 0, limit: 1, timeout: .seconds(600))
    _ = try await test.manager.end(id)
    #expect(try await last == nil)
    await test.stop()
  }

  @Test("is one of so many, from the first to the last look")
  func places() async throws {
    let test = try TestManager { $0.limits.waits = 1 }
    let id = try await test.manager.provision(.mock).id
    try {
      let follower = try test.manager.followJournal(id)
      let error = #expect(throws: DaemonError.self) { try test.manager.followJournal(id) }
      #expect(error?.status == 429)
      #expect(test.manager.counters().waiting == 1)
      withExtendedLifetime(follower) {}
    }()
    #expect(test.manager.counters().waiting == 0)
    _ = try test.manager.followJournal(id)
    await test.stop()
  }
}
