import Basics
import DioramaScenarios
import Testing
import XCTest

@Suite("Screenshots of a scenario")
struct PageScreenshotTests {
  /// Runs two steps. The second one fails if asked. Returns the names of what was handed over.
  private func names(
    _ policy: ScreenshotPolicy, failed: Bool, screens: [FakeScreen] = [FakeScreen("Home")]
  ) async -> [String] {
    let shown = ScenarioScreens()
    ScenarioScreens.$current.withValue(shown) { for screen in screens { ScenarioScreens.show(screen) } }
    let names = Guarded<[String]>([])
    var recorder = ScreenshotRecorder(policy: policy, screens: shown) { _, _, name in names.withLock { $0.append(name) }
    }
    for step in ["a page", "a tap"] {
      await recorder.beforeStep(step)
      await recorder.afterStep(step, failed: failed && step == "a tap")
    }
    let kept = await recorder.scenarioEnded(failed: failed)
    let all = names.withLock { $0 }
    #expect(kept.count == all.count)
    return all
  }

  @Test("are taken of the failed step alone by default")
  func onFailure() async {
    #expect(await names(ScreenshotPolicy([.onFailure]), failed: true) == ["2 failed a tap.txt"])
    #expect(await names(ScreenshotPolicy([.onFailure]), failed: false) == [])
  }

  @Test("are kept before and after each step if the scenario fails, or always")
  func beforeAndAfter() async {
    let policy = ScreenshotPolicy([.onFailure, .beforeStep, .afterStep])
    let all = ["1 before a page.txt", "1 after a page.txt", "2 before a tap.txt", "2 failed a tap.txt"]
    #expect(await names(policy, failed: true) == all)
    #expect(await names(policy, failed: false) == [])
    let always = ScreenshotPolicy([.afterStep], lifetime: .keepAlways)
    #expect(await names(always, failed: false) == ["1 after a page.txt", "2 after a tap.txt"])
  }

  @Test("are taken at the end if a hook fails")
  func hook() async {
    let screens = ScenarioScreens()
    screens.add(FakeScreen("Home"))
    var recorder = ScreenshotRecorder(policy: ScreenshotPolicy([.onFailure]), screens: screens) { _, _, _ in }
    let kept = await recorder.scenarioEnded(failed: true)
    #expect(kept.map(\.name) == ["at the failed end"])
  }

  @Test("say why a screen has no picture, and name the screens if there are several")
  func broken() async {
    let screens = ScenarioScreens()
    screens.add(FakeScreen("broken"))
    screens.add(FakeScreen("Home"))
    var recorder = ScreenshotRecorder(policy: ScreenshotPolicy([.onFailure]), screens: screens) { _, _, _ in }
    await recorder.beforeStep("x/y")
    await recorder.afterStep("x/y", failed: true)
    let kept = await recorder.scenarioEnded(failed: true)
    #expect(kept.map(\.text) == ["no screenshot of fake: the screen is off", "Home"])
    #expect(kept.map(\.name) == ["1 failed x-y (fake)", "1 failed x-y (fake)"])
  }
}

@Suite("The policy of screenshots", .serialized)
struct ScreenshotPolicyTests {
  @Test("is set in the words of XCTest-Gherkin")
  func xctest() {
    let old = ScreenshotPolicy.standard
    defer { ScreenshotPolicy.standard = old }
    XCTestCase.setAutomaticScreenshotsBehaviour(
      [.onFailure, .beforeStep, .afterStep],
      quality: .medium,
      lifetime: .deleteOnSuccess)
    #expect(
      ScreenshotPolicy.standard
        == ScreenshotPolicy([.onFailure, .beforeStep, .afterStep], quality: .medium, lifetime: .deleteOnSuccess))
  }
}
