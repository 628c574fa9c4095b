// Pickles, what a document boils down to for running it: the types, and members in JSON, of Cucumber's messages.

/// A scenario to run: with the steps of backgrounds, and the values of a row of examples.
package struct Pickle: Hashable, Sendable, Codable {
  package var id: String
  /// The path or URL of the file.
  package var uri: String
  /// The place of the scenario, or of the row of its examples.
  package var location: Location
  package var name: String
  /// The code of the language of the keywords.
  package var language: String
  package var steps: [PickleStep]
  /// The tags of the feature, the rule, the scenario and the examples.
  package var tags: [PickleTag]
  /// The id of the scenario, then that of the row.
  package var astNodeIds: [String]
}

/// A step to run.
package struct PickleStep: Hashable, Sendable, Codable {
  package var argument: PickleStepArgument?
  /// The id of the step, then that of the row of examples.
  package var astNodeIds: [String]
  package var id: String
  package var type: PickleStepType
  package var text: String
}

/// What a step does, by its keyword or, for `And` and `But`, by the keyword of the step before.
package enum PickleStepType: String, Hashable, Sendable, Codable {
  case unknown = "Unknown"
  case context = "Context"
  case action = "Action"
  case outcome = "Outcome"
}

/// What is below a step: a doc string, a table, or both.
package struct PickleStepArgument: Hashable, Sendable, Codable {
  package var docString: PickleDocString?
  package var dataTable: PickleTable?
}

/// A text below a step.
package struct PickleDocString: Hashable, Sendable, Codable {
  /// The position, from 1, if the step has a table, too.
  package var argumentIndex: Int?
  package var mediaType: String?
  package var content: String
}

/// A table below a step.
package struct PickleTable: Hashable, Sendable, Codable {
  /// The position, from 1, if the step has a doc string, too.
  package var argumentIndex: Int?
  package var rows: [PickleTableRow]
}

/// A row of a table.
package struct PickleTableRow: Hashable, Sendable, Codable {
  package var cells: [PickleTableCell]
}

/// A cell of a row.
package struct PickleTableCell: Hashable, Sendable, Codable {
  package var value: String
}

/// A tag, with its `@`.
package struct PickleTag: Hashable, Sendable, Codable {
  package var name: String
  package var astNodeId: String
}
