import CredentialConcurrency
import Diorama
import Foundation
import Testing

@Suite("Concurrent use of credential stores")
struct ConcurrentCredentialTests {
  /// Thousands of calls. `DIORAMA_ROUNDS=1000` makes a million calls.
  private static let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 20

  @Test("mixed calls by 16 threads are linearizable")
  func mixed() {
    let run = ConcurrentRun(threads: 16, operations: Self.rounds * 1_000, sharedAccounts: 48)
    #expect(run.violations(of: InMemoryCredentialStore(), service: "clinic") == [])
  }
}
