import Basics
import ChildProcesses
import Foundation
import HTTPMessages
import LaunchContract

/// A program that a test launches in its environment, similar to `XCUIApplication`.
///
/// The program gets the environment's launch contract; `AppControls.launch()` reads clock, random values, toggles,
/// credentials and endpoints from it. A test can wait for the program's output and read it; a failed test gets it as
/// attachment. The program and the processes it starts end with the environment, or with the test process at the latest.
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
  /// The environment to launch a program in.
  public enum LaunchContext: Sendable {
    /// The environment of the running test. Launching fails without one.
    case current
    /// An environment made by `TestEnvironment.provision`.
    case environment(TestEnvironment)
    /// No environment, for programs such as a backend to record from.
    case outside
  }

  struct Settings {
    var arguments: [String] = []
    var variables: [String: String] = [:]
    var passesPairs = true
    var process: LaunchedProcess?
  }

  /// The program, as named by the test.
  public let executable: String
  let context: LaunchContext
  let settings = Guarded(Settings())

  /// Creates an application without launching it.
  ///
  /// - Parameters:
  ///   - executable: a path, which is used unchanged, or a name, which is looked up beside the tests (where the
  ///     package's executables are built), then in `PATH`.
  ///   - context: the environment to launch it in.
  public init(executable: String, in context: LaunchContext = .current) {
    self.executable = executable
    self.context = context
  }

  /// The program's arguments. A change takes effect with the next launch.
  public var launchArguments: [String] {
    get { settings.withLock { $0.arguments } }
    set { settings.withLock { $0.arguments = newValue } }
  }

  /// Environment variables for the program. They override those of the test process and of the environment. A change takes
  /// effect with the next launch.
  public var launchEnvironment: [String: String] {
    get { settings.withLock { $0.variables } }
    set { settings.withLock { $0.variables = newValue } }
  }

  /// Whether toggles and user defaults are also passed as `-key value` arguments after ``launchArguments``, for the
  /// argument domain of `UserDefaults`. Turn it off for a program that rejects unknown arguments. A change takes effect
  /// with the next launch.
  public var passesArgumentPairs: Bool {
    get { settings.withLock { $0.passesPairs } }
    set { settings.withLock { $0.passesPairs = newValue } }
  }

  /// The state of the program.
  public var state: State {
    guard let process else { return .notRunning }
    return process.ending.map(State.init) ?? .running
  }

  /// The process ID; nil before the first launch. It may be reused after the program has ended.
  public var processIdentifier: Int32? { process?.pid }

  /// The program's standard output since its launch.
  ///
  /// The first 64 MiB and the end are kept. Bytes that are not UTF-8 are replaced with U+FFFD.
  public var standardOutput: String { String(decoding: process?.bytes(.output) ?? [], as: UTF8.self) }

  /// The program's standard error since its launch; see ``standardOutput``.
  public var standardError: String { String(decoding: process?.bytes(.errors) ?? [], as: UTF8.self) }

  var process: LaunchedProcess? { settings.withLock { $0.process } }

  /// The program's name without its path.
  var name: String { (executable as NSString).lastPathComponent }
}

extension TestApplication {
  /// The state of the application's process.
  public enum State: Sendable, Equatable {
    /// It was not launched.
    case notRunning
    /// It is running.
    case running
    /// It exited with a status.
    case exited(Int32)
    /// A signal ended it: a crash, `terminate()` or another process.
    case killed(signal: Int32)

    init(_ status: WaitStatus) {
      if let signal = status.signal {
        self = .killed(signal: signal)
      } else {
        self = .exited(status.shellStatus)
      }
    }

    /// A clause for messages: `it is running`.
    var text: String {
      switch self {
      case .notRunning: "it is not running"
      case .running: "it is running"
      case .exited(let status): "it exited with status \(status)"
      case .killed(let signal): "it was killed by signal \(signal)\(Self.names[signal].map { " (\($0))" } ?? "")"
      }
    }

    /// Whether it ended because of an error in it.
    var isCrash: Bool {
      if case .killed = self { true } else { false }
    }

    // The same numbers on Linux and Apple platforms.
    private static let names: [Int32: String] = [
      1: "SIGHUP", 2: "SIGINT", 3: "SIGQUIT", 4: "SIGILL", 5: "SIGTRAP", 6: "SIGABRT", 8: "SIGFPE", 9: "SIGKILL",
      11: "SIGSEGV", 13: "SIGPIPE", 14: "SIGALRM", 15: "SIGTERM",
    ]
  }
}

extension TestApplication {
  /// The time for a program to end after SIGTERM.
  static let grace = Duration.seconds(5)

