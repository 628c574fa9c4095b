import Foundation
import PortLeases
import TestSupport
import Testing

@testable import Daemon

@Suite("Until when an environment lives")
struct LifetimeTests {
  private static let now = Date(timeIntervalSince1970: 1_000_000)

  @Test("is an hour where nobody gave an owner or a time")
  func standard() throws {
    let lifetime = try Lifetime(owner: nil, seconds: nil, now: Self.now)
    #expect(lifetime.endsAt == Self.now.addingTimeInterval(3600))
    #expect(lifetime.owner == nil)
  }

  @Test("is the owner's end alone where only an owner is given, and whichever comes first with both")
  func owner() throws {
    let pid = getpid()
    let lifetime = try Lifetime(owner: pid, seconds: nil, now: Self.now)
    #expect(lifetime.endsAt == nil)
    #expect(lifetime.cause(at: .distantFuture) { !$0.isAlive } == nil)
    #expect(lifetime.cause(at: Self.now) { _ in true } == .owner)
    let both = try Lifetime(owner: pid, seconds: 10, now: Self.now)
    #expect(both.cause(at: Self.now.addingTimeInterval(10)) { _ in false } == .time)
  }

  @Test("may be the end of process 1, which in a container is the program itself")
  func first() throws {
    #expect(try Lifetime(owner: 1, seconds: nil, now: Self.now).owner?.pid == 1)
  }

  @Test("is refused for an owner that is gone and for a time that is none", arguments: [0, -1, .nan, .infinity, 1e300])
  func refused(seconds: Double) {
    #expect(throws: DaemonError.self) { try Lifetime(owner: nil, seconds: seconds, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: -5, seconds: nil, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: 0, seconds: nil, now: Self.now) }
    #expect(throws: DaemonError.self) { try Lifetime(owner: .max, seconds: nil, now: Self.now) }
  }
}
