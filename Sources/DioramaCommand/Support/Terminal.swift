import Dispatch
import EnvironmentService
import Foundation
import HTTPMessages
import LaunchContract

/// Standard error, where Diorama's own words go: in colour on a terminal, plain everywhere else.
///
/// Whatever is in a text, it steers no terminal and adds no line: control characters are shown escaped.
struct Terminal: Sendable {
  /// Whether it is a terminal on which a line can be drawn again.
  private let isRich: Bool
  /// Whether colours are shown (https://no-color.org, and `CLICOLOR_FORCE` for what only looks like no terminal).
  private let isColoured: Bool

  /// - Parameter descriptor: where the text goes: 2, or 1 for what a command prints.
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

  /// The text in a style, where that can be shown.
  private func styled(_ text: String, _ style: Style) -> String {
    isColoured ? "\u{1B}[\(style.rawValue)m\(text)\u{1B}[0m" : text
  }

  /// A part of a report in its style.
  private func styled(_ text: String, _ style: ReportText.Style) -> String {
    switch style {
    case .good: styled(text, .green)
    case .bad: styled(text, .red)
    case .doubtful: styled(text, .yellow)
    }
  }

  /// A line of ours.
  func line(_ text: String) {
    Self.write(styled("diorama:", .dim) + " \(text.escapedForTerminal)\n")
  }

  /// A report: a line of ours, and those that continue it.
  func report(_ text: ReportText) {
    Self.write(styled("diorama:", .dim) + " " + lines(of: text).joined(separator: "\n  ") + "\n")
  }

  /// The lines of a report in its styles.
  func lines(of text: ReportText) -> [String] { text.lines(styled) }

  /// The one line in which a command says why it failed.
  func error(_ text: String) {
    Self.write(styled("diorama:", .red) + " \(text.escapedForTerminal)\n")
  }

  /// By write(2): a standard error that nobody reads any more is no reason to end, least of all before a recording is
  /// sealed.
  private static func write(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(2, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Runs something that may take long. After a second a terminal shows what it is and for how long it has run.
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
      // Under the lock, so that no line is drawn after the last one was wiped.
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
