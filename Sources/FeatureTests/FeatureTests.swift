import Foundation
import PackagePlugin

/// Generates a Swift file with one test for each scenario of a feature file.
@main struct FeatureTests: BuildToolPlugin {
  func createBuildCommands(context: PluginContext, target: any Target) throws -> [Command] {
    guard let target = target as? any SourceModuleTarget else { return [] }
    let tool = try context.tool(named: "FeatureTestGenerator").url
    let root = target.directoryURL.path(percentEncoded: false)
    return target.sourceFiles.filter { $0.url.pathExtension == "feature" }.map { file in
      let path = file.url.path(percentEncoded: false)
      let relative = path.hasPrefix(root) ? String(path.dropFirst(root.count)) : path
      // Object files are named like their sources without folders, so two sources of one name would collide.
      let name = relative.replacing("_", with: "__").replacing("/", with: "_") + ".swift"
      let output = context.pluginWorkDirectoryURL.appending(path: name)
      return .buildCommand(
        displayName: "Scenarios of \(relative)", executable: tool,
        arguments: [path, output.path(percentEncoded: false), target.moduleName], inputFiles: [file.url],
        outputFiles: [output])
    }
  }
}
