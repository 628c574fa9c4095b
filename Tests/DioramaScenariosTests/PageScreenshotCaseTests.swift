import Basics
import DioramaScenarios
import XCTest

/// A test case that sets the policy as XCTest-Gherkin's README does.
final class PageScreenshotCaseTests: XCTestCase {
  private let old = ScreenshotPolicy.standard

  override func setUp() {
    super.setUp()
    XCTestCase.setAutomaticScreenshotsBehaviour(
      [.onFailure, .beforeStep, .afterStep],
      quality: .medium,
      lifetime: .deleteOnSuccess)
  }

  override func tearDown() {
    ScreenshotPolicy.standard = old
    super.tearDown()
  }

  /// Takes the screenshots of a step.
  private func names(failed: Bool) async -> [String] {
    let screens = ScenarioScreens()
    screens.add(FakeScreen("Home"))
    let names = Guarded<[String]>([])
    var recorder = ScreenshotRecorder(screens: screens) { _, _, name in names.withLock { $0.append(name) } }
    await recorder.beforeStep("a tap")
    await recorder.afterStep("a tap", failed: failed)
    let kept = await recorder.scenarioEnded(failed: failed)
    XCTAssertEqual(kept.count, names.withLock { $0.count })
    return names.withLock { $0 }
  }

  func testAFailedScenarioKeepsItsScreenshots() async {
    let names = await names(failed: true)
    XCTAssertEqual(names, ["1 before a tap.txt", "1 failed a tap.txt"])
  }

  func testAScenarioThatPassesDeletesItsScreenshots() async {
    let names = await names(failed: false)
    XCTAssertEqual(names, [])
  }

  func testTheDefaultsOfTheCallAreThoseOfTheREADME() {
    XCTestCase.setAutomaticScreenshotsBehaviour([.onFailure])
    XCTAssertEqual(
      ScreenshotPolicy.standard, ScreenshotPolicy([.onFailure], quality: .medium, lifetime: .deleteOnSuccess))
    Self.setAutomaticScreenshotsBehaviour([.afterStep], quality: .low, lifetime: .keepAlways)
    XCTAssertEqual(ScreenshotPolicy.standard, ScreenshotPolicy([.afterStep], quality: .low, lifetime: .keepAlways))
  }
}
