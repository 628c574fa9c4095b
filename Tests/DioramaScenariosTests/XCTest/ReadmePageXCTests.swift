import DioramaScenarios
import DioramaTesting
import Foundation
import XCTest

/// The README's page objects.
private struct OnboardingPageObject: PageObject {
  let screen: FakeScreen
  func isPresented() async throws -> Bool { try await screen.visibleText().contains("Welcome") }
}

private struct PageFeatures: StepDefinitions {
  let screen = FakeScreen()
  var steps: [Step] {
    CommonPageSteps([OnboardingPageObject.self])
    Given("I launch the app") {
      ScenarioScreens.show(self.screen)
      self.screen.show("Welcome")
    }
    Then("This value should be {int}") { (value: Int) in XCTAssertEqual(value, 100) }
  }
}

/// The README's page objects and common steps, as XCTests.
final class ReadmePageXCTests: ScenarioTestCase {
  override func makeSteps() -> [Step] { PageFeatures().steps }

  override func Background() { Given("I launch the app") }

  func testCommonSteps() {
    Then("I see onboarding")
    And("I see the onboarding")
    And("I should see onboarding")
    And("I should see the onboarding")
    And("it is onboarding")
    And("it is the onboarding")
    And("This value should be 100")
  }

  func testNameIsThatOfTheTypeWithoutItsSuffix() async throws {
    let page = try await OnboardingPageObject(FakeScreen("Welcome"))
    XCTAssertEqual(page.name, "Onboarding")
  }
}

/// A folder of feature files, and scenarios with environments.
final class NativeFolderXCTests: NativeTestCase {
  nonisolated(unsafe) private static var folder: URL?
  nonisolated(unsafe) private static var log: [String] = []

  private struct Features: StepDefinitions {
    var steps: [Step] {
      Given("a step in {word}") { (file: String) in NativeFolderXCTests.log.append(file) }
      Then("the clock is frozen") {
        let now = try await TestEnvironment.current.clock.now
        XCTAssertEqual(now.formatted(.iso8601), "2018-10-08T09:00:00Z")
        NativeFolderXCTests.log.append("frozen")
      }
    }
  }

  override class var path: URL? { folder }

  override func setUpWithError() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "features-\(UUID().uuidString)")
    Self.folder = folder
    Self.log = []
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    addTeardownBlock { try? FileManager.default.removeItem(at: folder) }
  }

  private func write(_ text: String, _ name: String) throws {
    try XCTUnwrap(Self.folder).appending(path: name).withUnsafeFileSystemRepresentation { path in
      try text.write(toFile: String(cString: try XCTUnwrap(path)), atomically: true, encoding: .utf8)
    }
  }

  func testFolderWithTwoFeatures() async throws {
    try write("Feature: B\n  Scenario: S\n    Given a step in b\n", "b.feature")
    try write("Feature: A\n  Scenario: S\n    Given a step in a\n", "a.feature")
    try await runFeatures(Features())
    XCTAssertEqual(Self.log, ["a", "b"])
  }

  func testTagsProvisionTheEnvironment() async throws {
    let scenario = "@frozen:2018-10-08T09:00Z @mode:mock\n  Scenario: S\n    Then the clock is frozen\n"
    try write("Feature: A\n  \(scenario)", "a.feature")
    try await runFeatures(Features())
    XCTAssertEqual(Self.log, ["frozen"])
  }
}
