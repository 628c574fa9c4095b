#if canImport(XCUIAutomation) && !os(Linux)
  public import XCTest
  public import XCUIAutomation

  extension XCUIApplication {
    /// Hands an environment's launch contract to an app under UI test: call it before `launch()`.
    ///
    /// ```swift
    /// let app = XCUIApplication()
    /// try app.apply(environment)
    /// app.launch()
    /// ```
    ///
    /// - Parameter environment: a provisioned environment; the contract is good until it ends.
    /// - Throws: ``DioramaTestingError`` when the contract cannot be written.
    @MainActor
    public func apply(_ environment: TestEnvironment) throws {
      let handover = try environment.handover()
      launchEnvironment.merge(handover.variables) { $1 }
      launchArguments += handover.arguments
    }
  }
#endif
