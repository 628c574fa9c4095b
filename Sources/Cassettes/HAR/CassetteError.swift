package import LaunchContract

/// Why a cassette's file cannot be used: one line that says where, what, and what to do next.
package struct CassetteError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file, as its reader named it.
  package var name: String
  /// The entry of a HAR, from 1, where it is about one.
  package var entry: Int?
  /// The line, from 1, where the text itself is broken.
  package var line: Int?
  /// Unicode scalars into that line, from 1.
  package var column: Int?
  /// What is wrong, such as `response.status is missing`.
  package var problem: String
  /// What to do next.
  package var advice: String

  package init(
    name: String, entry: Int? = nil, line: Int? = nil, column: Int? = nil, problem: String, advice: String
  ) {
    self.name = name
    self.entry = entry
    self.line = line
    self.column = column
    self.problem = problem
    self.advice = advice
  }

  /// A text that is no JSON.
  package init(name: String, json error: JSONError) {
    self.init(
      name: name, line: error.line, column: error.column, problem: error.problem,
      advice: "restore the file, or record it anew")
  }

  package var description: String {
    var place = ""
    if let line, let column { place += "line \(line), column \(column): " }
    if let entry { place += "entry \(entry): " }
    return "\(name): \(place)\(problem); \(advice)"
  }
}
