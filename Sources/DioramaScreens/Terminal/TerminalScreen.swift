import Basics
import ChildProcesses
public import DioramaScenarios
import DioramaTesting
import Foundation
import LaunchContract

/// A program on its own terminal, for tests of what it draws.
///
/// Use it with page objects. It reports when the program has written, so waits don't need to poll.
///
/// ```swift
/// let terminal = try await TerminalScreen("less", arguments: ["README.md"])
/// try await terminal.wait(forText: "Diorama")
/// try await terminal.press(.end)
/// try await terminal.type("q")
/// #expect(try await terminal.waitForExit() == 0)
/// ```
///
/// The program starts with the variables of the current `TestEnvironment`, if there is one, and with `TERM` set to
/// `xterm-256color`. It ends when this object is released, or with the test process at the latest.
public final class TerminalScreen: Screen {
  private struct State {
    let emulator: TerminalEmulator
    var revision = 0
    /// Whether all output has been read.
    var hasEnded = false
  }

  private let state: Monitor<State>
  private let master: Master
  private let process: LaunchedProcess
  private let program: String

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - program: a path, or a name that is looked up beside the tests and in `PATH`.
  ///   - arguments: its arguments.
  ///   - columns: the width of the terminal.
  ///   - rows: the height of the terminal.
  ///   - variables: further environment variables.
  /// - Throws: ``ScreenError`` if the program cannot be started.
  public init(
    _ program: String, arguments: [String] = [], columns: Int = 80, rows: Int = 24, variables: [String: String] = [:]
  ) async throws {
    guard 1...1000 ~= columns, 1...1000 ~= rows else {
      throw ScreenError(.usage, "a terminal has 1 to 1000 columns and rows, not \(columns) × \(rows)")
    }
    self.program = program
    let inherited = ProcessInfo.processInfo.environment
    var all: [String: String] = [:]
    if let environment = try? TestEnvironment.current {
      all = try environment.launchEnvironment()
      all.merge(InheritedVariables.proxyExceptions(inherited)) { $1 }
    }
    all.merge(["TERM": "xterm-256color", "COLUMNS": "\(columns)", "LINES": "\(rows)"]) { $1 }
    all.merge(variables) { $1 }
    let terminal = try PseudoTerminal()
    master = Master(terminal.master)
    PseudoTerminal.resize(terminal.master, rows: rows, columns: columns)
    state = Monitor(State(emulator: try TerminalEmulator(rows: rows, columns: columns)))
    let folder: String
    do { folder = try TemporaryFolder.make() } catch { throw ScreenError(.notStarted, error.message) }
    do {
      let path = try Executable.find(program, path: inherited["PATH"])
      var spawn = Spawn(
        arguments: ([path] + arguments).map { Array($0.utf8) }, environment: InheritedVariables.all(overridden: all))
      // In a session of its own, the first terminal that is opened becomes the controlling one.
      spawn.ownSession = true
      spawn.files = [.open(terminal.path, flags: O_RDWR, as: 0), .pass(0, as: 1), .pass(0, as: 2)]
      process = try LaunchedProcess(spawn, folder: folder)
    } catch {
      try? FileManager.default.removeItem(atPath: folder)
      throw ScreenError(.notStarted, "\(error)")
    }
    let (master, state) = (master, state)
    Thread.detachNewThread { Self.read(master, state) }
  }

  deinit { process.send(SIGKILL, isExpected: true) }

  /// Reads until all processes on the terminal have closed it.
  private static func read(_ master: Master, _ state: Monitor<State>) {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 1)
    defer { buffer.deallocate() }
    while true {
      let count = Foundation.read(master.descriptor, buffer.baseAddress, buffer.count)
      if count < 0, errno == EINTR { continue }
      // Reading a terminal without users fails with EIO.
      guard count > 0 else { break }
      let answer = state.withLock { state in
        state.revision += 1
        return state.emulator.write(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
      }
      master.write(answer)
    }
    state.withLock { $0.hasEnded = true }
  }

  /// A short name for attachments.
  public var name: String { "terminal" }

  // MARK: Reading

  /// All rows, without the spaces at their ends.
  public func visibleText() async throws -> String { Self.text(state.withLock { $0.emulator.cells }) }

  private static func text(_ cells: [[TerminalCell]]) -> String {
    cells.map { row in
      let line = row.map(\.text).joined()
      return String(line.reversed().drop { $0 == " " }.reversed())
    }.joined(separator: "\n")
  }

  /// The cells, row by row.
  public var cells: [[TerminalCell]] { state.withLock { $0.emulator.cells } }

