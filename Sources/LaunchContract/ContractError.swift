/// A launch contract cannot be read or written.
package struct ContractError: Error, Equatable, CustomStringConvertible {
  /// The problem, preceded by the member: `clock.kind: …`. Never contains a secret.
  package let problem: String
  /// The variable, argument or path of the contract; empty if unknown.
  package let source: String

  package init(_ problem: String, source: String = "") {
    self.problem = problem.split(whereSeparator: \.isNewline).joined(separator: " ")
    self.source = source
  }

  package var description: String {
    source.isEmpty ? "launch contract: \(problem)" : "launch contract in \(source): \(problem)"
  }
}
