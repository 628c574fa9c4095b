import Basics
import Foundation
import Gherkin
import Testing
public import XCTest

/// A test case whose test methods run the scenarios of a feature file; the base of the classes that the plugin `FeatureTests`
/// generates.
///
/// Failures are reported in the feature file, at the step's line. An assertion that fails in a step definition is reported at
/// its own line, with the step in its message.
open class FeatureTestCase: XCTestCase {
  private let progress = Guarded<ScenarioProgress?>(nil)

  /// Runs a scenario; for generated code.
  ///
  /// - Parameters:
  ///   - packed: the scenario, in one string.
  ///   - feature: the feature's name.
  ///   - path: the absolute path of the feature file.
  ///   - definitions: the step definitions, created again for each attempt.
  /// - Throws: `XCTSkip` if a step or a hook skips the scenario, or what cancels the test.
  public func run<Definitions: StepDefinitions>(
    scenario packed: String, of feature: String, in path: String,
    _ definitions: @autoclosure @escaping () throws -> Definitions
  ) async throws {
    guard let scenario = PackedScenario(packed: packed) else {
      throw ScenarioError("run(scenario:of:in:_:) is for tests that the plugin FeatureTests generates")
    }
    let outcome = try await run(scenario, of: feature, in: path, definitions)
    if case .skipped(let reason) = outcome { throw XCTSkip(reason) }
  }

  func run(
    _ scenario: PackedScenario, of feature: String, in path: String,
    _ makeDefinitions: @escaping () throws -> any StepDefinitions
  ) async throws -> ScenarioRunner.Outcome {
    let progress = ScenarioProgress()
    self.progress.withLock { $0 = progress }
    defer { self.progress.withLock { $0 = nil } }
    // `Module.Class`, also of a private class.
    let module = String(reflecting: Self.self).split(separator: ".").first.map(String.init) ?? ""
    let source = FeatureSource(
      name: feature, path: path, module: module, filter: "\(module).\(Self.self)/\(methodName)")
    let runner = ScenarioRunner(
      scenario: scenario, source: source, progress: progress, process: .shared,
      fail: { message, place in self.fail(message, place) }, attach: attach, makeDefinitions: makeDefinitions)
    return try await ScenarioProgress.$current.withValue(progress) { try await runner.run() }
  }

  /// What to report of a failure.
  ///
  /// - Returns: the message with the step's place, or nil if the scenario will be retried.
  private func noted(_ message: String, at place: String) -> String? {
    guard let progress = progress.withLock({ $0 }) else { return message }
    let (step, willBeRetried) = progress.note(message)
    let text = message + (step.map { "\n\($0)" } ?? "")
    guard willBeRetried else { return text }
    print("\(place): warning: \(name) : \(text)\nRetrying the scenario.")
    return nil
  }

  /// Adds an attachment to the test's report. XCTest on Linux has no attachments.
  private var attach: @Sendable (ScenarioAttachment, SourceLocation) -> Void {
    #if canImport(Darwin)
      nonisolated(unsafe) let test = self
      return { attachment, _ in
        let types = ["image/png": "public.png", "image/jpeg": "public.jpeg"]
        let type = types[attachment.mediaType] ?? (attachment.isText ? "public.plain-text" : "public.data")
        let added = XCTAttachment(data: Data(attachment.bytes), uniformTypeIdentifier: type)
        added.name = attachment.fileName
        added.lifetime = .keepAlways
        test.add(added)
      }
    #else
      return { _, _ in }
    #endif
  }

  #if canImport(Darwin)
    func fail(_ message: String, _ place: SourceLocation) {
      record(
        XCTIssue(
          type: .assertionFailure, compactDescription: message,
          sourceCodeContext: XCTSourceCodeContext(
            location: XCTSourceCodeLocation(filePath: place.filePath, lineNumber: place.line))))
    }

    /// Notes a failure of the running scenario; called by XCTest.
    open override func record(_ issue: XCTIssue) {
      let place = issue.sourceCodeContext.location.map { "\($0.fileURL.path):\($0.lineNumber)" }
      guard let message = noted(issue.compactDescription, at: place ?? "<unknown>") else { return }
      var issue = issue
      issue.compactDescription = message
      super.record(issue)
    }
  #else
    func fail(_ message: String, _ place: SourceLocation) {
      recordFailure(withDescription: message, inFile: place.filePath, atLine: place.line, expected: true)
    }

    /// Notes a failure of the running scenario; called by XCTest.
    open override func recordFailure(
      withDescription description: String, inFile filePath: String, atLine lineNumber: Int, expected: Bool
    ) {
      guard let message = noted(description, at: "\(filePath):\(lineNumber)") else { return }
      super.recordFailure(withDescription: message, inFile: filePath, atLine: lineNumber, expected: expected)
    }
  #endif
}