  /// The position of the cursor.
  public var cursor: TerminalPosition { state.withLock { $0.emulator.cursor } }

  /// Whether the cursor is shown.
  public var isCursorVisible: Bool { state.withLock { $0.emulator.isCursorVisible } }

  /// The title that the program has given the window.
  public var title: String { state.withLock { $0.emulator.title } }

  /// A number that grows with each change.
  public var revision: Int { state.withLock { $0.revision } }

  /// Waits until something has changed; see ``Screen``.
  public func waitForChange(after revision: Int, until deadline: ContinuousClock.Instant) async throws -> Int? {
    try await state.wait(until: deadline) { $0.revision > revision || $0.hasEnded }
    let new = state.withLock { $0.revision }
    return new > revision ? new : nil
  }

  // MARK: Keys

  /// Types a text as is.
  ///
  /// - Parameter text: the text; a line ends with `\r`, or with ``press(_:)``.
  /// - Throws: ``ScreenError`` if the program has ended.
  public func type(_ text: String) async throws { try await send(Array(text.utf8)) }

  /// Presses a key. What it sends depends on the mode that the program has set, as on a real terminal.
  ///
  /// - Parameter key: the key.
  /// - Throws: ``ScreenError`` if the program has ended.
  public func press(_ key: TerminalKey) async throws {
    try await send(state.withLock { $0.emulator.bytes(for: key) })
  }

  private func send(_ bytes: [UInt8]) async throws {
    guard process.ending == nil else {
      throw ScreenError(.ended, "\(program) has ended; it takes no keys" + ScreenError.seen(try await visibleText()))
    }
    master.write(bytes)
  }

  /// Changes the size of the terminal; the program gets SIGWINCH.
  ///
  /// - Parameters:
  ///   - columns: the new width.
  ///   - rows: the new height.
  /// - Throws: ``ScreenError`` for a size below 1 or above 1000.
  public func resize(columns: Int, rows: Int) throws {
    guard 1...1000 ~= columns, 1...1000 ~= rows else {
      throw ScreenError(.usage, "a terminal has 1 to 1000 columns and rows, not \(columns) × \(rows)")
    }
    state.withLock { state in
      state.emulator.resize(rows: rows, columns: columns)
      state.revision += 1
    }
    PseudoTerminal.resize(master.descriptor, rows: rows, columns: columns)
  }

  // MARK: End

  /// The exit status, or 128 plus the signal that ended the program; nil while it runs.
  public var exitStatus: Int32? { process.ending?.shellStatus }

  /// Waits until the program has ended and all of its output is drawn.
  ///
  /// - Parameter timeout: the time limit; ``Waiter/standard``'s by default.
  /// - Returns: the exit status, or 128 plus the signal that ended it.
  /// - Throws: ``ScreenError`` with what is visible at the time limit.
  @discardableResult
  public func waitForExit(timeout: Duration? = nil) async throws -> Int32 {
    let timeout = timeout ?? Waiter.standard.timeout
    let deadline = ContinuousClock.now + timeout
    if let ending = await process.end(within: timeout) {
      // A child process may keep the terminal open.
      try await state.wait(until: min(deadline, .now + .seconds(1))) { $0.hasEnded }
      return ending.shellStatus
    }
    try Task.checkCancellation()
    throw ScreenError(
      .timedOut, "\(program) did not end within \(timeout)" + ScreenError.seen(try await visibleText()))
  }

  /// Ends the program with SIGHUP, as closing a terminal does, and after 5 s with SIGKILL. Returns when it has ended.
  public func close() async {
    process.send(SIGHUP, isExpected: true)
    if await process.end(within: .seconds(5)) != nil { return }
    process.send(SIGKILL, isExpected: true)
    _ = await process.end(within: .seconds(60))
  }

  // MARK: Screenshots

  /// A screenshot of the terminal as SVG, regardless of the quality.
  public func screenshot(quality: ScreenshotQuality) async throws -> Screenshot {
    let (cells, cursor) = state.withLock { state in
      (state.emulator.cells, state.emulator.isCursorVisible && !state.hasEnded ? state.emulator.cursor : nil)
    }
    let text = Self.text(cells)
    let svg = TerminalPicture(cells: cells, cursor: cursor).svg(label: "Terminal: \(program)")
    return Screenshot(name: name, bytes: Array(svg.utf8), mediaType: "image/svg+xml", text: text)
  }
}

/// The user's side of a pseudo terminal; closed with its last reference.
private final class Master: Sendable {
  let descriptor: Int32

  init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  func write(_ bytes: [UInt8]) {
    var rest = bytes[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        return
      }
    }
  }
}
