@testable import DioramaScenarios
import Foundation
import XCTest

/// The run of a test that fails on purpose: it keeps the failures to itself.
final class CapturingRun: XCTestCaseRun {
  struct Failure: Equatable, CustomStringConvertible {
    let message: String
    let line: Int
    var description: String { "\(line): \(message)" }
  }

  private(set) var failures: [Failure] = []

  /// Whether the run is a secret from XCTest, which then prints nothing of it, but counts no skipped tests either.
  nonisolated(unsafe) static var isSilent = true

  override func start() { if !Self.isSilent { super.start() } }
  override func stop() { if !Self.isSilent { super.stop() } }
  override func recordFailure(
    withDescription description: String, inFile path: String?, atLine line: Int, expected: Bool
  ) {
    failures.append(Failure(message: description, line: line))
  }
}

/// A test case that tests run themselves, to look at its failures.
class ExampleTestCase: ScenarioTestCase {
  // Its failures are not those of this run.
  private let own = ScenarioProcess(observers: [])
  override var process: ScenarioProcess { own }

  override var testRunClass: AnyClass? { CapturingRun.self }
}

/// A test case of feature files that tests run themselves.
class ExampleFeatureTestCase: NativeTestCase {
  override var testRunClass: AnyClass? { CapturingRun.self }
}

/// Runs a test.
///
/// XCTest then has no current test case, so its assertions do nothing: throw errors, as ``check(_:is:)`` does.
func failures<Case: XCTestCase>(in type: Case.Type, _ test: @escaping (Case) throws -> Void) -> [CapturingRun.Failure] {
  let testCase = Case(name: "\(type).example") { testCase in
    guard let testCase = testCase as? Case else { throw Difference(description: "not a \(Case.self)") }
    try test(testCase)
  }
  testCase.run()
  return (testCase.testRun as? CapturingRun)?.failures ?? []
}

/// Runs an asynchronous test.
func asynchronousRun<Case: XCTestCase>(
  of type: Case.Type, _ test: @escaping (Case) async throws -> Void
) -> CapturingRun {
  let closure: (Case) -> () throws -> Void = asyncTest { testCase in { try await test(testCase) } }
  let testCase = Case(name: "\(type).example") { testCase in
    guard let testCase = testCase as? Case else { throw Difference(description: "not a \(Case.self)") }
    try closure(testCase)()
  }
  testCase.run()
  return testCase.testRun as? CapturingRun ?? CapturingRun(test: testCase)
}
