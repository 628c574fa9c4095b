import Basics
import CucumberExpressions
@testable import DioramaScenarios
import Testing

/// A screen whose text a test sets.
final class FakeScreen: Screen {
  private let state = Monitor((revision: 0, text: "", looks: 0))

  init(_ text: String = "") { show(text) }

  var name: String { "fake" }
  var looks: Int { state.withLock { $0.looks } }

  func show(_ text: String) {
    state.withLock { state in
      state.revision += 1
      state.text = text
    }
  }

  func visibleText() async throws -> String {
    state.withLock { state in
      state.looks += 1
      return state.text
    }
  }

  var revision: Int { state.withLock { $0.revision } }

  func waitForChange(after revision: Int, until deadline: ContinuousClock.Instant) async throws -> Int? {
    guard try await state.wait(until: deadline, for: { $0.revision > revision }) else { return nil }
    return self.revision
  }

  func screenshot(quality: ScreenshotQuality) async throws -> Screenshot {
    let text = try await visibleText()
    guard text != "broken" else { throw ScreenError(.ended, "the screen is off") }
    return Screenshot(name: name, bytes: Array(text.utf8), mediaType: "text/plain", text: text)
  }
}

@Suite("Page objects")
struct PageObjectTests {
  struct HomePage: PageObject {
    let screen: FakeScreen
    func isPresented() async throws -> Bool { try await screen.visibleText().contains("Home") }
    func tapLogin() async throws -> LoginPageObject {
      screen.show("Log in, please")
      return try await LoginPageObject(screen)
    }
  }

  struct LoginPageObject: PageObject {
    let screen: FakeScreen
    func isPresented() async throws -> Bool { try await screen.visibleText().hasPrefix("Log in") }
    func typeName(_ name: String) async throws -> Self {
      screen.show("Log in, please: \(name)")
      return try await assertPresented()
    }
    func submit() async throws -> HomePage {
      screen.show("Home of \(try await screen.visibleText().suffix(3))")
      return try await HomePage(screen)
    }
  }

  /// On any screen, with a check that neither waits nor throws.
  struct AnyPage: PageObject {
    let screen: any Screen
    func isPresented() -> Bool { true }
  }

  @Test("chains actions that return the next page")
  func chain() async throws {
    let screen = FakeScreen("Home")
    let home = try await HomePage(screen).tapLogin().typeName("ann").submit()
    #expect(try await home.screen.visibleText() == "Home of ann")
    _ = try await AnyPage(screen)
  }

  @Test("has the type's name without its suffix")
  func names() {
    #expect(LoginPageObject.name == "Login")
    #expect(HomePage(screen: FakeScreen()).name == "HomePage")
  }

  @Test("waits until the page is presented, and looks only when the screen has changed")
  func waits() async throws {
    let screen = FakeScreen("loading")
    async let page = HomePage(screen)
    try await eventually("the first look") { screen.looks == 1 }
    screen.show("still loading")
    try await eventually("the second look") { screen.looks == 2 }
    screen.show("Home")
    #expect(try await page.name == "HomePage")
    #expect(screen.looks == 3)
  }

  @Test("says what the screen shows, and which page, when it is not presented")
  func notPresented() async throws {
    let screen = FakeScreen("Log in, please\n\nForgot it?\n")
    let error = try await ScenarioScreens.$current.withValue(ScenarioScreens()) {
      _ = try await LoginPageObject(screen)
      return try await #require(throws: ScreenError.self) {
        _ = try await HomePage(screen, timeout: .milliseconds(20))
      }
    }
    #expect(error.kind == .notPresented)
    #expect(
      error.description
        == """
        HomePage was not presented within 0.02 seconds; Login is presented instead; the screen shows:
            Log in, please

            Forgot it?
        """.replacing("\n\n", with: "\n    \n"))
    let alone = try await #require(throws: ScreenError.self) {
      _ = try await HomePage(FakeScreen(), timeout: .milliseconds(20))
    }
    #expect(alone.description.hasSuffix("; the screen is empty"))
  }

  @Test(
    "are named in steps by their words, by one expression each",
    arguments: [
      ("HomePage", "I see home"), ("HomePage", "I should see the home page"), ("HomePage", "I see the Home screen"),
      ("HomePage", "I see the HomePage"), ("Onboarding", "I see onboarding screen"),
      ("SignIn", "I see the sign in page"),
      ("log-in (new)", "I see the log-in (new) page"), ("GPList", "I see the gp list"), ("Page", "I see the page"),
    ])
  func nameInSteps(name: String, step: String) throws {
    let matching = try PageName.expressions(name).filter {
      try CucumberExpression("I (should )see (the )\($0)", ParameterTypeRegistry()).match(step) != nil
    }
    #expect(matching.count == 1, "\(PageName.expressions(name))")
  }

  @Test("gives a robot to a closure")
  func robot() async throws {
    struct LoginRobot: Robot {
      let screen: FakeScreen
      func enter(name: String) { screen.show("entered \(name)") }
    }
    let screen = FakeScreen()
    try await LoginRobot(screen) { $0.enter(name: "ann") }
    #expect(try await screen.visibleText() == "entered ann")
  }
}

@Suite("Waiting for a condition")
struct EventuallyTests {
  @Test("returns the first value, checking at the interval without a screen")
  func value() async throws {
    var checks = 0
    let value = try await eventually("a number") { () -> Int? in
      checks += 1
      return checks == 3 ? checks : nil
    }
    #expect(value == 3)
  }

  @Test("says what was awaited, how long, and the last error")
  func timeOut() async throws {
    let error = try await #require(throws: ScreenError.self) {
      try await eventually("an order", timeout: .milliseconds(30)) { () -> Bool in
        throw ScreenError(.notFound, "no table")
      }
    }
    #expect(error.kind == .timedOut)
    #expect(
      error.description == "timed out after 0.03 seconds waiting for an order; the last check failed: no table")
  }

  @Test("ends when the task is cancelled")
  func cancelled() async throws {
    let screen = FakeScreen()
    let task = Task { try await screen.wait(forText: "never") }
    try await eventually("the first look") { screen.looks > 0 }
    task.cancel()
    await #expect(throws: CancellationError.self) { try await task.value }
  }

  @Test("waits for a pattern, and for the end of a text")
  func texts() async throws {
    let screen = FakeScreen("loading")
    async let gone: Void = screen.wait(forNoText: "loading")
    async let slot = screen.wait(forText: /slot (\d+)/)
    screen.show("slot 12")
    try await gone
    #expect(try await slot.1 == "12")
  }
}