  /// Launches the program in its environment. Returns when it runs. A running program is terminated first.
  ///
  /// ```swift
  /// let app = TestApplication(executable: "clinic")
  /// try await app.launch()
  /// ```
  ///
  /// - Throws: ``DioramaTestingError`` if the program does not exist, or without an environment.
  public func launch() async throws {
    await terminate()
    let environment: TestEnvironment? =
      switch context {
      case .current: try TestEnvironment.current
      case .environment(let environment): environment
      case .outside: nil
      }
    let inherited = ProcessInfo.processInfo.environment
    let program = try Executable.find(executable, path: inherited["PATH"])
    let wishes = settings.withLock { $0 }
    var arguments = [program] + wishes.arguments
    var variables: [String: String] = [:]
    let folder: String
    do { folder = try TemporaryFolder.make() } catch { throw DioramaTestingError(.notStarted, error.message) }
    do {
      if let environment {
        let parameters = try await environment.refreshedLaunchParameters(in: folder)
        variables = parameters.variables
        variables.merge(InheritedVariables.proxyExceptions(inherited)) { $1 }
        if wishes.passesPairs { arguments += parameters.arguments }
      }
      variables.merge(wishes.variables) { $1 }
      let spawn = Spawn(
        arguments: arguments.map { Array($0.utf8) }, environment: InheritedVariables.all(overridden: variables))
      let process = try LaunchedProcess(spawn, folder: folder)
      settings.withLock { $0.process = process }
    } catch {
      try? FileManager.default.removeItem(atPath: folder)
      if let error = error as? NotStarted { throw DioramaTestingError(.notStarted, error.message) }
      throw error
    }
    // A program launched outside also ends with the test if the test has an environment.
    (environment ?? (try? TestEnvironment.current))?.adopt(self)
  }

  /// Ends the program and its process group: sends SIGTERM, and SIGKILL after 5 s. Returns when the program has ended and
  /// all of its output is read; at once if it is not running.
  public func terminate() async {
    guard let process, process.ending == nil else { return }
    process.send(SIGTERM, isExpected: true)
    if await isOver(process, within: Self.grace) { return }
    process.send(SIGKILL, isExpected: true)
    _ = await isOver(process, within: .seconds(3600))
  }

  /// In a separate task, so that a cancelled test cleans up as well.
  private func isOver(_ process: LaunchedProcess, within timeout: Duration) async -> Bool {
    await Task.detached {
      do {
        return try await process.wait(timeout: timeout) { $0.ending == nil ? nil : true }
      } catch {
        return false
      }
    }.value
  }
}

extension TestApplication {
  /// An output stream of the program.
  public enum Stream: Sendable {
    /// Standard output.
    case output
    /// Standard error.
    case error
  }

  /// Waits for a state of the program.
  ///
  /// `.notRunning` matches every state in which the program does not run. Waiting for an end marks it as expected; an
  /// unexpected end by a signal fails the test when its environment ends.
  ///
  /// - Parameters:
  ///   - state: the state to wait for.
  ///   - timeout: the time limit.
  /// - Throws: ``DioramaTestingError`` at the time limit, or if the program ended in another way, with the last lines of
  ///   its output.
  public func wait(for state: State, timeout: Duration = .seconds(30)) async throws {
    guard let process else {
      guard state == .notRunning else { throw notLaunched() }
      return
    }
    if state == .running {
      guard process.ending == nil else { throw failure(.ended, "\(name) is not running", process) }
      return
    }
    do throws(LaunchedProcess.WaitFailure) {
      let ending = try await process.wait(timeout: timeout) { $0.ending }
      if state != .notRunning, State(ending) != state {
        throw .ended
      }
      process.expectEnd()
    } catch {
      throw failure(error, "\(name) did not end as expected (\(state.text))", timeout, process)
    }
  }

  /// Waits until the program has written a text. Each wait starts after the last match on the stream.
  ///
  /// ```swift
  /// try await app.wait(forOutput: "ready")
  /// ```
  ///
  /// - Parameters:
  ///   - text: the text to wait for.
  ///   - stream: the output stream.
  ///   - timeout: the time limit.
  /// - Throws: ``DioramaTestingError`` at the time limit, or if the program ended without writing the text, with the last
  ///   lines of its output.
  public func wait(
    forOutput text: String, on stream: Stream = .output, timeout: Duration = .seconds(30)
  ) async throws {
    let bytes = Array(text.utf8)
    let scanned = Scanned()
    _ = try await wait(what: "did not write '\(text)'", timeout) { state -> Bool? in
      switch stream {
      case .output: state.output.take(bytes, scanned: &scanned.count) ? true : nil
      case .error: state.errors.take(bytes, scanned: &scanned.count) ? true : nil
      }
    }
  }

