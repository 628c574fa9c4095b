import Foundation
import PackagePlugin

/// Generates Swift tests from the feature files of a target, one for each scenario.
@main struct FeatureTests: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let folder = target.directoryURL.path(percentEncoded: false)
    let features = target.sourceFiles.map { $0.url.path(percentEncoded: false) }
      .filter { $0.hasSuffix(".feature") || $0.hasSuffix(".feature.md") }.sorted()
    guard !features.isEmpty else { return [] }
    var inputs = features
    var arguments = [folder]
    let settings = folder + (folder.hasSuffix("/") ? "" : "/") + "feature-tests.json"
    if FileManager.default.fileExists(atPath: settings) {
      inputs.append(settings)
      arguments.append(settings)
    } else {
      arguments.append("")
    }
    var outputs: [URL] = []
    for path in features {
      let urls = outputURLs(of: path, in: folder, at: context.pluginWorkDirectoryURL)
      arguments += [path, String(urls.count)] + urls.map { $0.path(percentEncoded: false) }
      outputs += urls
    }
    // One command, since names have to be unique in the whole target. It writes only what has changed.
    return [
      .buildCommand(
        displayName: "Generating tests from \(features.count == 1 ? "1 feature" : "\(features.count) features")",
        executable: try context.tool(named: "FeatureTestGenerator").url, arguments: arguments,
        inputFiles: inputs.map { URL(fileURLWithPath: $0) }, outputFiles: outputs)
    ]
  }

  /// The generated files of a feature file: several for a large one, because compiling a test takes longer the more tests
  /// are in its file.
  ///
  /// All names end with that of the feature file, so that `--filter 'booking.feature.swift:35:'` finds line 35.
  private func outputURLs(of path: String, in folder: String, at output: URL) -> [URL] {
    let size = (try? FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
    // Object files are named like their sources without folders, so sources of one name would collide.
    let relative = path.hasPrefix(folder) ? String(path.dropFirst(folder.count)) : path
    let name = relative.replacing("+", with: "++").replacing("/", with: "+") + ".swift"
    return (1...(1 + size / 20_000)).map { output.appending(path: $0 == 1 ? name : "\($0)+\(name)") }
  }
}
