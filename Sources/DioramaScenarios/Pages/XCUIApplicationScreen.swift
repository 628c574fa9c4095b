#if canImport(XCUIAutomation) && !os(Linux)
  import Basics
  public import XCTest
  public import XCUIAutomation

  /// The screen of an app under UI test. XCUIAutomation does not report changes, so waits check every ``Waiter/interval``.
  ///
  /// ```swift
  /// let screen = XCUIApplicationScreen(XCUIApplication())
  /// ```
  public final class XCUIApplicationScreen: Screen {
    /// The app.
    @MainActor public let application: XCUIApplication
    private let checks = Guarded(0)

    /// - Parameter application: the app.
    @MainActor public init(_ application: XCUIApplication) { self.application = application }

    /// A short name for attachments.
    public var name: String { "screen" }

    /// The labels and values of the app's elements that are on the screen, top to bottom.
    @MainActor public func visibleText() async throws -> String {
      let elements = application.descendants(matching: .any).allElementsBoundByIndex.filter(\.isHittable)
      let texts = elements.map { $0.label.isEmpty ? ($0.value as? String ?? "") : $0.label }
      return texts.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    /// A number that grows with each change.
    public var revision: Int { checks.withLock { $0 } }

    /// Waits until something has changed; see ``Screen``.
    public func waitForChange(after revision: Int, until deadline: ContinuousClock.Instant) async throws -> Int? {
      let now = ContinuousClock.now
      guard now < deadline else { return nil }
      try await Delay.sleep(until: min(deadline, now + Waiter.standard.interval))
      return checks.withLock { checks in
        checks += 1
        return checks
      }
    }

    /// A picture of the device's main screen, as PNG regardless of the quality.
    @MainActor public func screenshot(quality: ScreenshotQuality) async throws -> Screenshot {
      let image = XCUIScreen.main.screenshot()
      return Screenshot(name: name, bytes: Array(image.pngRepresentation), mediaType: "image/png", text: nil)
    }
  }
#endif
