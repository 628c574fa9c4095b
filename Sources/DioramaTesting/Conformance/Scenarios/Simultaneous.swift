import Diorama
import Foundation

extension Scenario {
  private static let threads = 8
  private static let rounds = 10

  static let simultaneous = [
    Scenario("simultaneous additions") { trial in
      oneWins(&trial, otherwise: .duplicate, before: { _ in nil }) { .add(Data("secret \($1)".utf8), $0) }
    },
    Scenario("simultaneous deletions") { trial in
      oneWins(&trial, otherwise: .notFound, before: { .add(Data("x".utf8), $0) }) { key, _ in .delete(key) }
    },
    Scenario("simultaneous updates and deletions") { trial in
      for round in 0..<(2 * rounds) {
        let key = trial.key("account \(round)")
        trial.run(.add(Data("x".utf8), key))
        let outcomes = simultaneously(threads) { [store = trial.store] index in
          let operation = index.isMultiple(of: 2) ? CredentialOperation.update(Data("y".utf8), key) : .delete(key)
          return operation.perform(on: store)
        }
        let deletions = outcomes.indices.filter {
          if case .done = outcomes[$0] { !$0.isMultiple(of: 2) } else { false }
        }
        if deletions.count != 1 {
          trial.note("delete \(key) by some threads, update it by others", "one deletion", "\(deletions.count)")
        }
        // Whoever has updated, it was there before it was deleted: no update brings it back.
        trial.touch(key, holding: nil)
        trial.run(.read(key))
      }
    },
    Scenario("many calls at a time") { trial in
      let run = ConcurrentRun(threads: threads, operations: threads * 60, sharedAccounts: 4)
      for key in run.keys(of: trial.service) { trial.touch(key, holding: nil) }
      trial.note(run.violations(of: trial.store, service: trial.service))
    },
  ]

  /// All threads make a call at the same time of which one has to succeed.
  private static func oneWins(
    _ trial: inout ConformanceRun, otherwise kind: CredentialError.Kind,
    before: (CredentialKey) -> CredentialOperation?,
    _ operation: @escaping @Sendable (CredentialKey, Int) -> CredentialOperation
  ) {
    for round in 0..<rounds {
      let key = trial.key("account \(round)")
      if let first = before(key) { trial.run(first) }
      let outcomes = simultaneously(threads) { [store = trial.store] in operation(key, $0).perform(on: store) }
      let winners = outcomes.indices.filter { if case .done = outcomes[$0] { true } else { false } }
      let losers = outcomes.filter { if case .refused(let error) = $0 { error.kind == kind } else { false } }
      if winners.count != 1 || losers.count != threads - 1 {
        trial.note(
          "\(operation(key, 0)) by \(threads) threads", "one success and \(threads - 1) times \(kind)",
          "\(winners.count) successes and \(losers.count) times \(kind)")
      }
      // The winner's secret is to stay.
      if winners.count == 1, let winner = winners.first, let secret = operation(key, winner).secret {
        trial.touch(key, holding: secret)
        trial.run(.read(key))
      } else {
        settle(&trial, key)
      }
    }
    trial.run(.keys(trial.service))
  }

  /// Lets the model have what the store has, since it cannot know who came last.
  private static func settle(_ trial: inout ConformanceRun, _ key: CredentialKey) {
    trial.touch(key, holding: try? trial.store.read(key))
  }
}
