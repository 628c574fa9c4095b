import Basics
public import DioramaTesting

/// A program's standard output as a screen, and its standard input as the keyboard.
///
/// Only the output since the last entered line is visible, so a page object never mistakes an earlier page for its own.
///
/// ```swift
/// let app = TestApplication(executable: "clinic")
/// app.launchArguments = ["visit"]
/// try await app.launch()
/// let screen = ApplicationScreen(app)
/// try await ChoosePINPage(screen).choose("1234")
/// ```
public final class ApplicationScreen: Screen {
  /// The program.
  public let application: TestApplication
  /// The number of bytes of output before the visible text.
  private let start = Guarded(0)

  /// - Parameter application: the program; it can be launched later.
  public init(_ application: TestApplication) { self.application = application }

  /// A short name for attachments.
  public var name: String { application.executable.split(separator: "/").last.map(String.init) ?? "application" }

  /// The text that is visible now.
  public func visibleText() async throws -> String {
    let start = start.withLock { $0 }
    return String(decoding: application.standardOutput.utf8.dropFirst(start), as: UTF8.self)
  }

  /// A number that grows with each change.
  public var revision: Int { application.outputCount }

  /// Waits until something has changed; see ``Screen``.
  public func waitForChange(after revision: Int, until deadline: ContinuousClock.Instant) async throws -> Int? {
    let left = max(.zero, ContinuousClock.now.duration(to: deadline))
    return try await application.waitForOutput(beyond: revision, timeout: left)
  }

  /// The state of the program, and the ends of its output and its standard error.
  public var situation: String? { application.situation }

  /// Enters a line. Earlier output is no longer visible.
  ///
  /// - Parameter line: the line, without its end.
  /// - Throws: `DioramaTestingError` if the program is not running, or has closed its input.
  public func enter(_ line: String) async throws {
    start.withLock { $0 = application.standardOutput.utf8.count }
    try await application.write(line + "\n")
  }

  /// The visible text.
  public func screenshot(quality: ScreenshotQuality) async throws -> Screenshot {
    let text = try await visibleText()
    return Screenshot(name: name, bytes: Array(text.utf8), mediaType: "text/plain", text: text)
  }
}
