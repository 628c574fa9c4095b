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

  /// Writes lines as a report.
  ///
  /// - Parameter lines: makes the lines with a function that adds a style to a text.
  func lines(_ lines: ((String, ReportText.Style) -> String) -> [String]) {
    Self.write(styled("diorama:", .dim) + " " + lines(styled).joined(separator: "\n  ") + "\n")
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

  /// How far some work has come.
  final class Progress: Sendable {
    private let text = Guarded("")
    private let bytes = Guarded(0)

    /// Shows that part of a number of things is done, such as `7 of 12`.
    func show(_ number: Int, of count: Int) { text.withLock { $0 = "\(number) of \(count)" } }

    /// Adds bytes that are done, from any thread, and shows them in megabytes. A total of 0 is unknown.
    func add(bytes count: Int, of total: Int) {
      let done = bytes.withLock { bytes in
        bytes += count
        return total > 0 ? min(bytes, total) : bytes
      }
      let shown = total > 0 ? "\(Self.megabytes(done)) of \(Self.megabytes(total)) MB" : "\(Self.megabytes(done)) MB"
      text.withLock { $0 = shown }
    }

    private static func megabytes(_ bytes: Int) -> String { String(format: "%.1f", Double(bytes) / 1e6) }

    /// ` 7 of 12`, or nothing.
    fileprivate var suffix: String { text.withLock { $0.isEmpty ? "" : " \($0)" } }
  }

  /// Runs work that may take long, without steps that could be counted.
  func progress<Result, Failure: Error>(
    _ what: String, _ work: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    try progress(what) { (_) throws(Failure) in try work() }
  }

  /// Runs work that waits for other programs. After two seconds, standard error gets a line about it, also in a log.
  ///
  /// - Parameters:
  ///   - what: the line.
  ///   - work: the work.
  /// - Returns: what the work returns.
  /// - Throws: what the work throws.
  func waiting<Result, Failure: Error>(
    for what: String, _ work: () throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let isOver = Guarded(false)
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + 2)
    timer.setEventHandler { isOver.withLock { over in if !over { line(what) } } }
    timer.resume()
    defer {
      timer.cancel()
      isOver.withLock { $0 = true }
    }
    return try work()
  }

  /// Runs work that may take long. After a second, a terminal shows its description, how far it has come, and how long
  /// it has run, in one line that is rewritten.
  ///
  /// - Parameters:
  ///   - what: the description, such as `checking login.har`.
  ///   - work: the work, which tells how far it has come.
  /// - Returns: what the work returns.
  /// - Throws: what the work throws.
  func progress<Result, Failure: Error>(
    _ what: String, _ work: (Progress) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    let progress = Progress()
    guard isRich else { return try work(progress) }
    let start = ContinuousClock.now
    let isOver = Guarded(false)
    let timer = DispatchSource.makeTimerSource(queue: .global())
    timer.schedule(deadline: .now() + 1, repeating: 0.2)
    timer.setEventHandler {
      let seconds = Int((ContinuousClock.now - start) / .seconds(1))
      // Under the lock, so that no line is drawn after the last one was erased.
      isOver.withLock { over in
        guard !over else { return }
        let text = Self.fitting("\(what)\(progress.suffix) … \(seconds) s".escapedForTerminal)
        Self.write("\r\u{1B}[2K\(text)")
      }
    }
    timer.resume()
    defer {
      timer.cancel()
      isOver.withLock { $0 = true }
      if ContinuousClock.now - start > .seconds(1) { Self.write("\r\u{1B}[2K") }
    }
    return try work(progress)
  }

  /// The end of a text that fits on a line of the terminal: a line that wraps could not be rewritten.
  private static func fitting(_ text: String) -> String {
    var size = winsize()
    guard ioctl(2, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 10, text.count >= size.ws_col else { return text }
    return "…" + text.suffix(Int(size.ws_col) - 2)
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
