import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import Daemon

@Suite("Group commit", .timeLimit(.minutes(2)))
struct GroupCommitTests {
  /// Commits that wait until they are let go.
  private final class Gate: Sendable {
    let batches = Guarded<[[Int]]>([])
    private let entered = DispatchSemaphore(value: 0)
    private let leave = DispatchSemaphore(value: 0)

    func commit(_ changes: [Int]) -> [StoreError?] {
      batches.withLock { $0.append(changes) }
      entered.signal()
      leave.wait()
      return changes.map { $0 < 0 ? StoreError("\($0)") : nil }
    }

    func awaitCommit() { entered.wait() }
    func open() { leave.signal() }
  }

  private func failure(_ body: () throws(StoreError) -> Void) -> String? {
    do throws(StoreError) {
      try body()
      return nil
    } catch {
      return error.description
    }
  }

  @Test("makes what came during one transaction in the next, and tells each how it went")
  func groups() async throws {
    let gate = Gate()
    let group = GroupCommit<Int> { gate.commit($0) }
    async let first = onThread { failure { () throws(StoreError) in try group.make(1) } }
    try await onThread { gate.awaitCommit() }
    async let second = onThread { failure { () throws(StoreError) in try group.make(2) } }
    async let third = onThread { failure { () throws(StoreError) in try group.make(-3) } }
    while group.waitingCount < 2 { await Task.yield() }
    gate.open()
    #expect(try await first == nil)
    try await onThread { gate.awaitCommit() }
    #expect(gate.batches.withLock { $0.map { $0.sorted() } } == [[1], [-3, 2]])
    gate.open()
    #expect(try await second == nil)
    #expect(try await third == "-3")
  }

  @Test("lets somebody look alone")
  func alone() async throws {
    let counter = Guarded(0)
    let group = GroupCommit<Int> { changes in
      counter.withLock { $0 += changes.count }
      return changes.map { _ in nil }
    }
    let hasBegun = DispatchSemaphore(value: 0)
    let mayEnd = DispatchSemaphore(value: 0)
    async let seen = onThread {
      try group.alone { () throws(StoreError) in
        let before = counter.withLock { $0 }
        hasBegun.signal()
        mayEnd.wait()
        return (before, counter.withLock { $0 })
      }
    }
    try await onThread { hasBegun.wait() }
    async let made: Void = onThread { try group.make(1) }
    while group.waitingCount < 1 { await Task.yield() }
    mayEnd.signal()
    #expect(try await seen == (0, 0))
    try await made
    #expect(counter.withLock { $0 } == 1)
  }

  @Test("makes each change of many threads once")
  func many() {
    let made = Guarded<[Int]>([])
    let group = GroupCommit<Int> { changes in
      made.withLock { $0 += changes }
      return changes.map { $0 % 7 == 0 ? StoreError("\($0)") : nil }
    }
    let wrong = Guarded(0)
    DispatchQueue.concurrentPerform(iterations: 8) { thread in
      for index in 0..<500 {
        let change = thread * 500 + index
        let expected = change % 7 == 0 ? "\(change)" : nil
        if failure({ () throws(StoreError) in try group.make(change) }) != expected { wrong.withLock { $0 += 1 } }
      }
    }
    #expect(wrong.withLock { $0 } == 0)
    #expect(made.withLock { $0.sorted() } == Array(0..<4000))
  }
}
