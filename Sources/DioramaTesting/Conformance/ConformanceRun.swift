import Diorama
import Foundation

/// One scenario on one store: each call is made on a model, too, and what both do is compared.
struct ConformanceRun {
  let store: any CredentialStore
  /// A service that nobody else uses; a scenario may use others that begin with it.
  let service: String
  let groups: [String]
  private(set) var violations: [CredentialStoreConformance.Violation] = []

  private let title: String
  private var model = CredentialModel()
  private var touched: Set<CredentialKey> = []

  init(_ store: any CredentialStore, _ title: String, service: String, groups: [String]) {
    self.store = store
    self.title = title
    self.service = service
    self.groups = groups
  }

  func key(_ account: String, group: String? = nil) -> CredentialKey {
    CredentialKey(service: service, account: account, group: group)
  }

  /// Makes some calls, one after the other.
  mutating func run(_ operations: CredentialOperation...) {
    for operation in operations { run(operation) }
  }

  mutating func run(_ operation: CredentialOperation) {
    if let key = operation.key { touched.insert(key) }
    let expected = model.apply(operation)
    var came = operation.perform(on: store)
    // Others may have their credentials in the same store.
    if case .keys(let keys) = came, case .keys(nil) = operation {
      came = .keys(keys.filter { $0.service.hasPrefix(service) })
    }
    if !came.agrees(with: expected) { note("\(operation)", "\(expected)", "\(came)") }
    if case .refused(let error) = came { judge(error, of: operation) }
  }

  mutating func note(_ done: String, _ expected: String, _ came: String) {
    violations.append(.init(done: "\(title): \(done)", expected: expected, came: came))
  }

  mutating func note(_ violations: [CredentialStoreConformance.Violation]) {
    self.violations += violations
  }

  /// Takes over what happened apart from the model: in the end the store is to hold this.
  mutating func touch(_ key: CredentialKey, holding secret: Data?) {
    touched.insert(key)
    _ = secret.map { model.apply(.set($0, key)) } ?? model.apply(.delete(key))
  }

  /// The error's words; its number follows from its kind.
  private mutating func judge(_ error: CredentialError, of operation: CredentialOperation) {
    let words = error.description
    if words.isEmpty || words.contains(where: \.isNewline) {
      note("\(operation), the error's description", "one line", words.debugDescription)
    }
    let secrets = [operation.secret, operation.key.flatMap { model.secrets[$0] }].compactMap { $0 }
    for secret in secrets
    where secret.count >= 8 && String(reflecting: error).contains(String(decoding: secret, as: UTF8.self)) {
      note("\(operation), the error", "no secret in it", "the secret")
    }
  }

  /// Deletes all that the scenario may have left, also by what the store did wrong.
  func cleanUp() {
    let services = Set(touched.map(\.service))
    var keys = touched
    for service in services { keys.formUnion((try? store.keys(service: service)) ?? []) }
    for key in keys { try? store.delete(key) }
  }
}
