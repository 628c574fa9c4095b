import EnvironmentService
import Foundation
import LaunchContract

/// Standard output, where a command's answer goes: whether it arrived is known before the command ends.
///
/// Whatever is in a line or in JSON, it steers no terminal and adds no line: control characters are written escaped.
enum Output {
  /// Writes lines for people.
  ///
  /// - Throws: an `EnvironmentError` where nobody takes them.
  static func write(lines: [String]) throws(EnvironmentError) {
    try write(raw: lines.map { $0.escapedForTerminal + "\n" }.joined())
  }

  /// Prints a line for people, as `print` does: who reads no more than the beginning ends the command.
  static func print(_ line: String) { Swift.print(line.escapedForTerminal) }

  /// Writes a report, in colour on a terminal.
  static func write(_ report: ReportText) throws(EnvironmentError) {
    try write(raw: Terminal(1).lines(of: report).joined(separator: "\n  ") + "\n")
  }

  /// Writes all of a text as it is: help, or what a shell is to read.
  ///
  /// - Throws: an `EnvironmentError` where nobody takes it.
  static func write(raw text: String) throws(EnvironmentError) {
    // Whoever read it may be gone: that is an error to tell, not a reason to be killed before what was got is given back.
    signal(SIGPIPE, SIG_IGN)
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Foundation.write(1, $0.baseAddress, $0.count) }
      if count >= 0 {
        rest = rest.dropFirst(count)
      } else if errno != EINTR {
        throw EnvironmentError(
          .inputOutput,
          "cannot write to standard output: \(String(cString: strerror(errno))); send it where it can be written")
      }
    }
  }

  /// Writes a value as JSON for other programs.
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

  /// Writes a table; nothing but a word where it has no rows.
  static func write(_ table: Table, orWhereEmpty empty: String) throws(EnvironmentError) {
    try write(lines: table.rows.isEmpty ? [empty] : table.lines)
  }
}