  /// Waits until the program has written text that matches a pattern. Each wait starts after the last match on the stream.
  ///
  /// ```swift
  /// let line = try await backend.wait(forOutput: /http:\/\/127\.0\.0\.1:\d+/)
  /// ```
  ///
  /// The pattern is matched with the output so far, at most the last megabyte. If later output can extend the match (`.*`
  /// at the end), end the pattern with the line's end.
  ///
  /// - Parameters:
  ///   - pattern: the pattern to wait for.
  ///   - stream: the output stream.
  ///   - timeout: the time limit.
  /// - Returns: the matching text.
  /// - Throws: ``DioramaTestingError``, as for a text.
  @discardableResult
  public func wait(
    forOutput pattern: some RegexComponent, on stream: Stream = .output, timeout: Duration = .seconds(30)
  ) async throws -> String {
    // A pattern is immutable, but its type is not Sendable.
    nonisolated(unsafe) let pattern = pattern.regex
    return try await wait(what: "wrote no text that matches the pattern", timeout) { state in
      switch stream {
      case .output: state.output.take(pattern)
      case .error: state.errors.take(pattern)
      }
    }
  }

  /// The number of bytes on standard output so far.
  package var outputCount: Int { process?.state.withLock { $0.output.count } ?? 0 }

  /// Waits until there is more than `count` bytes of standard output.
  ///
  /// - Returns: the number of bytes; nil if there is no more output at the time limit or the program's end.
  /// - Throws: `CancellationError`.
  package func waitForOutput(beyond count: Int, timeout: Duration) async throws -> Int? {
    guard let process else { throw notLaunched() }
    do throws(LaunchedProcess.WaitFailure) {
      return try await process.wait(timeout: timeout) { $0.output.count > count ? $0.output.count : nil }
    } catch {
      guard error == .cancelled else { return nil }
      throw CancellationError()
    }
  }

  /// The end of its output and its state, for failure messages.
  package var situation: String { "\(name): \(state.text)\(process?.tail() ?? "")" }

  /// Writes to the program's standard input, and waits while the program does not read.
  ///
  /// - Parameter text: the text to write.
  /// - Throws: ``DioramaTestingError`` if the program is not running, or has closed its input.
  public func write(_ text: String) async throws {
    guard let process else { throw notLaunched() }
    guard await process.write(Array(text.utf8)) else {
      throw failure(.ended, "\(name) has closed its standard input", process)
    }
  }

  /// Closes the program's standard input, so that it reads the end of the file.
  public func closeInput() { process?.closeInput() }

  /// The position up to which a text was not found; used only under the process's lock.
  private final class Scanned: @unchecked Sendable {
    var count = 0
  }

  private func wait<Value: Sendable>(
    what: String, _ timeout: Duration, _ check: @escaping @Sendable (inout LaunchedProcess.State) -> Value?
  ) async throws -> Value {
    guard let process else { throw notLaunched() }
    do { return try await process.wait(timeout: timeout, check) } catch {
      throw failure(error, "\(name) \(what)", timeout, process)
    }
  }

  private func failure(
    _ failure: LaunchedProcess.WaitFailure, _ what: String, _ timeout: Duration, _ process: LaunchedProcess
  ) -> any Error {
    switch failure {
    case .cancelled: CancellationError()
    case .timedOut: self.failure(.timedOut, "\(what) within \(timeout)", process)
    case .ended: self.failure(.ended, what, process)
    }
  }

  private func failure(
    _ kind: DioramaTestingError.Kind, _ what: String, _ process: LaunchedProcess
  ) -> DioramaTestingError {
    DioramaTestingError(kind, "\(what); \(state.text)\(process.tail())")
  }

  private func notLaunched() -> DioramaTestingError {
    DioramaTestingError(.usage, "\(name) has not been launched; call launch() first")
  }
}

#if canImport(XCUIAutomation) && !os(Linux)
  public import XCTest
  public import XCUIAutomation

  extension XCUIApplication {
    /// Passes an environment's launch contract to an app under UI test. Call it before `launch()`.
    ///
    /// ```swift
    /// let app = XCUIApplication()
    /// try app.apply(environment)
    /// app.launch()
    /// ```
    ///
    /// - Parameter environment: a provisioned environment. The contract is valid until it ends.
    /// - Throws: ``DioramaTestingError`` if the contract cannot be written.
    @MainActor
    public func apply(_ environment: TestEnvironment) throws {
      let parameters = try environment.launchParameters()
      launchEnvironment.merge(parameters.variables) { $1 }
      launchArguments += parameters.arguments
    }
  }
#endif
