package import Diorama
package import DioramaTesting
import Foundation

/// Checks a credential store with mixed calls by many threads.
///
/// Each thread has accounts of its own, and an in-memory store predicts the result of each call and the final state.
/// All threads share some other accounts. For these, some sequential order of all calls, including the reads at the end,
/// must explain every result.
package struct ConcurrentRun: Sendable {
  private let threads: Int
  private let operations: Int
  private let sharedAccounts: Int

  /// - Parameters:
  ///   - threads: the number of threads.
  ///   - operations: the total number of calls.
  ///   - sharedAccounts: the number of accounts that all threads use.
  package init(threads: Int, operations: Int, sharedAccounts: Int) {
    self.threads = threads
    self.operations = operations
    self.sharedAccounts = sharedAccounts
  }

  /// Checks a store that holds nothing of the service.
  package func violations(of store: any CredentialStore, service: String) -> [CredentialStoreConformance.Violation] {
    let shared = (0..<sharedAccounts).map { CredentialKey(service: service, account: "shared \($0)") }
    let ticks = Ticks()
    let workers = simultaneously(threads) { number in
      var worker = Worker(number: number, service: service, shared: shared, store: store, ticks: ticks)
      worker.work(operations / threads)
      return worker
    }
    var last = History()
    for key in shared { last.make(.read(key), on: store, ticks) }
    var violations = workers.flatMap(\.violations)
    let calls = (workers.map(\.history) + [last]).flatMap(\.calls)
    let lists = calls.filter { $0.operation.key == nil }
    let byKey = Dictionary(grouping: calls, by: \.operation.key)
    for key in shared { violations += contradiction(about: key, in: (byKey[key] ?? []) + lists) }

    // The final state: the predictions of the threads, and the last reads of the shared accounts.
    let expected = InMemoryCredentialStore()
    for worker in workers {
      for key in worker.own {
        if let secret = try? worker.reference.read(key) { try? expected.set(secret, for: key) }
      }
    }
    for call in last.calls {
      if case .secret(let secret) = call.outcome, let key = call.operation.key { try? expected.set(secret, for: key) }
    }
    let reads = ((try? expected.keys()) ?? []).map(CredentialOperation.read)
    for operation in [.keys(service)] + reads {
      let (right, outcome) = (operation.perform(on: expected), operation.perform(on: store))
      guard !outcome.agrees(with: right) else { continue }
      violations.append(.init(done: "at the end: \(operation)", expected: "\(right)", came: "\(outcome)"))
    }
    return violations
  }

  private func contradiction(
    about key: CredentialKey, in calls: [History.Call]
  ) -> [CredentialStoreConformance.Violation] {
    var about: [(call: History.Call, step: LinearizabilityChecker.Step)] = []
    for call in calls {
      if let step = LinearizabilityChecker.Step(call, about: key) {
        about.append((call, step))
      } else if call.operation.key == key {
        return [
          .init(
            done: "\(call.operation) in one of \(threads) threads", expected: "success or the documented error",
            came: "\(call.outcome)")
        ]
      }
    }
    guard let (step, underWay) = LinearizabilityChecker.contradiction(in: about.map(\.step)) else { return [] }
    let others = underWay.filter { $0 != step }.map { "\(about[$0].call.operation): \(about[$0].call.outcome)" }
    return [
      .init(
        done: "\(about[step].call.operation), during [\(others.joined(separator: "; "))]",
        expected: "a result that fits some order of all calls", came: "\(about[step].call.outcome)")
    ]
  }
}

/// One thread of a ``ConcurrentRun``.
private struct Worker: Sendable {
  private(set) var history = History()
  private(set) var violations: [CredentialStoreConformance.Violation] = []
  let reference = InMemoryCredentialStore()
  let own: [CredentialKey]

  private let number: Int
  private let service: String
  private let shared: [CredentialKey]
  private let store: any CredentialStore
  private let ticks: Ticks
  private var generator: SplitMix64

  init(number: Int, service: String, shared: [CredentialKey], store: any CredentialStore, ticks: Ticks) {
    self.number = number
    self.service = service
    self.shared = shared
    self.store = store
    self.ticks = ticks
    own = (0..<4).map { CredentialKey(service: service, account: "thread \(number), \($0)") }
    generator = SplitMix64(state: UInt64(number))
  }

