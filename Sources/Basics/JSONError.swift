/// Why a text is not JSON, and where.
package struct JSONError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The position in bytes, from 0.
  package var offset: Int
  /// The line, from 1.
  package var line: Int
  /// The column in Unicode scalars, from 1.
  package var column: Int
  /// The problem, such as `expected ':' after a member's name, found '}'`.
  package var problem: String

  package init(offset: Int, line: Int, column: Int, problem: String) {
    self.offset = offset
    self.line = line
    self.column = column
    self.problem = problem
  }

  /// An error at a position in a text, whose line and column are counted.
  package init(_ problem: String, at offset: Int, of bytes: UnsafeRawBufferPointer) {
    var line = 1
    var column = 1
    for byte in bytes[..<min(offset, bytes.count)] {
      if byte == 0x0A {
        line += 1
        column = 1
      } else if byte & 0xC0 != 0x80 {
        column += 1
      }
    }
    self.init(offset: offset, line: line, column: column, problem: problem)
  }

  package var description: String {
    "line \(line), column \(column): \(problem)"
  }
}
