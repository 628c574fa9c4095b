import Basics
import CucumberExpressions
import FeatureTestSources
import Foundation
import Gherkin

/// `diorama features check`: finds mistakes in feature files and step definitions.
enum FeaturesCheck {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let features = try FeatureFiles(FeatureFiles.paths(options))
    let library = StepLibrary(try FeatureFiles.steps(options))
    // Other files may use what the named ones do not.
    let isWhole = FeatureFiles.operands(options).allSatisfy { !FeatureFiles.isFeature($0) }
    let report = Report(features, library, checksUnused: isWhole && !options.has("--allow-unused"))
    if options.has("--json") {
      try Output.write(json: report)
    } else {
      try Output.write(lines: report.lines)
      terminal.line(report.summary)
      if library.definitions.isEmpty, !report.undefined.isEmpty {
        terminal.line("no step definitions in these folders; name their folder with --steps")
      }
    }
    return report.problems.isEmpty ? 0 : features.problems.isEmpty ? 1 : CodedError.Kind.broken.rawValue
  }

  struct Report: Encodable {
    enum Kind: String, Encodable {
      case syntax, tag, expression, empty, undefined, ambiguous, unused
    }

    struct Problem: Encodable {
      var kind: Kind
      var place: FilePlace
      var message: String
      /// Definitions that match, or that are similar.
      var definitions: [Reference] = []
    }

    struct Reference: Encodable {
      var place: FilePlace
      var expression: String
    }

    /// A definition to add.
    struct Snippet: Encodable {
      var code: String
      var places: [FilePlace]
    }

    var features = 0
    var scenarios = 0
    var steps = 0
    var definitions = 0
    var problems: [Problem] = []
    var undefined: [Snippet] = []
    var notes: [SwiftSteps.Note]

    init(_ files: FeatureFiles, _ library: StepLibrary, checksUnused: Bool) {
      features = files.files.count
      definitions = library.definitions.count
      notes = library.notes
      problems = files.problems.map { Problem(kind: .syntax, place: $0.place, message: $0.message) }
      for failure in library.failures {
        // The first line says that there is a problem, the others what it is.
        let lines = failure.message.split(separator: "\n").map(String.init)
        let problem = lines.count > 1 && lines[0].hasPrefix("This Cucumber") ? lines.suffix(2) : lines[...]
        problems.append(Problem(kind: .expression, place: failure.place, message: problem.joined(separator: " ")))
      }
      var used: Set<Int> = []
      var nearest: [String: [Reference]] = [:]
      /// The rows of an outline share their steps' places.
      var seen: Set<String> = []

      func check(
        _ text: String, _ place: FilePlace, _ matches: [Int], snippet: () -> String
      ) -> Problem? {
        used.formUnion(matches)
        guard matches.count != 1, seen.insert("\(place) \(text)").inserted else { return nil }
        if matches.count > 1 {
          return Problem(
            kind: .ambiguous, place: place,
            message:
              "the step '\(text)' matches \(matches.count) step definitions; make their expressions more specific",
            definitions: matches.map { Reference(library.definitions[$0]) })
        }
        let code = snippet()
        if let index = undefined.firstIndex(where: { $0.code == code }) {
          if undefined[index].places.last != place { undefined[index].places.append(place) }
        } else {
          undefined.append(Snippet(code: code, places: [place]))
        }
        // Texts that differ only in values are near the same definitions.
        let near = nearest[code] ?? library.nearest(to: text).map(Reference.init)
        nearest[code] = near
        return Problem(
          kind: .undefined, place: place, message: "the step '\(text)' has no definition", definitions: near)
      }

      var known: [String: [Int]] = [:]
      for file in files.files {
        problems += Self.tagProblems(file) + Self.emptyParts(file)
        for scenario in file.scenarios {
          scenarios += 1
          for step in scenario.steps {
            steps += 1
            let matches = known[step.text] ?? library.matches(step.text)
            known[step.text] = matches
            let place = FilePlace(path: file.path, line: step.line, column: step.column)
            let problem = check(step.text, place, matches) {
              library.snippet(
                step.function, step.text, hasTable: step.table != nil, hasDocString: step.docString != nil)
            }
            if let problem { problems.append(problem) }
          }
        }
      }
      for use in library.uses {
        let matches = library.possibleMatches(use.text)
        used.formUnion(matches)
        guard use.isChecked, !StepLibrary.isTemplate(use.text) else { continue }
        steps += 1
        let problem = check(use.text, use.place, matches) {
          library.snippet("Step", use.text, hasTable: false, hasDocString: false)
        }
        if let problem { problems.append(problem) }
      }
      // The steps of a file with syntax errors are not known.
      if checksUnused, files.problems.isEmpty {
        for (index, definition) in library.definitions.enumerated()
        where !used.contains(index) && definition.declaration.place.path != BuiltInSteps.place {
          problems.append(
            Problem(
              kind: .unused, place: definition.declaration.place,
              message: "no step uses '\(definition.declaration.source)'; remove it, or allow it with --allow-unused"))
        }
      }
      problems.sort { $0.place < $1.place }
    }

    /// Mistakes in tags that provision the environment.
    private static func tagProblems(_ file: FeatureFiles.File) -> [Problem] {
      file.document.tagProblems.map { problem in
        let place = FilePlace(path: file.path, line: problem.location.line, column: problem.location.column ?? 1)
        return Problem(kind: .tag, place: place, message: problem.message)
      }
    }

    /// Features without scenarios, and scenarios without steps or examples. A line with a misspelled keyword becomes part of
    /// the description.
    private static func emptyParts(_ file: FeatureFiles.File) -> [Problem] {
      func problem(_ location: Location?, _ message: String) -> Problem {
        let place = FilePlace(path: file.path, line: location?.line ?? 1, column: location?.column ?? 1)
        return Problem(kind: .empty, place: place, message: message)
      }
      let advice = "lines with a misspelled keyword are read as its description; check the keywords"
      let scenarios = file.document.feature?.scenarios ?? []
      if scenarios.isEmpty {
        return [problem(file.document.feature?.location, "the feature has no scenarios; \(advice)")]
      }
      return scenarios.compactMap { scenario in
        if scenario.steps.isEmpty { return problem(scenario.location, "the scenario has no steps; \(advice)") }
        guard !scenario.examples.isEmpty, scenario.examples.allSatisfy(\.tableBody.isEmpty) else { return nil }
        return problem(scenario.location, "the scenario has no rows of examples, so it never runs; add a row")
      }
    }

    var lines: [String] {
      var lines: [String] = []
      for problem in problems {
        lines.append("\(problem.place): error: \(problem.message)")
        let note = problem.kind == .ambiguous ? "it matches" : "similar:"
        lines += problem.definitions.map { "\($0.place): note: \(note) '\($0.expression)'" }
      }
      lines += notes.map { "\($0.place): note: \($0.message)" }
      guard !undefined.isEmpty else { return lines }
      lines += ["", "Add these step definitions:"]
      for snippet in undefined {
        let places =
          snippet.places.count > 3
          ? ["\(snippet.places.count) places, first \(snippet.places[0])"]
          : snippet.places.map(\.description)
        lines += ["", "// \(places.joined(separator: ", "))"] + snippet.code.components(separatedBy: "\n")
      }
      return lines
    }

    var summary: String {
      let checked = [
        counted(features, "feature"), counted(scenarios, "scenario"), counted(steps, "step"),
        counted(definitions, "step definition"),
      ].joined(separator: ", ")
      return "\(checked): " + (problems.isEmpty ? "no problems" : counted(problems.count, "problem"))
    }
  }

  static let command = Command(
    "features check", "find mistakes in feature files and step definitions",
    usage: ["features check [option …] [PATH …]"],
    about: """
      Prints syntax errors, scenarios without steps, undefined and ambiguous
      steps, unused definitions, and invalid expressions, each with its location,
      and code for the missing definitions. Definitions are read from Swift files
      without compiling them. Unused definitions are reported only if every PATH
      is a folder.
      """,
    options: [
      FeaturesCommand.stepsOption,
      .init("--allow-unused", nil, "accept step definitions that no step uses"),
      .init("--json", nil, "print JSON"),
    ],
    notes: """
      Exit status: 0 no problems; 1 features and step definitions do not match;
      65 a feature file is not valid; 66 no feature files.
      """, operands: .files, run: run)
}

extension FeaturesCheck.Report.Reference {
  init(_ definition: StepLibrary.Definition) {
    self.init(place: definition.declaration.place, expression: definition.declaration.source)
  }
}
