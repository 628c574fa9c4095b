import Basics
@testable import DioramaScenarios
import Gherkin
import Testing

@Suite("The common steps of page objects")
struct CommonPageStepsTests {
  struct HomePage: PageObject {
    let screen: FakeScreen
    func isPresented() async throws -> Bool { try await screen.visibleText().contains("Home") }
  }

  struct LoginPage: PageObject {
    let screen: FakeScreen
    func isPresented() async throws -> Bool { try await screen.visibleText().contains("Log in") }
  }

  /// The same in steps as ``HomePage``.
  struct HomeScreen: PageObject {
    let screen: FakeScreen
    func isPresented() async throws -> Bool { true }
  }

  struct ReceiptPage: PageObject {
    let screen: ApplicationScreen
    func isPresented() async throws -> Bool { true }
  }

  struct Features: StepDefinitions {
    static let line = #line + 4
    let screen = FakeScreen()
    let pages: [any PageObject.Type]
    var steps: [DioramaScenarios.Step] {
      CommonPageSteps(pages, timeout: .milliseconds(50))
      Given("the app shows {string}") { (text: String) in
        ScenarioScreens.show(self.screen)
        self.screen.show(text)
      }
      When("the latest screen shows {string}") { (text: String) in
        try ScenarioScreens.latest(FakeScreen.self).show(text)
        _ = try await LoginPage(ScenarioScreens.latest())
      }
      Given("a picture") { ScenarioScreens.show(Picture()) }
      When("she opens the login page") {
        self.screen.show("Log in, please")
        _ = try await LoginPage(self.screen)
      }
    }
  }

  /// What can be seen, but not read.
  private struct Picture: ScreenshotSource {
    var name: String { "picture" }
    func screenshot(quality: ScreenshotQuality) async throws -> Screenshot {
      Screenshot(name: name, bytes: [], mediaType: "image/png")
    }
  }

  /// Runs a scenario with these steps.
  ///
  /// - Returns: the failures, each with its line.
  private func failures(
    of steps: String..., pages: [any PageObject.Type] = [HomePage.self, LoginPage.self]
  ) async throws -> [String] {
    let text = "Feature: Pages\n  Scenario: Visit\n" + steps.map { "    \($0)\n" }.joined()
    return try await ScenarioScreens.$current.withValue(ScenarioScreens()) {
      try await FeatureRun(text, Features(pages: pages)).failures.map { "\($0.place.line): \($0.message)" }
    }
  }

  @Test("pass when the page is presented, in each wording")
  func pass() async throws {
    let failures = try await failures(
      of: "Given the app shows 'Home'", "Then I see the home page", "And it is HomePage", "And I should see home",
      "When she opens the login page", "Then it is the login screen", "And I see the Login page")
    #expect(failures == [])
  }

  @Test("fail with the page that is presented instead, what the screen shows, and where the pages are listed")
  func fail() async throws {
    let failures = try await failures(
      of: "Given the app shows 'Home'", "When she opens the login page", "Then it is the home page",
      "And it is the login page")
    #expect(
      failures == [
        """
        5: HomePage was not presented within 0.05 seconds; LoginPage is presented instead; the screen shows:
            Log in, please
        (in the step defined at CommonPageStepsTests.swift:\(Features.line))
        """
      ])
  }

  @Test("fail without a screen that can be read")
  func noScreen() async throws {
    let expected =
      "no screen to check for HomePage; create a page object in an earlier step, or call ScenarioScreens.show(_:)"
    let without = try await failures(of: "Then it is the home page")
    #expect(without.count == 1)
    #expect(without.first?.hasPrefix("3: \(expected)") == true)
    let picture = try await failures(of: "Given a picture", "Then it is the home page")
    #expect(picture.first?.hasPrefix("4: \(expected)") == true)
  }

  @Test("fail for a page of another kind of screen, naming both")
  func otherScreen() async throws {
    let failures = try await failures(
      of: "Given the app shows 'Home'", "Then I see the receipt page", pages: [ReceiptPage.self])
    #expect(failures.count == 1)
    #expect(
      failures.first?.hasPrefix("4: ReceiptPage is made for ApplicationScreen, but the scenario shows FakeScreen")
        == true)
  }

  @Test("say that two pages have the same name, and stay usable by names that only one has")
  func sameName() async throws {
    let pages: [any PageObject.Type] = [HomePage.self, HomeScreen.self, HomePage.self]
    let failures = try await failures(
      of: "Given the app shows 'Home'", "Then it is the HomePage", "And it is the home page", pages: pages)
    #expect(failures.count == 1)
    #expect(
      failures.first?.hasPrefix(
        "5: HomePage and HomeScreen have the same name in steps; give one of them a different static var name") == true)
  }

  @Test("follow steps that look up the scenario's latest screen of their kind")
  func latest() async throws {
    let failures = try await failures(
      of: "Given the app shows 'Home'", "And a picture", "When the latest screen shows 'Log in'", "Then I see login")
    #expect(failures == [])
    let picture = try await self.failures(of: "Given a picture", "When the latest screen shows 'Log in'")
    #expect(picture.count == 1)
    #expect(
      picture.first?.hasPrefix(
        "4: no FakeScreen in this scenario, only Picture; create a page object in an earlier step, or call "
          + "ScenarioScreens.show(_:)") == true)
  }
}
