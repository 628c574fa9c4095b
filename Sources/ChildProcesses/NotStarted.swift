/// A program that could not be started.
package struct NotStarted: Error, CustomStringConvertible {
  /// As a shell has it: 127 when there is no such program, 126 when it cannot be run.
  package let status: Int32
  /// One line: what, where and what to do next.
  package let message: String

  package init(status: Int32, message: String) {
    self.status = status
    self.message = message
  }

  package var description: String { message }
}
