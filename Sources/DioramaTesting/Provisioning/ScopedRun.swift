import Foundation
import Synchronization
import Testing

/// A run of a test of Swift Testing in an environment of its own.
struct ScopedRun {
  /// The result.
  struct Result {
    /// The mode of the environment; never `once`.
    var mode: TestEnvironment.Mode
    /// The outcome of the environment; nil if the test has ended it.
    var outcome: TestOutcome?
    /// The error that the test threw.
    var error: (any Error)?
    /// The variables by which programs found the environment.
    var variables: [String: String]
    /// When the test was started and when it had ended, in seconds since 1970.
    var time: ClosedRange<Double>
  }

  let test: Test
  let testCase: Test.Case?
  var configuration: TestEnvironment.Configuration
  /// The path of a file for the journal with requests; nil if the journal is not needed.
  var journal: String?
  /// Handles an issue of the test; nil drops it.
  var handlingIssue: @Sendable (Issue) -> Issue? = { $0 }

  /// Runs a test in a new environment, which ends with it.
  ///
  /// - Parameter function: the test.
  /// - Returns: the result.
  /// - Throws: ``DioramaTestingError`` if the environment cannot be provisioned.
  func finish(
    _ function: @concurrent @Sendable () async throws -> Void
  ) async throws(DioramaTestingError) -> Result {
    var identity = TestIdentity(test, case: testCase)
    identity.splitsCases = true
    let environment = try await TestEnvironment.make(
      configuration, for: identity, reporter: .swiftTesting(test.sourceLocation), journal: journal)
    let variables = journal == nil ? [:] : environment.ownVariables
    let hasFailed = Atomic(false)
    let watching = IssueHandlingTrait.compactMapIssues { issue in
      if issue.isFailure { hasFailed.store(true, ordering: .relaxed) }
      return handlingIssue(issue)
    }
    let started = Date().timeIntervalSince1970
    var thrown: (any Error)?
    do {
      try await TestEnvironment.$scopedTest.withValue(test.id) {
        try await environment.asCurrent {
          try await watching.provideScope(for: test, testCase: testCase) { try await function() }
        }
      }
    } catch { thrown = error }
    let ended = Date().timeIntervalSince1970
    let outcome = await environment.finish(
      hasFailed: thrown != nil || hasFailed.load(ordering: .relaxed), keepsJournal: journal != nil)
    return Result(
      mode: environment.mode, outcome: outcome, error: thrown, variables: variables,
      time: started...max(started, ended))
  }
}
