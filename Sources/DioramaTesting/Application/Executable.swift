import ChildProcesses
import Foundation
import LaunchContract

/// Where the program is that a test names.
enum Executable {
  /// The folder of the test's own products: where the package's executables are built, too.
  static var products: String {
    // On Apple's platforms tests are a bundle beside the products, and the main bundle is the tool that loads it.
    let bundle = Bundle.allBundles.first {
      $0.bundleURL.pathExtension == "xctest" && $0.bundleURL != Bundle.main.bundleURL
    }
    let place = bundle?.bundleURL ?? Bundle.main.executableURL ?? Bundle.main.bundleURL
    return place.deletingLastPathComponent().path
  }

  /// The path of a program.
  ///
  /// - Parameters:
  ///   - name: a path is taken as it is; a name is looked for among the products, then in PATH.
  ///   - products: the folder of the products.
  ///   - path: the variable PATH.
  /// - Returns: a path, or a name that PATH has.
  /// - Throws: when there is no such program.
  static func find(
    _ name: String, products: String = products, path: String?
  ) throws(DioramaTestingError) -> String {
    if !name.contains("/"), !name.isEmpty, isProgram("\(products)/\(name)") { return "\(products)/\(name)" }
    do throws(NotStarted) {
      try Spawn.check(Array(name.utf8), path: path)
      return name
    } catch {
      guard !name.contains("/"), error.status == 127 else { throw DioramaTestingError(.notStarted, error.message) }
      let names = (try? FileManager.default.contentsOfDirectory(atPath: products)) ?? []
      let programs = names.filter { !$0.contains(".") && isProgram("\(products)/\($0)") }
      let nearest = EditDistance.nearest(to: name, among: programs).map { "'\($0)'" }.joined(separator: ", ")
      throw DioramaTestingError(
        .notStarted,
        "there is no program '\(name)' in \(products) or PATH"
          + (nearest.isEmpty ? "" : "; the nearest that are built are \(nearest)")
          + "; add its target to the test target's dependencies, so that it is built")
    }
  }

  private static func isProgram(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
      && access(path, X_OK) == 0
  }
}
