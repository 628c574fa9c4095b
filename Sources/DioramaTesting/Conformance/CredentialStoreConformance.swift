public import Diorama
import Foundation

/// Checks that a credential store behaves like the keychain's generic passwords.
///
/// Every store that comes with Diorama passes. Run it on your own store, with any test framework:
///
/// ```swift
/// @Test func conforms() {
///   #expect(CredentialStoreConformance.violations(of: MyStore()) == [])
/// }
/// ```
///
/// The checks use service names of their own and delete what they add, so the store may hold other credentials. They
/// block the calling thread: a few seconds for a store in another process.
public enum CredentialStoreConformance {
  /// One difference between the store and the keychain.
  public struct Violation: Sendable, Equatable, CustomStringConvertible {
    /// The scenario and the call.
    public let done: String
    /// The expected result.
    public let expected: String
    /// The store's result.
    public let came: String

    package init(done: String, expected: String, came: String) {
      self.done = done
      self.expected = expected
      self.came = came
    }

    /// All three, on one line.
    public var description: String { "\(done): expected \(expected), got \(came)" }
  }

  /// Checks a store.
  ///
  /// - Parameters:
  ///   - store: the store to check.
  ///   - groups: access groups that the app may use; on Apple platforms they must be in its entitlements. Pass an empty
  ///     array to skip the checks of groups.
  /// - Returns: the violations, in the order of the checks; empty if the store conforms.
  public static func violations(
    of store: any CredentialStore, groups: [String] = ["diorama.one", "diorama.two"]
  ) -> [Violation] {
    violations(of: store, groups: groups, upTo: .max)
  }

  /// Checks a store, and stops after the scenario that reaches the limit.
  package static func violations(of store: any CredentialStore, groups: [String], upTo limit: Int) -> [Violation] {
    let name = "diorama-conformance-\(UUID().uuidString.lowercased())"
    do {
      _ = try store.keys(service: name)
    } catch {
      // Every other check would fail for the same reason.
      return [Violation(done: "the first call, keys(service:)", expected: "no keys", came: "\(error)")]
    }
    var violations: [Violation] = []
    for (index, scenario) in ConformanceRun.scenarios.enumerated() where violations.count < limit {
      var run = ConformanceRun(store, scenario.title, service: "\(name)-\(index)", groups: groups)
      scenario.play(&run)
      run.cleanUp()
      violations += run.violations
    }
    return violations
  }
}

/// One scenario on one store: makes each call on an in-memory store as well, and compares the results.
struct ConformanceRun {
  let store: any CredentialStore
  /// A service that no other program uses. A scenario may also use services that begin with this name.
  let service: String
  let groups: [String]
  private(set) var violations: [CredentialStoreConformance.Violation] = []

  private let title: String
  private let reference = InMemoryCredentialStore()
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

  mutating func check(_ operations: CredentialOperation...) {
    for operation in operations { check(operation) }
  }

  mutating func check(_ operation: CredentialOperation) {
    if let key = operation.key { touched.insert(key) }
    let secrets = [operation.secret, operation.key.flatMap { try? reference.read($0) }].compactMap { $0 }
    let expected = operation.perform(on: reference)
    var outcome = operation.perform(on: store)
    // Other programs may keep credentials in the same store.
    if case .keys(let keys) = outcome, case .keys(nil) = operation {
      outcome = .keys(keys.filter { $0.service.hasPrefix(service) })
    }
    if !outcome.agrees(with: expected) { note("\(operation)", "\(expected)", "\(outcome)") }
    guard case .refused(let error) = outcome else { return }
    if error.description.isEmpty || error.description.contains(where: \.isNewline) {
      note("\(operation), the error's description", "one line", error.description.debugDescription)
    }
    for secret in secrets
    where secret.count >= 8 && String(reflecting: error).contains(String(decoding: secret, as: UTF8.self)) {
      note("\(operation), the error", "an error without the secret", "the secret")
    }
  }

  mutating func note(_ done: String, _ expected: String, _ came: String) {
    violations.append(.init(done: "\(title): \(done)", expected: expected, came: came))
  }

  /// Makes the reference hold a secret that only the tested store was given.
  mutating func touch(_ key: CredentialKey, holding secret: Data?) {
    touched.insert(key)
    _ = (secret.map { .set($0, key) } ?? CredentialOperation.delete(key)).perform(on: reference)
  }

  /// Deletes everything the scenario may have left, including what a faulty store added.
  func cleanUp() {
    var keys = touched
    for service in Set(touched.map(\.service)) { keys.formUnion((try? store.keys(service: service)) ?? []) }
    for key in keys { try? store.delete(key) }
  }
}
