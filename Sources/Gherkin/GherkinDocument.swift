// The abstract syntax tree of a feature file: the types, and members in JSON, of Cucumber's messages.

/// A place in a feature file.
package struct Location: Hashable, Sendable, Codable {
  /// The line, from 1.
  package var line: Int
  /// The column in Unicode scalars, from 1; nil at the end of the file.
  package var column: Int?

  package init(line: Int, column: Int?) {
    self.line = line
    self.column = column
  }
}

/// A parsed feature file.
package struct GherkinDocument: Hashable, Sendable, Codable {
  /// The path or URL of the file.
  package var uri: String
  /// The feature; nil if the file has only comments and empty lines.
  package var feature: Feature?
  /// All comments, in order.
  package var comments: [Comment]
}

/// A comment: a whole line, with the white space before it.
package struct Comment: Hashable, Sendable, Codable {
  package var location: Location
  package var text: String
}

/// A tag, with its `@`.
package struct Tag: Hashable, Sendable, Codable {
  package var location: Location
  package var name: String
  package var id: String
}

/// `Feature:`, what a file describes.
package struct Feature: Hashable, Sendable, Codable {
  package var location: Location
  package var tags: [Tag]
  /// The code of the language of the keywords, such as `en`.
  package var language: String
  /// nil if the first line of a Markdown document serves as the name.
  package var keyword: String?
  package var name: String
  package var description: String
  /// The background, then the scenarios, then the rules.
  package var children: [FeatureChild]

  package var rules: [Rule] {
    children.compactMap { if case .rule(let rule) = $0 { rule } else { nil } }
  }

  /// The scenarios and outlines, including those of the rules.
  package var scenarios: [Scenario] {
    children.compactMap { if case .scenario(let scenario) = $0 { scenario } else { nil } }
      + rules.flatMap(\.children).compactMap { if case .scenario(let scenario) = $0 { scenario } else { nil } }
  }
}

/// `Rule:`, a group of scenarios.
package struct Rule: Hashable, Sendable, Codable {
  package var location: Location
  package var tags: [Tag]
  package var keyword: String
  package var name: String
  package var description: String
  /// The background, then the scenarios.
  package var children: [RuleChild]
  package var id: String
}

/// `Background:`, the steps that precede each scenario's.
package struct Background: Hashable, Sendable, Codable {
  package var location: Location
  package var keyword: String
  package var name: String
  package var description: String
  package var steps: [Step]
  package var id: String
}

/// `Scenario:` or `Scenario Outline:`.
package struct Scenario: Hashable, Sendable, Codable {
  package var location: Location
  package var tags: [Tag]
  package var keyword: String
  package var name: String
  package var description: String
  package var steps: [Step]
  package var examples: [Examples]
  package var id: String
}

/// `Examples:`, for which an outline runs once per row.
package struct Examples: Hashable, Sendable, Codable {
  package var location: Location
  package var tags: [Tag]
  package var keyword: String
  package var name: String
  package var description: String
  /// The names of the columns; nil if there is no table.
  package var tableHeader: TableRow?
  package var tableBody: [TableRow]
  package var id: String
}

/// A step of a scenario or background.
package struct Step: Hashable, Sendable, Codable {
  package var location: Location
  /// The keyword with the space after it, if any.
  package var keyword: String
  package var keywordType: StepKeywordType
  package var text: String
  package var docString: DocString?
  package var dataTable: DataTable?
  package var id: String
}

/// What a keyword makes of a step.
package enum StepKeywordType: String, Hashable, Sendable, Codable {
  /// A keyword with several meanings, such as `*`.
  case unknown = "Unknown"
  /// `Given`.
  case context = "Context"
  /// `When`.
  case action = "Action"
  /// `Then`.
  case outcome = "Outcome"
  /// `And`, `But`: the same as the step before.
  case conjunction = "Conjunction"
}

/// A text below a step.
package struct DocString: Hashable, Sendable, Codable {
  package var location: Location
  package var mediaType: String?
  package var content: String
  package var delimiter: String
}

/// A table below a step.
package struct DataTable: Hashable, Sendable, Codable {
  package var location: Location
  /// At least one row; all have the same number of cells.
  package var rows: [TableRow]
}

/// A row of a table.
package struct TableRow: Hashable, Sendable, Codable {
  package var location: Location
  package var cells: [TableCell]
  package var id: String
}

/// A cell of a row, without escapes and the white space around it.
package struct TableCell: Hashable, Sendable, Codable {
  package var location: Location
  package var value: String
}

/// A part of a feature.
package enum FeatureChild: Hashable, Sendable, Codable {
  case background(Background)
  case scenario(Scenario)
  case rule(Rule)

  private enum CodingKeys: CodingKey { case background, scenario, rule }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let background = try container.decodeIfPresent(Background.self, forKey: .background) {
      self = .background(background)
    } else if let scenario = try container.decodeIfPresent(Scenario.self, forKey: .scenario) {
      self = .scenario(scenario)
    } else {
      self = .rule(try container.decode(Rule.self, forKey: .rule))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .background(let background): try container.encode(background, forKey: .background)
    case .scenario(let scenario): try container.encode(scenario, forKey: .scenario)
    case .rule(let rule): try container.encode(rule, forKey: .rule)
    }
  }
}

/// A part of a rule.
package enum RuleChild: Hashable, Sendable, Codable {
  case background(Background)
  case scenario(Scenario)

  private enum CodingKeys: CodingKey { case background, scenario }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    if let background = try container.decodeIfPresent(Background.self, forKey: .background) {
      self = .background(background)
    } else {
      self = .scenario(try container.decode(Scenario.self, forKey: .scenario))
    }
  }

  package func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    switch self {
    case .background(let background): try container.encode(background, forKey: .background)
    case .scenario(let scenario): try container.encode(scenario, forKey: .scenario)
    }
  }
}
