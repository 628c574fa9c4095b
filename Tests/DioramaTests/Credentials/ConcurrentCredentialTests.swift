import Diorama
import DioramaTesting
import Foundation
import Testing

@Suite("Credentials used by many threads at a time")
struct ConcurrentCredentialTests {
  /// A thousand calls each; `DIORAMA_ROUNDS=1000` makes a million.
  private static let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 20

  @Test("mixed calls by 16 threads get the answers, and end in the state, that a model predicts")
  func mixed() {
    let run = ConcurrentRun(threads: 16, operations: Self.rounds * 1_000, sharedAccounts: 48)
    #expect(run.violations(of: InMemoryCredentialStore(), service: "clinic") == [])
  }
}
