import Basics
import EnvironmentService
import FeatureTestSources
import Foundation
import Gherkin
import LaunchContract

/// Feature files and Swift files that a command line names.
struct FeatureFiles {
  /// A feature file that could be parsed.
  struct File {
    let path: String
    let document: GherkinDocument
    let scenarios: [PackedScenario]
  }

  /// A mistake in a file.
  struct Problem {
    let place: FilePlace
    let message: String
  }

  /// A file cannot be decoded.
  enum NotUTF8: Error {
    case file
  }

  private(set) var files: [File] = []
  private(set) var problems: [Problem] = []

  /// Parses files.
  ///
  /// - Parameter paths: the feature files.
  /// - Throws: ``CodedError`` if one cannot be read. Files that are not valid are ``problems``.
  init(_ paths: [String]) throws(CodedError) {
    for path in paths {
      guard let text = try Self.text(path) else {
        problems.append(Problem(place: FilePlace(path: path, line: 1, column: 1), message: Self.encodingProblem))
        continue
      }
      do {
        let document = try GherkinParser().parse(text, uri: path)
        files.append(File(path: path, document: document, scenarios: PackedScenario.all(in: document)))
      } catch {
        problems += Self.problems(error, in: text, path)
      }
    }
  }

  static let encodingProblem = "the file is not UTF-8; save it as UTF-8"

  /// The text of a file; nil if it is not UTF-8.
  static func text(_ path: String) throws(CodedError) -> String? {
    String(validating: try WholeFiles.read(path), as: UTF8.self)
  }

  static func problems(_ errors: GherkinErrors, in text: String, _ path: String) -> [Problem] {
    errors.errors.map { error in
      let place = FilePlace(path: path, line: error.location.line, column: error.location.column ?? 1)
      return Problem(place: place, message: error.message + FeatureFile.advice(on: error, in: text))
    }
  }

  /// The feature files of a command line; folders are searched.
  ///
  /// - Throws: ``CodedError`` if no file is found.
  static func paths(_ options: Options) throws(CodedError) -> [String] {
    let operands = operands(options)
    let paths = try found(operands, named: isFeature)
    guard !paths.isEmpty else {
      throw CodedError(
        .noCassette, "no feature files in \(operands.joined(separator: ", ")); name a folder with *.feature files")
    }
    return paths
  }

  static func operands(_ options: Options) -> [String] {
    let operands = options.operands + (options.rest ?? [])
    return operands.isEmpty ? ["."] : operands
  }

  static func isFeature(_ name: String) -> Bool { name.hasSuffix(".feature") || name.hasSuffix(".feature.md") }

  /// What Swift files in the folders of a command line, or of `--steps`, have.
  static func steps(_ options: Options) throws(CodedError) -> SwiftSteps {
    let folders = options.all("--steps").isEmpty ? operands(options).map(folder) : options.all("--steps")
    var steps = SwiftSteps()
    var added: Set<String> = []
    for path in try found(folders, named: { $0.hasSuffix(".swift") }) {
      // A file that is not UTF-8 does not compile.
      guard let text = try text(path) else { continue }
      steps.add(text, path: path)
      BuiltInSteps.add(usedIn: text, to: &steps, &added)
    }
    return steps
  }

  private static func folder(_ path: String) -> String {
    guard InputFile.refusedKind(path) != "a folder" else { return path }
    let folder = (path as NSString).deletingLastPathComponent
    return folder.isEmpty ? "." : folder
  }

  /// The files at paths, and those with certain names in folders, in order, each once.
  static func found(_ paths: [String], named isWanted: (String) -> Bool) throws(CodedError) -> [String] {
    var found: [String] = []
    for path in paths {
      switch path.isEmpty ? nil : InputFile.refusedKind(path) {
      case "a folder": found += search(path, isWanted)
      case let kind?: throw CodedError(.inputOutput, "cannot read \(path): it is \(kind); name a file or a folder")
      case nil:
        guard FileManager.default.fileExists(atPath: path) else {
          throw CodedError(.noCassette, "no file or folder '\(path)'; check the name")
        }
        found.append(path)
      }
    }
    var seen: Set<String> = []
    return found.filter { seen.insert(URL(fileURLWithPath: $0).resolvingSymlinksInPath().path).inserted }
  }

  /// Leaves out hidden files, and folders of dependencies.
  private static func search(_ folder: String, _ isWanted: (String) -> Bool) -> [String] {
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    var found: [String] = []
    for name in names where !name.hasPrefix(".") && name != "node_modules" {
      let path = folder == "." ? name : folder.hasSuffix("/") ? folder + name : "\(folder)/\(name)"
      let type = try? FileManager.default.attributesOfItem(atPath: path)[.type] as? FileAttributeType
      if type == .typeDirectory {
        found += search(path, isWanted)
      } else if isWanted(name), type == .typeRegular || InputFile.refusedKind(path) == nil {
        found.append(path)
      }
    }
    return found
  }
}

extension PackedScenario.Step {
  /// The function that defines the step.
  var function: String {
    switch type {
    case .context: "Given"
    case .action: "When"
    case .outcome: "Then"
    case .unknown: "Step"
    }
  }
}
