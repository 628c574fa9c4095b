/// A problem in a feature file.
package struct GherkinError: Error, Hashable, Sendable, CustomStringConvertible {
  package var location: Location
  /// The problem, without its place.
  package var message: String

  /// The place and the problem, as Cucumber prints them: `(3:5): expected: …`; the column is 0 at the end of the file.
  package var description: String { "(\(location.line):\(location.column ?? 0)): \(message)" }
}

/// All problems of a feature file, at most eleven.
package struct GherkinErrors: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path or URL of the file.
  package var uri: String
  /// At least one, in the order in which the parser came across them.
  package var errors: [GherkinError]

  /// A line for each problem, in the form of a compiler's: `shop.feature:3:5: error: expected: …`.
  package var description: String {
    errors.map { "\(uri):\($0.location.line):\($0.location.column ?? 1): error: \($0.message)" }
      .joined(separator: "\n")
  }

  /// The problems as messages.
  package var messages: [ParseError] {
    errors.map { ParseError(source: SourceReference(uri: uri, location: $0.location), message: $0.description) }
  }
}
