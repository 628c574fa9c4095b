import Basics

/// The screens of the running scenario, for screenshots and common steps.
///
/// A screen belongs to the scenario as soon as a ``PageObject`` is created for it, and until the scenario ends. Steps that
/// use no page objects register it with ``show(_:)``.
public final class ScenarioScreens: Sendable {
  private struct State {
    /// The latest one last.
    var sources: [any ScreenshotSource] = []
    var pages: [any PageObject.Type] = []
  }

  private let state = Guarded(State())

  package init() {}

  /// The screens of the scenario that this task runs.
  @TaskLocal package static var current: ScenarioScreens?

  /// Makes a screen, or another source of screenshots, the current one of the running scenario; has no effect outside of
  /// a scenario.
  ///
  /// - Parameter source: the screen.
  public static func show(_ source: some ScreenshotSource) { current?.add(source) }

  /// The running scenario's latest screen of a type, so that steps don't have to share it.
  ///
  /// ```swift
  /// When("{word} logs in") { name in try await LoginPage(ScenarioScreens.latest()).logIn(as: name) }
  /// ```
  ///
  /// - Parameter type: the type of the screen, if it cannot be inferred.
  /// - Returns: the screen.
  /// - Throws: ``ScreenError`` if the scenario has used no such screen.
  public static func latest<UI>(_ type: UI.Type = UI.self) throws -> UI {
    let screens = current?.sources ?? []
    if let screen = screens.lazy.compactMap({ $0 as? UI }).last { return screen }
    let used = Set(screens.map { "\(Swift.type(of: $0))" }).sorted()
    throw ScreenError(
      .usage,
      "no \(type) in this scenario" + (used.isEmpty ? "" : ", only \(used.joined(separator: " and "))")
        + "; create a page object in an earlier step, or call ScenarioScreens.show(_:)")
  }

  package func add(_ source: any ScreenshotSource) {
    state.withLock { state in
      state.sources.removeAll { Self.isSame($0, source) }
      state.sources.append(source)
    }
  }

  func noticePage<Page: PageObject>(_ page: Page.Type, on screen: Page.UI) {
    if let source = screen as? any ScreenshotSource { add(source) }
    state.withLock { state in
      if !state.pages.contains(where: { $0 == page }) { state.pages.append(page) }
    }
  }

  /// The screens, the latest one last.
  package var sources: [any ScreenshotSource] { state.withLock { $0.sources } }

  /// The pages created so far.
  var pages: [any PageObject.Type] { state.withLock { $0.pages } }

  private static func isSame(_ left: any ScreenshotSource, _ right: any ScreenshotSource) -> Bool {
    guard type(of: left) is AnyClass, type(of: right) is AnyClass else {
      return type(of: left) == type(of: right) && left.name == right.name
    }
    return (left as AnyObject) === (right as AnyObject)
  }
}
