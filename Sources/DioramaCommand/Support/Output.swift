import ControlAPI
import Basics
import EnvironmentService
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Standard output for a command's results. Write errors are reported before the command exits. If the reader closes a
/// pipe early, as `head` does, SIGPIPE ends the command without a message.
///
/// Control characters in lines and JSON are escaped, so data can't control a terminal or add lines.
enum Output {
  /// Writes lines of text.
  ///
  /// - Throws: `CodedError` if they can't be written.
  static func write(lines: [String]) throws(CodedError) {
    try write(raw: lines.map { $0.escapedForTerminal + "\n" }.joined())
  }

  /// Writes a report, in color on a terminal.
  static func write(_ report: ReportText) throws(CodedError) {
    try write(raw: Terminal(1).lines(of: report).joined(separator: "\n  ") + "\n")
  }

  /// Makes a pipe without a reader an error, so that the caller can undo what was not reported.
  static func outliveReaders() { signal(SIGPIPE, SIG_IGN) }

  /// Writes text unescaped: help, or input for a shell.
  ///
  /// - Parameters:
  ///   - text: the text.
  ///   - needsReader: whether a pipe without a reader is an error, after ``outliveReaders()``.
  /// - Throws: `CodedError` if it can't be written.
  static func write(raw text: String, needsReader: Bool = true) throws(CodedError) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno == EPIPE, !needsReader {
        return
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

/// Standard input, for options that read a file.
enum StandardInput {
  /// Reads it to its end.
  ///
  /// - Parameter limit: the maximum size in bytes.
  /// - Returns: the bytes.
  /// - Throws: `CodedError` if it can't be read, or is larger.
  static func read(atMost limit: Int) throws(CodedError) -> Data {
    let data: Data
    do { data = try FileHandle.standardInput.read(upToCount: limit + 1) ?? Data() } catch {
      throw CodedError(.inputOutput, error.systemReason)
    }
    guard data.count <= limit else { throw CodedError(.inputOutput, "it has more than \(limit) bytes") }
    return data
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
