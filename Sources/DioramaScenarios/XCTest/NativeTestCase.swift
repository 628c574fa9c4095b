public import Foundation
import Gherkin
import Testing
import XCTest

/// A test case that runs all feature files of a folder in one test.
///
/// ```swift
/// final class NativeFeatures: NativeTestCase {
///   override class var path: URL? { URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Features") }
///   func testFeatures() async throws { try await runFeatures(Features()) }
/// }
/// ```
///
/// Prefer the plugin `FeatureTests`, which generates a test for each scenario.
open class NativeTestCase: FeatureTestCase {
  /// The codes of the languages that feature files can be written in, such as `ru`.
  public static var availableLanguages: [String] { GherkinDialect.languages }

  /// A folder with feature files, or one feature file.
  open class var path: URL? { nil }

  /// Runs all scenarios in ``path`` and its subfolders, in the order of the files' paths.
  ///
  /// Each failure is reported in its feature file. A file that cannot be read or parsed is a failure, too; the others run.
  /// Skipped scenarios are printed.
  ///
  /// - Parameter definitions: the step definitions, created again for each attempt at a scenario.
  /// - Throws: an error if there are no feature files.
  public func runFeatures<Definitions: StepDefinitions>(
    _ definitions: @autoclosure @escaping () throws -> Definitions
  ) async throws {
    guard let path = Self.path else { throw ScenarioError("\(Self.self): override path, the folder of feature files") }
    let files = Self.featureFiles(in: path)
    guard !files.isEmpty else { throw ScenarioError("\(path.path): no feature files in this folder") }
    for file in files {
      let text: String
      do { text = try String(contentsOf: file, encoding: .utf8) } catch {
        let place = Self.place(in: file, Location(line: 1, column: nil))
        fail("the file cannot be read: \(error.localizedDescription)", place)
        continue
      }
      do { try await runFeature(text, path: file.path, definitions) } catch let errors as GherkinErrors {
        for error in errors.errors { fail(error.message, Self.place(in: file, error.location)) }
      }
    }
  }

  private static func place(in file: URL, _ location: Location) -> SourceLocation {
    SourceLocation(
      fileID: "Features/\(file.lastPathComponent)", filePath: file.path, line: location.line,
      column: max(location.column ?? 1, 1))
  }

  func runFeature(
    _ text: String, path: String, _ definitions: @escaping () throws -> any StepDefinitions
  ) async throws {
    let document = try GherkinParser().parse(text, uri: path)
    for scenario in PackedScenario.all(in: document) {
      print("scenario \(scenario.name)")
      let outcome = try await run(scenario, of: document.feature?.name ?? "", in: path, definitions)
      if case .skipped(let reason) = outcome { print("\(path):\(scenario.line): skipped: \(reason)") }
    }
  }

  private static func featureFiles(in path: URL) -> [URL] {
    func isFeature(_ url: URL) -> Bool {
      url.lastPathComponent.hasSuffix(".feature") || url.lastPathComponent.hasSuffix(".feature.md")
    }
    if isFeature(path), (try? path.resourceValues(forKeys: [.isDirectoryKey]))?.isDirectory != true { return [path] }
    let files = FileManager.default.enumerator(at: path, includingPropertiesForKeys: nil)
    return (files?.compactMap { $0 as? URL } ?? []).filter(isFeature).sorted { $0.path < $1.path }
  }
}
