/// The steps that check which page is presented: `I see the home page`, `I should see …`, `it is …`, with or without
/// "the".
///
/// ```swift
/// struct Features: StepDefinitions {
///   var steps: [Step] {
///     CommonPageSteps([HomePage.self, LoginPage.self])
///     Booking()
///   }
/// }
/// ```
/// ```gherkin
/// Then I should see the login page
/// ```
///
/// A page is named by the words of its ``PageObject/name``; "page" or "screen" at the end may be left out or added:
/// `LoginPage` is "login", "login page" and "Login screen". The step waits until the page is presented.
public struct CommonPageSteps: StepDefinitions {
  private let pages: [any PageObject.Type]
  private let screen: (any Screen)?

  /// - Parameters:
  ///   - pages: the page objects that steps can name.
  ///   - screen: the screen to look at; nil for the one that the scenario used last (see ``ScenarioScreens``).
  public init(_ pages: [any PageObject.Type], on screen: (any Screen)? = nil) {
    self.pages = pages
    self.screen = screen
  }

  /// Two steps for each spelling of a page's name.
  @StepsBuilder public var steps: [Step] {
    for page in pages {
      for name in PageName.expressions(page.name) {
        Step("I (should )see (the )\(name)") { try await self.check(page) }
        Step("it is (the )\(name)") { try await self.check(page) }
      }
    }
  }

  private func check(_ page: any PageObject.Type) async throws {
    guard let screen = screen ?? ScenarioScreens.current?.screen else {
      throw ScreenError(
        .usage,
        "no screen to look for \(page.name) on; create a page object in an earlier step, or call ScenarioScreens.show(_:)"
      )
    }
    try await Self.check(page, on: screen)
  }

  private static func check<Page: PageObject>(_ page: Page.Type, on screen: any Screen) async throws {
    guard let ui = screen as? Page.UI else {
      throw ScreenError(.usage, "\(Page.name) is made for \(Page.UI.self), but the screen is \(type(of: screen))")
    }
    _ = try await Page(ui)
  }
}
