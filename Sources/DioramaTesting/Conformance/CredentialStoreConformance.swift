public import Diorama
import Foundation

/// Finds out whether a credential store means what the keychain's generic passwords mean.
///
/// Every store of Diorama passes it. Run it on your own, under any test framework:
///
/// ```swift
/// @Test func conforms() {
///   #expect(CredentialStoreConformance.violations(of: MyStore()) == [])
/// }
/// ```
///
/// It works in services of its own, whose names nobody else has, and leaves nothing behind: a store that holds other
/// credentials keeps them. It blocks its thread until it is done, some seconds for a store in another process.
public enum CredentialStoreConformance {
  /// One thing that a store does otherwise.
  public struct Violation: Sendable, Equatable, CustomStringConvertible {
    /// What was done, after which words of introduction.
    public let done: String
    /// What should have come of it.
    public let expected: String
    /// What came.
    public let came: String

    /// All three, on one line.
    public var description: String { "\(done): expected \(expected), got \(came)" }
  }

  /// Tries a store, and lists all that it does otherwise.
  ///
  /// - Parameters:
  ///   - store: where nobody else is at work meanwhile, as far as the services go that are the kit's own.
  ///   - groups: access groups that the app may use beside its own; on Apple's platforms they stand in its
  ///     entitlements. With none, groups are not tried.
  /// - Returns: the violations, in the order of the trials; none when the store conforms.
  public static func violations(
    of store: any CredentialStore, groups: [String] = ["diorama.one", "diorama.two"]
  ) -> [Violation] {
    violations(of: store, groups: groups, upTo: .max)
  }

  /// Stops after the scenario in which so many have been found.
  package static func violations(of store: any CredentialStore, groups: [String], upTo limit: Int) -> [Violation] {
    let name = "diorama-conformance-\(UUID().uuidString.lowercased())"
    do {
      _ = try store.keys(service: name)
    } catch {
      // All else would fail likewise, and say less.
      return [Violation(done: "the first call, keys(service:)", expected: "no keys", came: "\(error)")]
    }
    var violations: [Violation] = []
    for (index, scenario) in Scenario.all.enumerated() where violations.count < limit {
      var trial = ConformanceRun(store, scenario.title, service: "\(name)-\(index)", groups: groups)
      scenario.play(&trial)
      trial.cleanUp()
      violations += trial.violations
    }
    return violations
  }
}

/// A few calls in a row, and what they try.
struct Scenario: Sendable {
  let title: String
  let play: @Sendable (inout ConformanceRun) -> Void

  init(_ title: String, _ play: @escaping @Sendable (inout ConformanceRun) -> Void) {
    self.title = title
    self.play = play
  }

  static let all = missing + writing + secrets + identity + enumeration + refusals + secrecy + random + simultaneous
}
