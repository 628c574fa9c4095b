import Foundation
import HTTPMessages

/// A program that a test launches inside its environment, in the shape of `XCUIApplication`.
///
/// The program gets the environment's launch contract, and finds its clock, random values, toggles, credentials and
/// endpoints in it by `AppControls.launch()`. What it writes is kept as it comes: it can be waited for, read, and is
/// attached to the test when that fails. The program and what it starts are gone when the environment ends, at the
/// latest with the test process, however that ends.
///
/// ```swift
/// @Test(.environment(.replay, toggles: ["skip-onboarding": true]))
/// func booksASlot() async throws {
///   let app = TestApplication(executable: "clinic")
///   app.launchArguments = ["book"]
///   try await app.launch()
///   try await app.wait(forOutput: "booked")
///   try await app.wait(for: .exited(0))
/// }
/// ```
public final class TestApplication: Sendable {
  /// Which environment a program is launched in.
  public enum LaunchContext: Sendable {
    /// The one of the running test; without one, launching is an error.
    case current
    /// This one, as provisioned by `TestEnvironment.provision`.
    case environment(TestEnvironment)
    /// None: the program lives in the real environment, such as a backend that a recording is made from.
    case outside
  }

  struct Settings {
    var arguments: [String] = []
    var variables: [String: String] = [:]
    var passesPairs = true
    var process: LaunchedProcess?
  }

  /// The program, as it was named.
  public let executable: String
  let context: LaunchContext
  let settings = Guarded(Settings())

  /// Names a program; nothing is started yet.
  ///
  /// - Parameters:
  ///   - executable: a path, which is taken as it is, or a name, which is looked for beside the tests (where the
  ///     package's own executables are built), then in `PATH`.
  ///   - context: the environment to launch it in.
  public init(executable: String, in context: LaunchContext = .current) {
    self.executable = executable
    self.context = context
  }

  /// The program's arguments. A change counts from the next launch.
  public var launchArguments: [String] {
    get { settings.withLock { $0.arguments } }
    set { settings.withLock { $0.arguments = newValue } }
  }

  /// Variables for the program, beside those of the test process and of the environment; these outrank both. A change
  /// counts from the next launch.
  public var launchEnvironment: [String: String] {
    get { settings.withLock { $0.variables } }
    set { settings.withLock { $0.variables = newValue } }
  }

  /// Whether toggles and user defaults also come as `-key value` arguments, behind ``launchArguments``, where the
  /// argument domain of `UserDefaults` finds them. Turn it off for a program that refuses arguments it does not know.
  /// A change counts from the next launch.
  public var passesArgumentPairs: Bool {
    get { settings.withLock { $0.passesPairs } }
    set { settings.withLock { $0.passesPairs = newValue } }
  }

  /// What has become of the program.
  public var state: State {
    guard let process else { return .notRunning }
    return process.ending.map(State.init) ?? .running
  }

  /// The process's id; nil before the first launch. It may be another's once the program has ended.
  public var processIdentifier: Int32? { process?.pid }

  /// What the program has written to its standard output since it was launched.
  ///
  /// Up to 64 MiB are kept, and the end of what is longer. Bytes that are no UTF-8 read as U+FFFD.
  public var standardOutput: String { String(decoding: process?.bytes(.output) ?? [], as: UTF8.self) }

  /// What the program has written to its standard error since it was launched; see ``standardOutput``.
  public var standardError: String { String(decoding: process?.bytes(.errors) ?? [], as: UTF8.self) }

  var process: LaunchedProcess? { settings.withLock { $0.process } }

  /// The program's name without its path.
  var name: String { (executable as NSString).lastPathComponent }
}
