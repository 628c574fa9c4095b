import Basics
import EnvironmentService
import Foundation
import Gherkin

/// `diorama features format`: formats feature files.
enum FeaturesFormat {
  private static func run(_ options: Options, terminal: Terminal) throws -> Int32 {
    let isCheck = options.has("--check")
    var changed: [String] = []
    var isBroken = false
    let paths = try FeatureFiles.paths(options)
    for path in paths {
      var problems: [FeatureFiles.Problem] = []
      do {
        guard let formatted = try formatted(path) else { continue }
        changed.append(path)
        if !isCheck { try replace(path, Array(formatted.utf8)) }
      } catch let errors as GherkinErrors {
        problems = FeatureFiles.problems(errors, in: (try FeatureFiles.text(path)) ?? "", path)
      } catch FeatureFiles.NotUTF8.file {
        problems = [.init(place: FilePlace(path: path, line: 1, column: 1), message: FeatureFiles.encodingProblem)]
      }
      isBroken = isBroken || !problems.isEmpty
      for problem in problems { terminal.error("\(problem.place): error: \(problem.message)") }
    }
    try Output.write(lines: changed)
    let what = isCheck ? "to format" : "formatted"
    terminal.line("\(counted(paths.count, "file")), \(changed.count) \(what)")
    if isBroken { return CodedError.Kind.broken.rawValue }
    return isCheck && !changed.isEmpty ? 1 : 0
  }

  /// The formatted text of a file; nil if it is formatted already.
  private static func formatted(_ path: String) throws -> String? {
    guard let text = try FeatureFiles.text(path) else { throw FeatureFiles.NotUTF8.file }
    let formatted = try GherkinFormatter().format(text, uri: path)
    // Strings that are canonically equivalent are equal, so bytes are compared.
    return formatted.utf8.elementsEqual(text.utf8) ? nil : formatted
  }

  /// Replaces a file at once. A link stays one, and the file's mode stays.
  private static func replace(_ path: String, _ bytes: [UInt8]) throws {
    let real = (path as NSString).resolvingSymlinksInPath
    let mode = try? FileManager.default.attributesOfItem(atPath: real)[.posixPermissions]
    try WholeFiles.write([(real, bytes)], isReplacing: true)
    if let mode { try? FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: real) }
  }

  static let command = Command(
    "features format", "format feature files", usage: ["features format [--check] [PATH …]"],
    about: """
      Indents by two spaces, aligns tables, and puts an empty line before each
      scenario. Keeps comments, descriptions and doc strings. Prints the names of the
      files that it changes; it does not change files with syntax errors.
      """,
    options: [.init("--check", nil, "change nothing; exit with 1 if a file is not formatted")],
    notes: "Exit status: 0 formatted; 1 not formatted, with --check; 65 a file is not valid.",
    operands: .files, run: run)
}