  mutating func work(_ operations: Int) {
    for index in 0..<operations {
      if generator.below(200) == 0 {
        list()
      } else if generator.below(2) == 0 {
        callOwn(index)
      } else {
        history.make(operation(index, shared[generator.below(shared.count)]), on: store, ticks)
      }
    }
  }

  /// No other thread uses these accounts, so the result is predictable.
  private mutating func callOwn(_ index: Int) {
    let operation = operation(index, own[generator.below(own.count)])
    let (expected, outcome) = (operation.perform(on: reference), operation.perform(on: store))
    if !outcome.agrees(with: expected) {
      violations.append(.init(done: "\(operation) beside other threads", expected: "\(expected)", came: "\(outcome)"))
    }
  }

  /// The worker's own accounts in a list are predictable; the shared ones are part of the history.
  private mutating func list() {
    history.make(.keys(service), on: store, ticks)
    guard case .keys(let keys) = history.calls.last?.outcome else {
      let outcome = history.calls.last.map { "\($0.outcome)" } ?? "nothing"
      violations.append(.init(done: "list the keys beside other threads", expected: "keys", came: outcome))
      return
    }
    let expected = CredentialOperation.keys(nil).perform(on: reference)
    let outcome = CredentialOutcome.keys(keys.filter(own.contains))
    if !outcome.agrees(with: expected) {
      violations.append(
        .init(done: "list the keys beside other threads", expected: "of its own \(expected)", came: "\(outcome)"))
    }
  }

  /// Each secret is unique and names its writer.
  private mutating func operation(_ index: Int, _ key: CredentialKey) -> CredentialOperation {
    let secret = Data("\(number)/\(index)".utf8)
    return switch generator.below(10) {
    case 0, 1: .add(secret, key)
    case 2, 3: .update(secret, key)
    case 4: .set(secret, key)
    case 5, 6: .delete(key)
    default: .read(key)
    }
  }
}

/// The calls of one thread, each with its begin and end.
private struct History: Sendable {
  struct Call: Sendable {
    /// Ticks, unique in the run and in the order of events.
    var begin: Int
    var end: Int
    var operation: CredentialOperation
    var outcome: CredentialOutcome
  }

  private(set) var calls: [Call] = []

  /// Makes a call and records it.
  mutating func make(_ operation: CredentialOperation, on store: any CredentialStore, _ ticks: Ticks) {
    let begin = ticks.next()
    let outcome = operation.perform(on: store)
    calls.append(Call(begin: begin, end: ticks.next(), operation: operation, outcome: outcome))
  }
}

/// A logical clock: each reading is larger than all before.
private final class Ticks: @unchecked Sendable {
  private let lock = NSLock()
  private var count = 0

  func next() -> Int {
    lock.withLock {
      count += 1
      return count
    }
  }
}

extension LinearizabilityChecker.Step {
  /// The effect of a call on a key; nil if it has none, or if the call failed with an error it must not return.
  fileprivate init?(_ call: History.Call, about key: CredentialKey) {
    let effect: Effect
    // The only error that the call may return.
    let refusal: CredentialError.Kind?
    switch call.operation {
    case .add(let secret, _): (effect, refusal) = (.add(secret), .duplicate)
    case .update(let secret, _): (effect, refusal) = (.update(secret), .notFound)
    case .set(let secret, _): (effect, refusal) = (.set(secret), nil)
    case .delete: (effect, refusal) = (.delete, .notFound)
    case .read: (effect, refusal) = (.read, .notFound)
    case .keys: (effect, refusal) = (.list, nil)
    }
    var found = true
    var value: Data?
    switch call.outcome {
    case .done: break
    case .secret(let secret): value = secret
    case .keys(let keys): found = keys.contains(key)
    case .refused(let error):
      guard error.kind == refusal else { return nil }
      found = false
    }
    self.init(begin: call.begin, end: call.end, effect: effect, found: found, value: value)
  }
}

/// Sebastiano Vigna's SplitMix64: the same numbers on every platform.
private struct SplitMix64: Sendable {
  private var state: UInt64

  init(state: UInt64) { self.state = state }

  /// A number below the limit, close enough to uniform for small limits.
  mutating func below(_ limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = state
    mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(limit))
  }
}
