import Basics
package import Testing

extension TestEnvironment {
  /// Provisions an environment for a scenario of a feature file.
  ///
  /// - Parameters:
  ///   - configuration: the settings; relative paths start at the feature file's folder.
  ///   - scenario: the scenario's name.
  ///   - row: the values of its row of examples, which name a cassette of its own; empty for any other scenario.
  ///   - suites: the names of the feature and the rule.
  ///   - file: the feature file.
  ///   - line: the line of the scenario or the row.
  ///   - module: the test's module.
  ///   - filter: the argument for `swift test --filter` that runs the scenario alone.
  ///   - fail: takes failures that the environment reports itself, on any thread; without a place they belong to the
  ///     scenario.
  /// - Returns: the environment, to be ended by ``finish(hasFailed:keepsJournal:)``.
  /// - Throws: ``DioramaTestingError``, whose message says what is wrong and what to do next.
  package static func make(
    _ configuration: Configuration, scenario: String, row: [String], in suites: [String], file: String, line: Int,
    module: String, filter: String, fail: @escaping @Sendable (String, SourceLocation?) -> Void
  ) async throws(DioramaTestingError) -> TestEnvironment {
    let identity = TestIdentity(
      scenario: scenario, row: row, in: suites, file: file, line: line, module: module, filter: filter)
    return try await make(configuration, for: identity, reporter: .scenario(fail))
  }

  /// Prints what is no failure but worth knowing: what was recorded, and the last output of the applications of a test
  /// that failed for another reason.
  package func say(_ outcome: TestOutcome) {
    if let note = outcome.note { Reporter.say(note.escapedForTerminal) }
    if outcome.failure == nil, !outcome.tails.isEmpty { Reporter.say("\(name) failed\(outcome.tails)") }
  }
}
