import Testing

/// Steps that check which page is presented: `I see the home page`, `I should see …`, `it is …`, with or without
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
/// A page's name is the words of its ``PageObject/name``; "page" or "screen" at the end is optional:
/// `LoginPage` is "login", "login page" and "Login screen". The step waits until the page is presented on the
/// scenario's latest screen of the page's type.
public struct CommonPageSteps: StepDefinitions {
  private let pages: [any PageObject.Type]
  private let screen: (any Screen)?
  private let timeout: Duration?
  /// Where the pages are listed. Messages report it as the location of the steps.
  private let place: SourceLocation

  /// - Parameters:
  ///   - pages: the page objects that steps can name.
  ///   - screen: the screen to check; nil for the scenario's latest screen (see ``ScenarioScreens``).
  ///   - timeout: how long a step waits for a page; ``Waiter/standard``'s time limit by default.
  ///   - fileID: the location that messages report for the steps; by default of the call.
  ///   - filePath: the path of the file; by default of the call.
  ///   - line: the line; by default of the call.
  ///   - column: the column; by default of the call.
  public init(
    _ pages: [any PageObject.Type], on screen: (any Screen)? = nil, timeout: Duration? = nil,
    fileID: String = #fileID, filePath: String = #filePath, line: Int = #line, column: Int = #column
  ) {
    self.pages = pages
    self.screen = screen
    self.timeout = timeout
    place = SourceLocation(fileID: fileID, filePath: filePath, line: line, column: column)
  }

  /// Two steps for each spelling of a page's name.
  @StepsBuilder public var steps: [Step] {
    for (name, pages) in pagesByName {
      step("I (should )see (the )\(name)") { try await self.check(pages) }
      step("it is (the )\(name)") { try await self.check(pages) }
    }
  }

  private func step(_ expression: String, _ body: @escaping () async throws -> Void) -> Step {
    Step(
      expression, fileID: place.fileID, filePath: place.filePath, line: place.line, column: place.column, body)
  }

  /// The pages by the expressions for their names. A name that several pages share is one step, which says so.
  private var pagesByName: [(name: String, pages: [any PageObject.Type])] {
    var all: [(name: String, pages: [any PageObject.Type])] = []
    for page in pages {
      for name in PageName.expressions(page.name) {
        if let index = all.firstIndex(where: { $0.name == name }) {
          if !all[index].pages.contains(where: { $0 == page }) { all[index].pages.append(page) }
        } else {
          all.append((name, [page]))
        }
      }
    }
    return all
  }

  private func check(_ pages: [any PageObject.Type]) async throws {
    let page = pages[0]
    guard pages.count == 1 else {
      let names = pages.map { "\($0)" }.joined(separator: " and ")
      throw ScreenError(.usage, "\(names) have the same name in steps; give one of them a different static var name")
    }
    let screens = screen.map { [$0] } ?? ScenarioScreens.current?.sources.compactMap { $0 as? any Screen } ?? []
    guard !screens.isEmpty else {
      throw ScreenError(
        .usage,
        "no screen to check for \(page.name); create a page object in an earlier step, or call ScenarioScreens.show(_:)"
      )
    }
    try await Self.check(page, on: screens, timeout)
  }

  private static func check<Page: PageObject>(_ page: Page.Type, on screens: [any Screen], _ timeout: Duration?)
    async throws
  {
    guard let ui = screens.lazy.compactMap({ $0 as? Page.UI }).last else {
      let types = screens.map { "\(type(of: $0))" }.joined(separator: " and ")
      throw ScreenError(.usage, "\(Page.name) is made for \(Page.UI.self), but the scenario shows \(types)")
    }
    _ = try await Page(ui, timeout: timeout)
  }
}
