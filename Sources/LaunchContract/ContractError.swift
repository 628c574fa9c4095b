/// A launch contract that cannot be read or written: what is wrong, and where.
package struct ContractError: Error, Equatable, CustomStringConvertible {
  /// What is wrong, after the member that it is about: `clock.kind: …`; never with a secret in it.
  package let problem: String
  /// Where the contract comes from or was to go: a variable, an argument, a path; empty while nobody has said so.
  package let source: String

  package init(_ problem: String, source: String = "") {
    self.problem = problem.split(whereSeparator: \.isNewline).joined(separator: " ")
    self.source = source
  }

  package var description: String {
    source.isEmpty ? "launch contract: \(problem)" : "launch contract in \(source): \(problem)"
  }
}
