import Diorama
import Foundation

/// One of the threads of a ``ConcurrentRun``.
struct Worker: Sendable {
  private(set) var history = History()
  private(set) var model = CredentialModel()
  private(set) var violations: [CredentialStoreConformance.Violation] = []

  private let number: Int
  private let service: String
  private let own: [CredentialKey]
  private let shared: [CredentialKey]
  private let store: any CredentialStore
  private let ticks: Ticks
  private var generator: SplitMix64

  init(
    number: Int, service: String, own: [CredentialKey], shared: [CredentialKey], store: any CredentialStore,
    ticks: Ticks
  ) {
    self.number = number
    self.service = service
    self.own = own
    self.shared = shared
    self.store = store
    self.ticks = ticks
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

  /// Nobody else uses these accounts, so that each answer is known beforehand.
  private mutating func callOwn(_ index: Int) {
    let operation = operation(index, own[generator.below(own.count)])
    let expected = model.apply(operation)
    let came = operation.perform(on: store)
    if !came.agrees(with: expected) {
      violations.append(.init(done: "\(operation) beside other threads", expected: "\(expected)", came: "\(came)"))
    }
  }

  /// Of a list the own accounts are known beforehand; the shared ones are part of the history.
  private mutating func list() {
    history.make(.keys(service), on: store, ticks)
    guard case .keys(let keys) = history.calls.last?.outcome else {
      let came = history.calls.last.map { "\($0.outcome)" } ?? "nothing"
      violations.append(.init(done: "list the keys beside other threads", expected: "keys", came: came))
      return
    }
    let expected = CredentialOutcome.keys(model.secrets.keys.sorted())
    let came = CredentialOutcome.keys(keys.filter(own.contains))
    if !came.agrees(with: expected) {
      violations.append(
        .init(done: "list the keys beside other threads", expected: "of its own \(expected)", came: "\(came)"))
    }
  }

  /// Each secret is unlike all others, so that it tells who wrote it.
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
