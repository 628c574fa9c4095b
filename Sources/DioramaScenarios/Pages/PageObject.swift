/// A page of an app, with the actions that a user can take on it.
///
/// Creating a page object waits until its page is presented. If it is not, the error says what the screen shows. Actions
/// return the next page, so they can be chained:
///
/// ```swift
/// struct HomePage: PageObject {
///   let screen: ChromiumPage
///   func isPresented() async throws -> Bool { try await screen.visibleText().contains("Welcome") }
///
///   func tapLogin() async throws -> LoginPage {
///     try await screen.click(.role("link", "Log in"))
///     return try await LoginPage(screen)
///   }
/// }
///
/// try await HomePage(screen).tapLogin().typeName("ann").submit()
/// ```
///
/// ``CommonPageSteps`` has steps such as `Then I should see the home page`.
public protocol PageObject {
  /// The kind of screen that the page is on: a ``Screen``, or `any Screen` for a page that is the same on all kinds.
  associatedtype UI

  /// The screen that the page is on.
  var screen: UI { get }

  /// Creates the page object without a check. Call ``init(_:timeout:)`` instead.
  init(screen: UI)

  /// Whether the page is presented now. It should not wait.
  ///
  /// - Throws: an error if the screen cannot be read. It counts as not presented.
  func isPresented() async throws -> Bool

  /// The name in steps and messages. The default is the name of the type without its suffix `PageObject`.
  static var name: String { get }
}

extension PageObject {
  /// A short name for attachments.
  public static var name: String {
    let name = String(describing: Self.self)
    let suffix = "PageObject"
    return name.hasSuffix(suffix) && name != suffix ? String(name.dropLast(suffix.count)) : name
  }

  /// The name in steps and messages.
  public var name: String { Self.name }

  /// Creates the page object, and waits until its page is presented.
  ///
  /// - Parameters:
  ///   - screen: the screen.
  ///   - timeout: the time limit; ``Waiter/standard``'s by default.
  /// - Throws: ``ScreenError`` if the page is not presented in time, with what the screen shows.
  public init(_ screen: UI, timeout: Duration? = nil) async throws {
    self.init(screen: screen)
    let screens = ScenarioScreens.current
    screens?.noticePage(Self.self, on: screen)
    try await Self.wait(until: self, on: screen as? any Screen, timeout: timeout, among: screens?.pages ?? [])
  }

  /// Waits until the page is presented, as the initializer does. Call it after an action that stays on the page.
  ///
  /// - Parameter timeout: the time limit; ``Waiter/standard``'s by default.
  /// - Returns: the page object, for chaining.
  /// - Throws: ``ScreenError`` if the page is not presented in time, with what the screen shows.
  @discardableResult
  public func assertPresented(timeout: Duration? = nil) async throws -> Self {
    let pages = ScenarioScreens.current?.pages ?? []
    try await Self.wait(until: self, on: screen as? any Screen, timeout: timeout, among: pages)
    return self
  }

  static func wait(
    until page: Self, on screen: (any Screen)?, timeout: Duration?, among pages: [any PageObject.Type]
  ) async throws {
    do {
      try await eventually("the page", on: screen, timeout: timeout) { try await page.isPresented() }
    } catch let error as ScreenError where [.timedOut, .ended].contains(error.kind) {
      let limit = error.kind == .timedOut ? "within \(timeout ?? Waiter.standard.timeout)" : "before the screen ended"
      var message = "\(name) was not presented \(limit)"
      do { _ = try await page.isPresented() } catch { message += "; its isPresented() failed: \(error)" }
      if let screen {
        let others = await names(of: pages, presentedOn: screen)
        if !others.isEmpty { message += "; \(others.joined(separator: " and ")) is presented instead" }
        message += await screen.description()
      }
      throw ScreenError(.notPresented, message)
    }
  }

  /// The other pages that are presented.
  private static func names(of pages: [any PageObject.Type], presentedOn screen: any Screen) async -> [String] {
    var names: [String] = []
    for other in pages where other != Self.self {
      if await isPresented(other, on: screen) { names.append(other.name) }
    }
    return names
  }

  private static func isPresented<Other: PageObject>(_ other: Other.Type, on screen: any Screen) async -> Bool {
    guard let ui = screen as? Other.UI else { return false }
    do { return try await Other(screen: ui).isPresented() } catch { return false }
  }
}

/// The actions on one part of an app, without checking that its pages are presented.
///
/// ```swift
/// struct LoginRobot: Robot {
///   let screen: ChromiumPage
///   func enter(name: String) async throws { try await screen.type(name, into: .css("#name")) }
///   func submit() async throws { try await screen.click(.text("Log in")) }
/// }
///
/// try await LoginRobot(screen) {
///   try await $0.enter(name: "ann")
///   try await $0.submit()
/// }
/// ```
public protocol Robot {
  /// The kind of screen that the robot acts on.
  associatedtype UI

  /// The screen that the robot acts on.
  var screen: UI { get }

  /// Creates a robot for a screen.
  init(screen: UI)
}

extension Robot {
  /// Creates a robot, and runs a closure with it.
  ///
  /// - Parameters:
  ///   - screen: the screen.
  ///   - body: what the robot does.
  /// - Throws: the error of the closure.
  @discardableResult
  public init(_ screen: UI, _ body: (Self) async throws -> Void) async throws {
    self.init(screen: screen)
    try await body(self)
  }
}
