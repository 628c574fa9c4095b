/// Compiles documents to pickles: each scenario with the steps of its backgrounds, an outline once per row of its examples.
///
/// ```swift
/// let pickles = PickleCompiler.pickles(of: document, ids: &ids)
/// ```
package enum PickleCompiler {
  /// Compiles a document.
  ///
  /// - Parameters:
  ///   - document: the document.
  ///   - ids: the generator of ids, the one that has numbered the document.
  /// - Returns: the pickles, in order.
  package static func pickles(of document: GherkinDocument, ids: inout IDGenerator) -> [Pickle] {
    guard let feature = document.feature else { return [] }
    var compilation = Compilation(uri: document.uri, language: feature.language, ids: ids)
    var background: [Step] = []
    for child in feature.children {
      switch child {
      case .background(let found): background = found.steps
      case .scenario(let scenario): compilation.compile(scenario, background, feature.tags)
      case .rule(let rule):
        var steps = background
        for child in rule.children {
          switch child {
          case .background(let found): steps += found.steps
          case .scenario(let scenario): compilation.compile(scenario, steps, feature.tags + rule.tags)
          }
        }
      }
    }
    ids = compilation.ids
    return compilation.pickles
  }
}

private struct Compilation {
  /// The names of columns, as `<name>`, with the values of a row.
  typealias Values = [(pattern: [UInt8], value: String)]

  let uri: String
  let language: String
  var ids: IDGenerator
  var pickles: [Pickle] = []

  mutating func compile(_ scenario: Scenario, _ background: [Step], _ inherited: [Tag]) {
    let tags = inherited + scenario.tags
    if scenario.examples.isEmpty { return compile(scenario, background, tags, row: nil, values: []) }
    for examples in scenario.examples {
      guard let header = examples.tableHeader else { continue }
      let patterns = header.cells.map { Array("<\($0.value)>".utf8) }
      for row in examples.tableBody {
        let values = zip(patterns, row.cells).map { (pattern: $0, value: $1.value) }
        compile(scenario, background, tags + examples.tags, row: row, values: values)
      }
    }
  }

  private mutating func compile(
    _ scenario: Scenario, _ background: [Step], _ tags: [Tag], row: TableRow?, values: Values
  ) {
    var steps: [PickleStep] = []
    var type = PickleStepType.unknown
    if !scenario.steps.isEmpty {
      for step in background { steps.append(pickleStep(step, &type, row: nil, values: [])) }
    }
    for step in scenario.steps { steps.append(pickleStep(step, &type, row: row, values: values)) }
    pickles.append(
      Pickle(
        id: ids.next(), uri: uri, location: row?.location ?? scenario.location,
        name: Self.filled(scenario.name, values), language: language, steps: steps,
        tags: tags.map { PickleTag(name: $0.name, astNodeId: $0.id) },
        astNodeIds: [scenario.id] + (row.map { [$0.id] } ?? [])))
  }

  private mutating func pickleStep(
    _ step: Step, _ type: inout PickleStepType, row: TableRow?, values: Values
  ) -> PickleStep {
    switch step.keywordType {
    case .context: type = .context
    case .action: type = .action
    case .outcome: type = .outcome
    case .unknown: type = .unknown
    case .conjunction: break
    }
    return PickleStep(
      argument: Self.argument(step, values), astNodeIds: [step.id] + (row.map { [$0.id] } ?? []), id: ids.next(),
      type: type, text: Self.filled(step.text, values))
  }

  private static func argument(_ step: Step, _ values: Values) -> PickleStepArgument? {
    if step.docString == nil && step.dataTable == nil { return nil }
    var docString = step.docString.map {
      PickleDocString(mediaType: $0.mediaType.map { filled($0, values) }, content: filled($0.content, values))
    }
    var table = step.dataTable.map {
      PickleTable(
        rows: $0.rows.map { PickleTableRow(cells: $0.cells.map { PickleTableCell(value: filled($0.value, values)) }) })
    }
    if let text = step.docString, let rows = step.dataTable {
      let isTextFirst = text.location.line < rows.location.line
      docString?.argumentIndex = isTextFirst ? 1 : 2
      table?.argumentIndex = isTextFirst ? 2 : 1
    }
    return PickleStepArgument(docString: docString, dataTable: table)
  }

  /// One column after the other, as Cucumber does: a value may contain the name of a later column.
  private static func filled(_ text: String, _ values: Values) -> String {
    guard text.utf8.contains(UInt8(ascii: "<")) else { return text }
    return values.reduce(text) { $0.replacing(bytes: $1.pattern, with: $1.value) }
  }
}

extension Pickle {
  /// A pickle of a scenario whose document is not at hand: without nodes of a syntax tree.
  ///
  /// - Parameters:
  ///   - scenario: the scenario.
  ///   - uri: the path of its file.
  ///   - ids: the generator of the ids.
  package init(_ scenario: PackedScenario, uri: String, ids: inout IDGenerator) {
    let steps = scenario.steps.map { step in
      let table = step.table.map { rows in
        PickleTable(rows: rows.map { PickleTableRow(cells: $0.map { PickleTableCell(value: $0) }) })
      }
      let docString = step.docString.map { PickleDocString(mediaType: step.mediaType, content: $0) }
      return PickleStep(
        argument: table == nil && docString == nil ? nil : PickleStepArgument(docString: docString, dataTable: table),
        astNodeIds: [], id: ids.next(), type: step.type, text: step.text)
    }
    self.init(
      id: ids.next(), uri: uri, location: Location(line: scenario.line, column: scenario.column), name: scenario.name,
      language: scenario.language, steps: steps, tags: scenario.tags.map { PickleTag(name: $0, astNodeId: "") },
      astNodeIds: [])
  }
}

extension GherkinDocument {
  /// The document of a scenario that is not written in a feature file.
  ///
  /// - Parameters:
  ///   - scenario: the scenario.
  ///   - feature: the name of the feature around it.
  ///   - uri: the path of its file.
  ///   - ids: the generator of the ids.
  package init(_ scenario: PackedScenario, of feature: String, uri: String, ids: inout IDGenerator) {
    let steps = scenario.steps.map { step in
      let location = Location(line: step.line, column: step.column)
      return Step(
        location: location, keyword: step.keyword, keywordType: step.keywordType, text: step.text,
        docString: step.docString.map {
          DocString(location: location, mediaType: step.mediaType, content: $0, delimiter: "\"\"\"")
        },
        dataTable: step.table.map { rows in
          DataTable(
            location: location,
            rows: rows.map { cells in
              TableRow(
                location: location, cells: cells.map { TableCell(location: location, value: $0) }, id: ids.next())
            })
        }, id: ids.next())
    }
    let location = Location(line: scenario.line, column: scenario.column)
    let tags = scenario.tags.map { Tag(location: location, name: $0, id: ids.next()) }
    let child = Scenario(
      location: location, tags: tags, keyword: "Scenario", name: scenario.name, description: "", steps: steps,
      examples: [], id: ids.next())
    self.init(
      uri: uri,
      feature: Feature(
        location: location, tags: [], language: scenario.language, keyword: "Feature", name: feature, description: "",
        children: [.scenario(child)]), comments: [])
  }
}

extension PackedScenario.Step {
  fileprivate var keywordType: StepKeywordType {
    switch type {
    case .context: .context
    case .action: .action
    case .outcome: .outcome
    case .unknown: ["And ", "But "].contains(keyword) ? .conjunction : .unknown
    }
  }
}
