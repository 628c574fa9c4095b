/// A screen that shows a user interface: its text, its changes, and screenshots of it.
///
/// ``PageObject``s act on screens. A screen reports its changes, so waits don't need to sleep:
///
/// ```swift
/// let screen = ApplicationScreen(app)
/// try await screen.wait(forText: "choose a PIN:")
/// ```
public protocol Screen: ScreenshotSource {
  /// The text that is visible now, line by line.
  ///
  /// - Throws: an error if the screen cannot be read, such as ``ScreenError``.
  func visibleText() async throws -> String

  /// A number that grows with each change of the screen.
  var revision: Int { get }

  /// Waits until the screen has changed.
  ///
  /// - Parameters:
  ///   - revision: the ``revision`` before the screen was last read.
  ///   - deadline: when to give up.
  /// - Returns: the new revision, immediately if it is already greater; nil if nothing changed until the deadline, or if
  ///   nothing can change any more.
  /// - Throws: `CancellationError` when the task is cancelled.
  func waitForChange(after revision: Int, until deadline: ContinuousClock.Instant) async throws -> Int?

  /// More information about a failed wait, such as a program's exit status and its standard error. The default is nil.
  var situation: String? { get }
}

extension Screen {
  /// nil.
  public var situation: String? { nil }

  /// Waits until a text is visible.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - timeout: the time limit; ``Waiter/standard``'s by default.
  /// - Throws: ``ScreenError`` with what is visible at the time limit.
  public func wait(forText text: String, timeout: Duration? = nil) async throws {
    try await eventually("the text '\(text)'", on: self, timeout: timeout) { try await visibleText().contains(text) }
  }

  /// Waits until visible text matches a pattern.
  ///
  /// ```swift
  /// let slot = try await screen.wait(forText: /slot (\d+)/)
  /// ```
  ///
  /// - Parameters:
  ///   - pattern: the pattern.
  ///   - timeout: the time limit; ``Waiter/standard``'s by default.
  /// - Returns: the output of the first match.
  /// - Throws: ``ScreenError`` with what is visible at the time limit.
  @discardableResult
  public func wait<Output>(forText pattern: Regex<Output>, timeout: Duration? = nil) async throws -> Output {
    try await eventually("text that matches the pattern", on: self, timeout: timeout) {
      try await visibleText().firstMatch(of: pattern)?.output
    }
  }

  /// Waits until a text is no longer visible.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - timeout: the time limit; ``Waiter/standard``'s by default.
  /// - Throws: ``ScreenError`` with what is visible at the time limit.
  public func wait(forNoText text: String, timeout: Duration? = nil) async throws {
    try await eventually("the end of the text '\(text)'", on: self, timeout: timeout) {
      try await !visibleText().contains(text)
    }
  }
}
