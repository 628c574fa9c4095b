import Foundation
import Gherkin
import XCTest

@testable import DioramaScenarios

/// What ``FeatureTestCase`` reports of scenarios.
final class FeatureXCTests: XCTestCase {
  private final class Steps: StepDefinitions {
    nonisolated(unsafe) static var attempts = 0
    var steps: [DioramaScenarios.Step] {
      Given("a thrown error") { throw Difference(description: "it is wrong") }
      Given("a rejected value") { XCTAssertEqual(1, 2, "they differ") }
      Given("a step that works the second time") {
        Self.attempts += 1
        XCTAssertEqual(Self.attempts, 2)
      }
      Given("a skipped step") { throw SkippedStep("needs a printer") }
    }
  }

  override func setUp() { Steps.attempts = 0 }

  func testErrorIsReportedInTheFeature() throws {
    let found = run("a thrown error").failures
    try check(found.map(\.line), is: [4])
    try check(found[0].message.hasPrefix("it is wrong (in the step defined at FeatureXCTests.swift:"), is: true)
    try check(found[0].message.hasSuffix("\nin x.feature:4: Given a thrown error"), is: true)
  }

  func testAssertionKeepsItsLineAndNamesTheFeature() throws {
    let found = run("a rejected value").failures
    try check(found.map(\.line), is: [13])
    try check(found[0].message.hasSuffix("they differ\nin x.feature:4: Given a rejected value"), is: true)
  }

  func testUndefinedStepIsReportedInTheFeature() throws {
    let found = run("a thrown errors").failures
    try check(found.map(\.line), is: [4])
    try check(
      found[0].message.hasPrefix("undefined step: Given a thrown errors\nsimilar: 'a thrown error' ("), is: true)
  }

  func testRetriedScenarioReportsOnlyItsLastAttempt() throws {
    try check(run("a step that works the second time", tags: "@retry:1").failures, is: [])
    try check(Steps.attempts, is: 2)
  }

  func testScenarioThatFailsInAllAttemptsIsReportedOnce() throws {
    try check(run("a thrown error", tags: "@retry:2").failures.map(\.line), is: [4])
  }

  func testSkippedStepSkipsTheTest() throws {
    CapturingRun.isSilent = false
    defer { CapturingRun.isSilent = true }
    let run = run("a skipped step")
    try check(run.failures, is: [])
    try check(run.hasBeenSkipped, is: true)
  }

  func testFileThatIsNotValidFailsAtItsLineAndTheOthersRun() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "features-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    FolderTestCase.folder = folder
    try "Feature: A\n\n  Scenario: S\n    Given a step\n  oops\n".write(
      to: folder.appending(path: "a.feature"), atomically: true, encoding: .utf8)
    try "Feature: B\n  Scenario: S\n    Given nothing like it\n".write(
      to: folder.appending(path: "b.feature"), atomically: true, encoding: .utf8)
    let run = asynchronousRun(of: FolderTestCase.self) { try await $0.runFeatures(Steps()) }
    try check(run.failures.map(\.line), is: [5, 3])
  }

  private final class FolderTestCase: ExampleFeatureTestCase {
    nonisolated(unsafe) static var folder: URL?
    override class var path: URL? { folder }
  }

  private func run(_ step: String, tags: String = "") -> CapturingRun {
    let text = "Feature: F\n  \(tags)\n  Scenario: S\n    Given \(step)\n"
    return asynchronousRun(of: ExampleFeatureTestCase.self) { test in
      let document = try GherkinParser().parse(text, uri: "x.feature")
      for scenario in PackedScenario.all(in: document) {
        try await test.run(scenario: scenario.packed, of: "F", in: "/features/x.feature", Steps())
      }
    }
  }
}
