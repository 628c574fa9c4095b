import EnvironmentService
import Foundation

/// Standard output, where a command's answer goes: whether it arrived is known before the command ends.
enum Output {
  /// Writes all of a text.
  ///
  /// - Throws: an `EnvironmentError` where nobody takes it.
  static func write(_ text: String) throws(EnvironmentError) {
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
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    try write(String(decoding: try encoder.encode(value), as: UTF8.self) + "\n")
  }

  /// Writes a table; nothing but a word where it has no rows.
  static func write(_ table: Table, orWhereEmpty empty: String) throws(EnvironmentError) {
    try write(table.rows.isEmpty ? empty + "\n" : table.lines.map { $0 + "\n" }.joined())
  }
}
