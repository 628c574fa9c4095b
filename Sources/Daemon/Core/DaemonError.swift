/// Why the daemon does not do what it was asked for, as an answer of its control API says it.
package struct DaemonError: Error, Sendable, CustomStringConvertible {
  /// The HTTP status of the answer.
  package let status: Int
  /// What kind of problem it is.
  package let title: String
  /// One line: what, where and what to do next; never with a secret in it.
  package let detail: String
  /// The kind of trouble as ``ProblemDocument/kind`` has it: the name of an `EnvironmentError.Kind`, where it is one.
  package let kind: String?

  package init(_ status: Int, _ title: String, _ detail: String, kind: String? = nil) {
    self.status = status
    self.title = title
    self.kind = kind
    self.detail = detail.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  package var description: String { detail }
}
