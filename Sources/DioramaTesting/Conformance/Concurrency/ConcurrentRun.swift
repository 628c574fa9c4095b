package import Diorama
import Foundation

/// Mixed calls by many threads, and a model that says what has to come of them.
///
/// Each thread has accounts of its own, for which a sequential model predicts every answer and the state at the end. All
/// share some others: for these there has to be an order of all calls, the last looks at the end among them, in which a
/// sequential model answers each call as the store did.
package struct ConcurrentRun: Sendable {
  private let threads: Int
  private let operations: Int
  private let sharedAccounts: Int

  /// - Parameters:
  ///   - threads: how many threads call at a time.
  ///   - operations: how many calls they make together.
  ///   - sharedAccounts: how many accounts they all use.
  package init(threads: Int, operations: Int, sharedAccounts: Int) {
    self.threads = threads
    self.operations = operations
    self.sharedAccounts = sharedAccounts
  }

  /// All that a run may leave in a service.
  package func keys(of service: String) -> [CredentialKey] {
    shared(service) + (0..<threads).flatMap { own(service, $0) }
  }

  /// Runs, and lists what cannot be; the store has to hold nothing of the service.
  package func violations(of store: any CredentialStore, service: String) -> [CredentialStoreConformance.Violation] {
    let ticks = Ticks()
    let workers = simultaneously(threads) { index in
      var worker = Worker(
        number: index, service: service, own: own(service, index), shared: shared(service), store: store, ticks: ticks)
      worker.work(operations / threads)
      return worker
    }
    var last = History()
    for key in shared(service) { last.make(.read(key), on: store, ticks) }
    var violations = workers.flatMap(\.violations)
    let calls = (workers.map(\.history) + [last]).flatMap(\.calls)
    let lists = calls.filter { $0.operation.key == nil }
    let byKey = Dictionary(grouping: calls, by: \.operation.key)
    for key in shared(service) { violations += contradiction(about: key, in: (byKey[key] ?? []) + lists) }
    // All together: what the models of the threads hold, and what the last looks have shown.
    var expected: [CredentialKey: Data] = [:]
    for worker in workers { expected.merge(worker.model.secrets) { $1 } }
    for call in last.calls {
      if case .secret(let secret) = call.outcome, let key = call.operation.key { expected[key] = secret }
    }
    var model = CredentialModel()
    for (key, secret) in expected { _ = model.apply(.set(secret, key)) }
    for operation in [.keys(service)] + expected.keys.sorted().map(CredentialOperation.read) {
      let (right, came) = (model.apply(operation), operation.perform(on: store))
      guard !came.agrees(with: right) else { continue }
      violations.append(.init(done: "at the end: \(operation)", expected: "\(right)", came: "\(came)"))
    }
    return violations
  }

  private func shared(_ service: String) -> [CredentialKey] {
    (0..<sharedAccounts).map { CredentialKey(service: service, account: "shared \($0)") }
  }

  private func own(_ service: String, _ thread: Int) -> [CredentialKey] {
    (0..<4).map { CredentialKey(service: service, account: "thread \(thread), \($0)") }
  }

  private func contradiction(
    about key: CredentialKey, in calls: [History.Call]
  ) -> [CredentialStoreConformance.Violation] {
    var about: [(call: History.Call, step: LinearizabilityChecker.Step)] = []
    for call in calls {
      if let step = LinearizabilityChecker.Step(call, about: key) {
        about.append((call, step))
      } else if call.operation.key == key {
        // Neither success nor the error that the call may end with.
        return [
          .init(done: "\(call.operation) by one of \(threads) threads", expected: "an answer", came: "\(call.outcome)")
        ]
      }
    }
    guard let (step, underWay) = LinearizabilityChecker.contradiction(in: about.map(\.step)) else { return [] }
    let others = underWay.filter { $0 != step }.map { "\(about[$0].call.operation): \(about[$0].call.outcome)" }
    return [
      .init(
        done: "\(about[step].call.operation), during [\(others.joined(separator: "; "))]",
        expected: "an answer that fits some order of all calls", came: "\(about[step].call.outcome)")
    ]
  }
}
