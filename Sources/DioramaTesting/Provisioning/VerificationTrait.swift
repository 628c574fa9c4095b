import Basics
import ControlAPI
import Foundation
import LaunchContract
import RunComparison
public import Testing

/// Runs a test several times, and fails it if the runs differ; write it as `.verified(…)`.
public struct VerificationTrait: TestTrait, SuiteTrait, TestScoping {
  let runs: Int
  let isStressed: Bool
  let ignoredHeaders: [String]
  let comparesOutput: Bool

  /// A suite's trait applies to all tests in the suite.
  public var isRecursive: Bool { true }

  /// Runs the test, or fails it if it has no environment; called by Swift Testing.
  public func provideScope(
    for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    // The trait of the environment runs the test, and reads this one's settings.
    guard test.traits.contains(where: { $0 is EnvironmentTrait }) else {
      return Reporter.swiftTesting(test.sourceLocation).fail(
        "the trait .verified(…) needs an environment to replay in; give the test the trait .environment(…)")
    }
    try await function()
  }

  /// A run with what is compared.
  private struct Finished: Sendable {
    var trace: Trace
    var outcome: TestOutcome?
    var error: (any Error)?
    var mode: TestEnvironment.Mode
  }

  /// Runs a test several times, and reports the first difference.
  ///
  /// - Parameters:
  ///   - run: how to run it.
  ///   - reporter: reports failures.
  ///   - function: the test.
  /// - Throws: the first error that the test throws.
  func verify(
    _ run: ScopedRun, _ reporter: Reporter, performing function: @concurrent @Sendable () async throws -> Void
  ) async throws {
    guard 2...100 ~= runs else {
      return reporter.fail("\(runs) runs cannot be verified; pass runs: from 2 to 100")
    }
    let folder: String
    do { folder = try TemporaryFolder.make() } catch { return reporter.fail(error.message) }
    defer { try? FileManager.default.removeItem(atPath: folder) }
    // A test does not expect to run beside itself.
    let plan = RunPlan(runs: runs, isStressed: isStressed, isSequential: true)
    // What fails in the same way in each run is reported once.
    let reported = Guarded<Set<String>>([])
    var finished: [Finished] = []
    // In mode mock, each run would begin at another time.
    let start = RFC3339.format(Date())
    for group in plan.groups {
      // Threads of a test process are scheduled as a whole: busy processors are the only disturbance.
      let busy =
        group.contains { !$0.isUndisturbed && isStressed }
        ? BusyThreads(ProcessInfo.processInfo.activeProcessorCount) : nil
      defer { busy?.stop() }
      do {
        // The group ends before the test does.
        finished += try await withoutActuallyEscaping(function) { function in
          try await withThrowingTaskGroup(of: Finished.self) { tasks in
            for conditions in group {
              tasks.addTask { try await finish(run, conditions.run, in: folder, from: start, reported, function) }
            }
            return try await tasks.reduce(into: []) { $0.append($1) }
          }
        }
      } catch {
        return reporter.fail("\(error)")
      }
      // A recording, and requests to a live backend, cannot be repeated.
      guard finished.allSatisfy({ [.replay, .mock].contains($0.mode) }) else { break }
    }
    finished.sort { $0.trace.facts.run < $1.trace.facts.run }
    let comparison = TraceComparison(
      finished.map(\.trace), ignoredHeaders: ignoredHeaders, comparesOutput: comparesOutput, interface: .test)
    let failed = finished.first { $0.outcome?.failure != nil } ?? finished.first { !$0.trace.failures.isEmpty }
    if var outcome = (failed ?? finished.first)?.outcome {
      if failed == nil, comparison.groups.count == 1 { outcome.attachments = [] }
      reporter.report(outcome)
    }
    if comparison.groups.count > 1 { reporter.fail(Self.text(comparison, runs: finished.count)) }
    if finished.contains(where: { $0.outcome == nil && $0.error == nil }) {
      reporter.fail("the test ended its environment, so its runs were not compared; leave calling end() to the trait")
    }
    if let error = finished.lazy.compactMap(\.error).first { throw error }
  }

  private static func text(_ comparison: TraceComparison, runs: Int) -> String {
    let lines =
      ["\(counted(runs, "run")) of the test differ", Difference.text(of: comparison.groups)]
      + Difference.lines(comparison.differences) + comparison.notes.map { "note: \($0.escapedForTerminal)" }
    return lines.joined(separator: "\n  ")
  }

  private func finish(
    _ run: ScopedRun, _ number: Int, in folder: String, from start: String, _ reported: Guarded<Set<String>>,
    _ function: @concurrent @Sendable () async throws -> Void
  ) async throws -> Finished {
    var run = run
    let journal = "\(folder)/\(number).ndjson"
    run.journal = journal
    run.configuration.mockStart = start
    let issues = Guarded<[String]>([])
    run.handlingIssue = { issue in
      let text = "\(issue)"
      if issue.isFailure { issues.withLock { $0.append(text) } }
      return reported.withLock { $0.insert(text).inserted } ? issue : nil
    }
    let result = try await run.finish(function)
    var failures = issues.withLock { $0 } + (result.error.map { ["\($0)"] } ?? [])
    let facts = Trace.Facts(run: number, time: result.time)
    guard let outcome = result.outcome, var report = outcome.report else {
      // The test ended its environment, or the daemon is gone: only what failed is known.
      failures += [result.outcome?.failure ?? "the test ended its environment"]
      return Finished(
        trace: Trace(facts: facts, failures: failures), outcome: result.outcome, error: result.error, mode: result.mode)
    }
    report.variables = result.variables
    let file = FileManager.default.contents(atPath: journal)
    let trace = Trace(
      facts: facts, journal: try file.map(Trace.entries) ?? outcome.journal, report: report, failures: failures,
      status: 0, output: outcome.bytes(".output.txt"), errors: outcome.bytes(".error.txt"))
    return Finished(trace: trace, outcome: outcome, error: result.error, mode: result.mode)
  }
}

extension TestOutcome {
  /// What all applications have written, of the attachments whose name ends so.
  fileprivate func bytes(_ suffix: String) -> [UInt8] {
    attachments.filter { $0.name.hasSuffix(suffix) }.flatMap(\.bytes)
  }
}

extension Trait where Self == VerificationTrait {
  /// Runs each test several times, each in an environment of its own, and fails it if the runs differ.
  ///
  /// Use it with `.environment(…)`, in the modes ``TestEnvironment/Mode/replay`` and ``TestEnvironment/Mode/mock``; in
  /// others, as while recording, the test runs once. Requests, random values, toggles, the output of applications, and
  /// failures are compared. The test fails with the first difference: the request, the value, what it looks like, and
  /// what to do about it.
  ///
  /// ```swift
  /// @Test(.environment(.replay), .verified(runs: 5, stress: true)) func booksASlot() async throws { … }
  /// ```
  ///
  /// The runs follow one another; other tests may run at the same time. A test's trait replaces its suite's. With an
  /// environment in a daemon, header fields and bodies are not compared.
  ///
  /// - Parameters:
  ///   - runs: how many runs, from 2 to 100.
  ///   - stress: whether to keep all processors busy during the later runs.
  ///   - headers: the names of header fields of requests that are not compared.
  ///   - comparesOutput: whether to compare what applications write to standard output and error.
  /// - Returns: the trait.
  public static func verified(
    runs: Int = 5, stress: Bool = false, ignoringHeaders headers: [String] = [], comparesOutput: Bool = true
  ) -> Self {
    VerificationTrait(runs: runs, isStressed: stress, ignoredHeaders: headers, comparesOutput: comparesOutput)
  }
}
