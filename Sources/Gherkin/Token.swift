/// A line of a feature file and what it is.
package struct Token {
  /// The kinds of lines, by their names in error messages.
  package enum Kind: String, Sendable {
    case eof = "EOF"
    case language = "Language"
    case tagLine = "TagLine"
    case featureLine = "FeatureLine"
    case ruleLine = "RuleLine"
    case backgroundLine = "BackgroundLine"
    case scenarioLine = "ScenarioLine"
    case examplesLine = "ExamplesLine"
    case stepLine = "StepLine"
    case docStringSeparator = "DocStringSeparator"
    case tableRow = "TableRow"
    case comment = "Comment"
    case empty = "Empty"
    case other = "Other"
  }

  /// A tag of a line of tags, or a cell of a row.
  package struct Item {
    package let column: Int
    package let text: String
    /// As written.
    let raw: ArraySlice<UInt8>
  }

  package let kind: Kind
  package let location: Location
  package var keyword: String?
  package var keywordType: StepKeywordType?
  package var text = ""
  package var items: [Item] = []
  let line: SourceLine

  /// Whether it starts a feature, rule, background, scenario or examples.
  var isTitle: Bool {
    switch kind {
    case .featureLine, .ruleLine, .backgroundLine, .scenarioLine, .examplesLine: true
    default: false
    }
  }

  init(_ kind: Kind, _ line: SourceLine, column: Int? = nil) {
    self.kind = kind
    self.line = line
    location = Location(line: line.number, column: column ?? line.indent + 1)
  }
}
