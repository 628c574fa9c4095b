import Basics
import EnvironmentService
import Foundation
import Gherkin

/// `diorama features steps`: lists step definitions, for editors.
enum FeaturesSteps {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    // Without feature files, nothing is used.
    let features: FeatureFiles
    do throws(CodedError) { features = try FeatureFiles(FeatureFiles.paths(options)) } catch {
      guard error.message.hasPrefix("no feature files") else { throw error }
      features = try FeatureFiles([])
    }
    let library = StepLibrary(try FeatureFiles.steps(options))
    for problem in features.problems { terminal.error("\(problem.place): error: \(problem.message)") }
    for failure in library.failures { terminal.error("\(failure.place): error: \(failure.message)") }
    let index = Index(features, library)
    if let file = options.value("--index") {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      try WholeFiles.write([(file, Array(try encoder.encode(index)) + [0x0A])], isReplacing: true)
    }
    if options.has("--json") {
      try Output.write(json: index.definitions)
    } else {
      let rows = index.definitions.map { [$0.place.description, $0.keyword, String($0.uses), $0.expression] }
      try Output.write(
        Table(header: ["place", "function", "uses", "expression"], rows: rows, rightAligned: [2]),
        orIfEmpty: "no step definitions; name a folder of Swift files with --steps")
    }
    return features.problems.isEmpty && library.failures.isEmpty ? 0 : CodedError.Kind.broken.rawValue
  }

  /// Features, step definitions, and which definitions each step matches.
  struct Index: Encodable {
    struct Definition: Encodable {
      var keyword: String
      var kind: SwiftSteps.Kind
      var expression: String
      /// The same as a regular expression.
      var pattern: String
      /// `i` if the case of letters does not matter.
      var flags: String
      var place: FilePlace
      /// The names of the parameters' types.
      var parameters: [String]
      var documentation: String?
      /// How many steps match it; those of each row count.
      var uses: Int
    }

    struct Step: Encodable {
      var keyword: String
      var text: String
      var line: Int
      var column: Int
      /// Indices in the definitions: none if the step is undefined, several if it is ambiguous.
      var definitions: [Int]
    }

    struct Scenario: Encodable {
      var scenario: FeatureListing.Scenario
      var steps: [Step]

      private enum CodingKeys: String, CodingKey {
        case steps
      }

      func encode(to encoder: any Encoder) throws {
        try scenario.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(steps, forKey: .steps)
      }
    }

    struct Feature: Encodable {
      var path: String
      var name: String?
      var language: String?
      var tags: [String]
      var scenarios: [Scenario]
    }

    var definitions: [Definition]
    var features: [Feature]

    init(_ files: FeatureFiles, _ library: StepLibrary) {
      definitions = library.definitions.map { definition in
        let declaration = definition.declaration
        return Definition(
          keyword: declaration.keyword, kind: declaration.kind, expression: declaration.source,
          pattern: definition.pattern, flags: declaration.kind == .pattern ? "i" : "", place: declaration.place,
          parameters: definition.parameters, documentation: declaration.documentation, uses: 0)
      }
      features = []
      var known: [String: [Int]] = [:]
      var filters = FeatureTestFilters()
      for file in files.files {
        let listing = FeatureListing(file, &filters)
        let scenarios = zip(listing.scenarios, file.scenarios).map { scenario, packed in
          Scenario(
            scenario: scenario,
            steps: packed.steps.map { step in
              let matches = known[step.text] ?? library.matches(step.text)
              known[step.text] = matches
              return Step(
                keyword: step.keyword, text: step.text, line: step.line, column: step.column, definitions: matches)
            })
        }
        features.append(
          Feature(
            path: file.path, name: listing.name, language: listing.language, tags: listing.tags, scenarios: scenarios))
      }
      let used =
        features.flatMap(\.scenarios).flatMap(\.steps).flatMap(\.definitions)
        + library.uses.flatMap { library.possibleMatches($0.text) }
      for index in used { definitions[index].uses += 1 }
    }
  }

  static let command = Command(
    "features steps", "list step definitions, for editors",
    usage: ["features steps [--json] [--index FILE] [option …] [PATH …]"],
    about: """
      Prints the step definitions in Swift files, and how many steps use each. JSON
      contains the location, the expression, the equivalent regular expression, the
      types of the parameters, and the documentation comment.
      """,
    options: [
      FeaturesCommand.stepsOption,
      .init("--index", "FILE", "also write features, steps, definitions and matches to FILE as JSON"),
      .init("--json", nil, "print JSON"),
    ], operands: .files, run: run)
}
