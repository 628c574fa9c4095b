package import Basics
import EnvironmentConfiguration
import Foundation
package import Gherkin

/// Generates tests from the feature files of a target. The plugin `FeatureTests` runs it.
///
///     FeatureTestGenerator FOLDER SETTINGS (FEATURE COUNT OUTPUT…)…
///
/// SETTINGS is the path of a settings file, or empty. COUNT is the number of OUTPUTs, among which the scenarios are divided.
/// Errors are printed in the format of compiler errors; then no file is written.
package enum FeatureTestGenerator {
  /// - Parameter arguments: the arguments of the program, without its name.
  package static func main(_ arguments: [String]) {
    var arguments = arguments[...]
    guard let folder = arguments.popFirst(), let settings = arguments.popFirst() else { usage() }
    var features: [(path: String, outputs: [String])] = []
    while let path = arguments.popFirst() {
      guard let count = arguments.popFirst().flatMap({ Int($0) }), (1...arguments.count).contains(count) else {
        usage()
      }
      features.append((path, Array(arguments.prefix(count))))
      arguments.removeFirst(count)
    }
    var problems: [String] = []
    var library = TestLibrary.swiftTesting
    if !settings.isEmpty {
      do { library = try TestLibrary(settings: contents(of: settings)) } catch {
        problems.append("\(settings):1:1: error: \(error.message)")
      }
    }
    var documents: [(GherkinDocument, path: String, outputs: [String])] = []
    for (path, outputs) in features {
      do {
        let document = try FeatureFile.read(contents(of: path), path)
        documents.append((document, path, outputs))
      } catch let error as FeatureFile.Problems {
        problems += error.lines
      } catch { problems.append("\(path):1:1: error: \(error)") }
    }
    guard problems.isEmpty else { fail(problems) }
    var names = TestNames(folder: folder)
    for (document, path, outputs) in documents {
      let sources = TestSource.make(of: document, at: path, for: library, files: outputs.count, &names)
      for (source, output) in zip(sources, outputs) { write(source, to: output) }
    }
  }

  private static func contents(of path: String) throws(CodedError) -> String {
    guard let data = FileManager.default.contents(atPath: path) else {
      throw CodedError(.inputOutput, "cannot read the file")
    }
    guard let text = String(validating: data, as: UTF8.self) else {
      throw CodedError(.broken, "the file is not UTF-8; convert it, for example with iconv -f ISO-8859-1 -t UTF-8")
    }
    return text
  }

  /// Does not write a file that already has this text, so that it is not compiled again.
  private static func write(_ text: String, to path: String) {
    let data = Data(text.utf8)
    if FileManager.default.contents(atPath: path) == data { return }
    do { try data.write(to: URL(fileURLWithPath: path), options: .atomic) } catch {
      fail(["\(path):1:1: error: cannot write the file: \(error.localizedDescription)"])
    }
  }

  private static func usage() -> Never {
    fail(["usage: FeatureTestGenerator FOLDER SETTINGS (FEATURE COUNT OUTPUT…)…"])
  }

  private static func fail(_ lines: [String]) -> Never {
    FileHandle.standardError.write(Data((lines.joined(separator: "\n") + "\n").utf8))
    _exit(1)
  }
}

/// The test library that runs the tests.
package enum TestLibrary: String, CaseIterable {
  case swiftTesting = "swift-testing"
  case xctest

  /// Reads a settings file, such as `{"tests": "xctest"}`.
  package init(settings text: String) throws(CodedError) {
    let json = try CodedError.translating(at: "not JSON", try JSON.parse(Array(text.utf8)))
    guard case .object(let members) = json else {
      throw CodedError(.broken, "expected an object such as {\"tests\": \"xctest\"}")
    }
    for name in members.map(\.key).sorted() where name != "tests" {
      throw CodedError(.broken, "'\(name)' is not a setting; the only one is 'tests'")
    }
    let names = Self.allCases.map { "'\($0.rawValue)'" }.joined(separator: " or ")
    guard let value = members.last(where: { $0.key == "tests" })?.value else {
      throw CodedError(.broken, "'tests' is missing; set it to \(names)")
    }
    guard case .string(let name) = value, let library = Self(rawValue: name) else {
      throw CodedError(.broken, "'tests' must be \(names)")
    }
    self = library
  }
}

/// A feature file, checked.
package enum FeatureFile {
  /// What is wrong, in lines as the compiler prints them.
  package struct Problems: Error {
    package var lines: [String]
  }

  /// - Throws: ``Problems`` with all errors of the syntax, or else of the tags.
  package static func read(_ text: String, _ path: String) throws -> GherkinDocument {
    let document: GherkinDocument
    do { document = try GherkinParser().parse(text, uri: path) } catch {
      throw Problems(
        lines: error.errors.map { error in
          "\(path):\(error.location.line):\(max(1, error.location.column ?? 1)): error: "
            + error.message + advice(on: error, in: text)
        })
    }
    let lines = document.tagProblems.map { problem in
      "\(path):\(problem.location.line):\(max(1, problem.location.column ?? 1)): error: \(problem.message)"
    }
    guard lines.isEmpty else { throw Problems(lines: lines) }
    return document
  }

  /// A correction to suggest for an invalid line, appended to the error message; empty if no keyword is similar.
  package static func advice(on error: GherkinError, in text: String) -> String {
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    guard error.message.hasPrefix("expected: "), lines.indices.contains(error.location.line - 1) else { return "" }
    let comments = lines.prefix { $0.allSatisfy(\.isWhitespace) || $0.drop(while: \.isWhitespace).first == "#" }
    let language = comments.lazy.compactMap { $0.firstMatch(of: #/^\s*#\s*language\s*:\s*([\w-]+)/#)?.1 }.first ?? "en"
    guard let (titles, steps) = GherkinDialect(String(language))?.keywords else { return "" }
    let line = lines[error.location.line - 1].trimmingCharacters(in: .whitespaces)
    let title = titles.filter { line == $0 || line.hasPrefix($0 + " ") }.max { $0.count < $1.count }
    if let title { return "; write a colon after '\(title)'" }
    let name = String(line.prefix { $0 != ":" })
    let word = String(line.prefix { $0 != " " })
    // A keyword that is right is in the wrong place.
    if titles.contains(name) || steps.contains(word) { return "" }
    if name != line, let near = EditDistance.likely(name, among: titles) { return "; did you mean '\(near):'?" }
    return EditDistance.likely(word, among: steps).map { "; did you mean '\($0)'?" } ?? ""
  }
}

extension GherkinDocument {
  /// What is wrong with the tags that provision environments.
  package var tagProblems: [(location: Location, message: String)] {
    let places = Dictionary(tags.map { ($0.id, $0.location) }) { first, _ in first }
    var problems: [(location: Location, message: String)] = []
    var ids = IDGenerator(from: 1_000_000_000)
    for pickle in PickleCompiler.pickles(of: self, ids: &ids) {
      do { _ = try ScenarioTags.configuration(from: pickle.tags.map(\.name)) } catch {
        for problem in error.problems {
          let place = places[pickle.tags[problem.index].astNodeId] ?? pickle.location
          // A feature's tag belongs to all its scenarios.
          if problems.contains(where: { $0.location == place && $0.message == problem.message }) { continue }
          problems.append((place, problem.message))
        }
      }
    }
    return problems
  }

  /// The tags of the feature, its rules, scenarios and examples.
  fileprivate var tags: [Tag] {
    guard let feature else { return [] }
    return feature.tags + feature.rules.flatMap(\.tags)
      + feature.scenarios.flatMap { $0.tags + $0.examples.flatMap(\.tags) }
  }
}
