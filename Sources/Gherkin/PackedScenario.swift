/// A scenario in one string, as generated tests contain it.
///
/// Swift compiles one string literal in a macro's argument much faster than nested array literals.
package struct PackedScenario: Hashable, Sendable {
  /// A step of the scenario.
  package struct Step: Hashable, Sendable {
    /// As written, with the space at its end.
    package var keyword: String
    package var type: PickleStepType
    package var text: String
    /// Where the step is in the feature file, both from 1.
    package var line: Int
    package var column: Int
    /// The rows of the table, the header included.
    package var table: [[String]]?
    package var docString: String?
    package var mediaType: String?

    package init(
      keyword: String, type: PickleStepType = .unknown, text: String, line: Int, column: Int, table: [[String]]? = nil,
      docString: String? = nil, mediaType: String? = nil
    ) {
      self.keyword = keyword
      self.type = type
      self.text = text
      self.line = line
      self.column = column
      self.table = table
      self.docString = docString
      self.mediaType = mediaType
    }
  }

  package var name: String
  /// The name of the enclosing rule.
  package var rule: String?
  /// The code of the language of the keywords.
  package var language: String
  /// Where the scenario, or its row of examples, is in the feature file, both from 1.
  package var line: Int
  package var column: Int
  /// The tags of the feature, the rule, the scenario and the examples, in this order, each with its `@`.
  package var tags: [String]
  /// The values of its row of examples; empty for any other scenario.
  package var row: [String]
  package var steps: [Step]

  package init(
    name: String, rule: String? = nil, language: String = "en", line: Int, column: Int, tags: [String] = [],
    row: [String] = [], steps: [Step]
  ) {
    self.name = name
    self.rule = rule
    self.language = language
    self.line = line
    self.column = column
    self.tags = tags
    self.row = row
    self.steps = steps
  }

  /// The scenarios of a document, in the order of their lines.
  package static func all(in document: GherkinDocument) -> [PackedScenario] {
    guard let feature = document.feature else { return [] }
    var steps: [String: Gherkin.Step] = [:]
    var rules: [String: String] = [:]
    var rows: [String: [String]] = [:]
    func add(_ background: Background) { for step in background.steps { steps[step.id] = step } }
    func add(_ scenario: Scenario, in rule: String?) {
      for step in scenario.steps { steps[step.id] = step }
      rules[scenario.id] = rule
      for row in scenario.examples.flatMap(\.tableBody) { rows[row.id] = row.cells.map(\.value) }
    }
    for child in feature.children {
      switch child {
      case .background(let background): add(background)
      case .scenario(let scenario): add(scenario, in: nil)
      case .rule(let rule):
        for child in rule.children {
          switch child {
          case .background(let background): add(background)
          case .scenario(let scenario): add(scenario, in: rule.name)
          }
        }
      }
    }
    // Their ids do not matter here.
    var ids = IDGenerator(from: 1_000_000_000)
    return PickleCompiler.pickles(of: document, ids: &ids).map { pickle in
      PackedScenario(
        name: pickle.name, rule: pickle.astNodeIds.first.flatMap { rules[$0] }, language: pickle.language,
        line: pickle.location.line, column: pickle.location.column ?? 1, tags: pickle.tags.map(\.name),
        row: pickle.astNodeIds.dropFirst().last.flatMap { rows[$0] } ?? [],
        steps: pickle.steps.map { step in
          let source = step.astNodeIds.first.flatMap { steps[$0] }
          return Step(
            keyword: source?.keyword ?? "", type: step.type, text: step.text, line: source?.location.line ?? 1,
            column: source?.location.column ?? 1,
            table: step.argument?.dataTable?.rows.map { $0.cells.map(\.value) },
            docString: step.argument?.docString?.content, mediaType: step.argument?.docString?.mediaType)
        })
    }
  }

  // MARK: The string

  /// The scenario as a string: fields separated by `|`, where `\p` stands for `|` and `\\` for `\`.
  package var packed: String {
    var fields = [name, rule ?? "", rule == nil ? "" : "rule", language, String(line), String(column)]
    fields += [tags.joined(separator: " ")]
    if !row.isEmpty { fields += ["r", String(row.count)] + row }
    for step in steps {
      fields += ["s", step.keyword, step.type.rawValue, step.text, String(step.line), String(step.column)]
      if let table = step.table {
        fields += ["t", String(table.count), String(table.first?.count ?? 0)] + table.flatMap { $0 }
      }
      if let docString = step.docString { fields += ["d", docString] }
      if let mediaType = step.mediaType { fields += ["m", mediaType] }
    }
    return fields.map(Self.escaped).joined(separator: "|")
  }

  /// Reads the string; nil if it is not one that ``packed`` returns.
  package init?(packed: String) {
    var fields = packed.unicodeScalars.split(separator: "|", omittingEmptySubsequences: false).map(Self.unescaped)[...]
    func text() -> String? { fields.popFirst() }
    func number() -> Int? { text().flatMap { Int($0) } }
    guard let name = text(), let rule = text(), let hasRule = text(), let language = text(), let line = number(),
      let column = number(), let tags = text()
    else { return nil }
    var row: [String] = []
    var steps: [Step] = []
    while let kind = text() {
      switch kind {
      case "r":
        guard let count = number(), (0...fields.count).contains(count), steps.isEmpty else { return nil }
        row = Array(fields.prefix(count))
        fields.removeFirst(count)
      case "s":
        guard let keyword = text(), let type = text().flatMap(PickleStepType.init(rawValue:)), let text = text(),
          let line = number(), let column = number()
        else { return nil }
        steps.append(Step(keyword: keyword, type: type, text: text, line: line, column: column))
      case "t":
        guard let rows = number(), let columns = number(), rows >= 0, columns >= 0, !steps.isEmpty,
          rows <= fields.count, columns <= fields.count, rows * columns <= fields.count
        else { return nil }
        steps[steps.count - 1].table = (0..<rows).map { _ in (0..<columns).map { _ in fields.removeFirst() } }
      case "d":
        guard let text = text(), !steps.isEmpty else { return nil }
        steps[steps.count - 1].docString = text
      case "m":
        guard let text = text(), !steps.isEmpty else { return nil }
        steps[steps.count - 1].mediaType = text
      default: return nil
      }
    }
    self.init(
      name: name, rule: hasRule.isEmpty ? nil : rule, language: language, line: line, column: column,
      tags: tags.split(separator: " ").map(String.init), row: row, steps: steps)
  }

  // By scalars, since a combining mark at the start of a field would be one character with the separator.
  private static func escaped(_ field: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in field.unicodeScalars {
      switch scalar {
      case "|": result.append(contentsOf: "\\p".unicodeScalars)
      case "\\": result.append(contentsOf: "\\\\".unicodeScalars)
      default: result.append(scalar)
      }
    }
    return String(result)
  }

  private static func unescaped(_ field: Substring.UnicodeScalarView) -> String {
    guard field.contains("\\") else { return String(field) }
    var result = String.UnicodeScalarView()
    var isEscaped = false
    for scalar in field {
      switch (isEscaped, scalar) {
      case (true, "p"): result.append("|")
      case (true, _): result.append(scalar)
      case (false, "\\"):
        isEscaped = true
        continue
      case (false, _): result.append(scalar)
      }
      isEscaped = false
    }
    return String(result)
  }
}
