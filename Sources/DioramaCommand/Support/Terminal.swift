import ControlAPI
import Basics
import Dispatch
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Standard error for Diorama's own messages, in color on a terminal.
///
/// Control characters are escaped, so data can't control a terminal or add lines.
struct Terminal: Sendable {
  /// Whether it is a terminal whose lines can be redrawn.
  private let isRich: Bool
  /// Whether to use colors (https://no-color.org, and `CLICOLOR_FORCE` for pipes).
  private let isColoured: Bool

  /// - Parameter descriptor: 2, or 1 for reports that go to standard output.
  init(_ descriptor: Int32 = 2) {
    let environment = ProcessInfo.processInfo.environment
    let isPlain = !environment["NO_COLOR", default: ""].isEmpty
    isRich = isatty(descriptor) == 1 && !isPlain && !["", "dumb"].contains(environment["TERM", default: ""])
    isColoured = isRich || (!isPlain && !["", "0"].contains(environment["CLICOLOR_FORCE", default: ""]))
  }

  enum Style: String {
    case red = "31"
    case green = "32"
    case yellow = "33"
    case dim = "2"
    case bold = "1"
  }

  /// Returns text in a style, if colors are used.
  private func styled(_ text: String, _ style: Style) -> String {
    isColoured ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// Returns a part of a report in its style.
  private func styled(_ text: String, _ style: ReportText.Style) -> String {
    switch style {
    case .good: styled(text, .green)
    case .bad: styled(text, .red)
    case .doubtful: styled(text, .yellow)
    }
  }

  /// Writes a message.
  func line(_ text: String) {
    Self.write(styled("diorama:", .dim) + " \(text.escapedForTerminal)\n")
  }

  /// Writes a report.
  func report(_ text: ReportText) {
    Self.write(styled("diorama:", .dim) + " " + lines(of: text).joined(separator: "\n  ") + "\n")
  }

  /// The lines of a report in its styles.
  func lines(of text: ReportText) -> [String] { text.lines(styled) }

  /// Writes the one line that says why a command failed.
  func error(_ text: String) {
    Self.write(styled("diorama:", .red) + " \(text.escapedForTerminal)\n")
  }

  /// Uses write(2), which ignores a missing reader, so that the recording is still saved.
  private static func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(2, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Runs work that may take long. After a second, a terminal shows its description and how long it has run.
  func progress<Result, Failure: Error>(
    _ what: String, _ work: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard isRich else { return try work() }
    let start = ContinuousClock.now
    let isOver = Guarded(false)
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + 1, repeating: 0.2)
    timer.setEventHandler {
      let seconds = Int((ContinuousClock.now - start) / .seconds(1))
      // Under the lock, so that no line is drawn after the last one was erased.
      isOver.withLock { over in
        guard !over else { return }
        Self.write("\r\u{1B}[2K\(what.escapedForTerminal) … \(seconds) s")
      }
    }
    timer.resume()
    defer {
      timer.cancel()
      isOver.withLock { $0 = true }
      if ContinuousClock.now - start > .seconds(1) { Self.write("\r\u{1B}[2K") }
    }
    return try work()
  }
}

/// The terminal, and which process group owns it: ours or the command's.
///
/// If both standard input and output are the terminal, the command gets it at once. Otherwise another program may use
/// it (`diorama run … | less`), and the command gets it on request: the kernel stops a background process that reads
/// the terminal.
struct CommandTerminal: ~Copyable {
  private let descriptor: Int32
  /// Whether the command gets the terminal whenever we own it.
  private var isHandedOver: Bool

  /// Opens the controlling terminal, if any.
  init() {
    descriptor = open("/dev/tty", O_RDWR | O_CLOEXEC)
    isHandedOver = isatty(0) == 1 && isatty(1) == 1
  }

  deinit { if descriptor >= 0 { close(descriptor) } }

  /// The terminal, if the command gets it before its first instruction. Otherwise, a key typed at its first prompt
  /// could send a signal to us.
  var atStart: Int32? { isHandedOver && foreground == getpgrp() ? descriptor : nil }

  /// Takes the terminal back from a command that could not be started.
  func keep() {
    if isHandedOver, descriptor >= 0 { give(to: getpgrp()) }
  }

  /// Hands the terminal to the command when it starts or continues.
  func handOver(to group: pid_t) {
    if isHandedOver, foreground == getpgrp() { give(to: group) }
  }

  /// Hands the terminal to a command that was stopped for using it in the background.
  ///
  /// - Returns: false if another group owns the terminal.
  mutating func ask(by group: pid_t) -> Bool {
    guard descriptor >= 0, foreground == getpgrp() || foreground == group else { return false }
    isHandedOver = true
    give(to: group)
    return true
  }

  /// Takes the terminal back from a command that has ended or stopped.
  func takeBack(from group: pid_t) {
    if foreground == group { give(to: getpgrp()) }
  }

  private var foreground: pid_t { descriptor >= 0 ? tcgetpgrp(descriptor) : -1 }

  /// Ignores SIGTTOU, which would stop a background process that changes the foreground group.
  private func give(to group: pid_t) {
    let old = signal(SIGTTOU, SIG_IGN)
    tcsetpgrp(descriptor, group)
    signal(SIGTTOU, old)
  }
}
