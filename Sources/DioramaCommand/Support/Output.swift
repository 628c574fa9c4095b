import ControlAPI
import Basics
import EnvironmentService
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Standard output for a command's results. Write errors are reported before the command exits.
///
/// Control characters in lines and JSON are escaped, so data can't control a terminal or add lines.
enum Output {
  /// Writes lines of text.
  ///
  /// - Throws: `CodedError` if they can't be written.
  static func write(lines: [String]) throws(CodedError) {
    try write(raw: lines.map { $0.escapedForTerminal + "\n" }.joined())
  }

  /// Prints a line as `print` does: if the reader closes a pipe early, the command ends.
  static func print(_ line: String) { Swift.print(line.escapedForTerminal) }

  /// Writes a report, in color on a terminal.
  static func write(_ report: ReportText) throws(CodedError) {
    try write(raw: Terminal(1).lines(of: report).joined(separator: "\n  ") + "\n")
  }

  /// Writes text unescaped: help, or input for a shell.
  ///
  /// - Throws: `CodedError` if it can't be written.
  static func write(raw text: String) throws(CodedError) {
    // The reader of a pipe may be gone. Reports an error instead of dying of SIGPIPE, so that callers can clean up.
    signal(SIGPIPE, SIG_IGN)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw CodedError(
          .inputOutput,
          "cannot write to standard output: \(String(cString: strerror(errno))); redirect it to a writable file")
      }
    }
  }

  /// Writes a value as JSON.
  static func write(json value: some Encodable) throws {
    try write(raw: json(value) + "\n")
  }

  /// Prints a value as JSON, as `print` does.
  static func print(json value: some Encodable) throws { Swift.print(try json(value)) }

  private static func json(_ value: some Encodable) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(value), as: UTF8.self).escapedJSONForTerminal
  }

  /// Writes a table, or a message if it has no rows.
  static func write(_ table: Table, orIfEmpty empty: String) throws(CodedError) {
    try write(lines: table.rows.isEmpty ? [empty] : table.lines)
  }
}

/// Descriptors 0 to 2, which the caller may have closed (`2>&-`).
enum StandardDescriptors {
  /// Opens closed descriptors. Call it before opening anything else.
  ///
  /// Otherwise, the next file or socket would get such a number, and messages for standard error would be written into
  /// it. The descriptors are opened without write access and with close-on-exec, so that writes fail and the command
  /// still finds them closed.
  static func open() {
    for descriptor in Int32(0)...2 where fcntl(descriptor, F_GETFD) < 0 {
      #if canImport(Darwin)
        _ = Darwin.open("/dev/null", (descriptor == 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC)
      #else
        _ = Glibc.open("/dev/null", (descriptor == 0 ? O_RDWR : O_RDONLY) | O_CLOEXEC)
      #endif
    }
  }
}
