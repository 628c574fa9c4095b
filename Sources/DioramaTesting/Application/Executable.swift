import Basics
import ChildProcesses
import Foundation
import LaunchContract

/// The lookup of programs that tests name.
package enum Executable {
  /// The folder with the test's products, which also contains the package's executables.
  package static var products: String {
    // On Apple platforms a test is a bundle beside the products, and the main bundle is the tool that loads it.
    let bundle = Bundle.allBundles.first {
      $0.bundleURL.pathExtension == "xctest" && $0.bundleURL != Bundle.main.bundleURL
    }
    let place = bundle?.bundleURL ?? Bundle.main.executableURL ?? Bundle.main.bundleURL
    return place.deletingLastPathComponent().path
  }

  /// The path of a program.
  ///
  /// - Parameters:
  ///   - name: a path, which is used unchanged, or a name, which is looked up among the products, then in PATH.
  ///   - products: the folder of the products.
  ///   - path: the variable PATH.
  /// - Returns: a path, or a name found in PATH.
  /// - Throws: ``DioramaTestingError`` if the program does not exist.
  package static func find(
    _ name: String, products: String = products, path: String?
  ) throws(DioramaTestingError) -> String {
    if !name.contains("/"), !name.isEmpty, isProgram("\(products)/\(name)") { return "\(products)/\(name)" }
    do {
      try Spawn.check(Array(name.utf8), path: path)
      return name
    } catch {
      guard !name.contains("/"), error.status == 127 else { throw DioramaTestingError(.notStarted, error.message) }
      let names = (try? FileManager.default.contentsOfDirectory(atPath: products)) ?? []
      let programs = names.filter { !$0.contains(".") && isProgram("\(products)/\($0)") }
      let near = EditDistance.likely(name, among: programs)
      throw DioramaTestingError(
        .notStarted,
        "no program '\(name)' in \(products) or PATH"
          + (near.map { "; did you mean '\($0)'?" } ?? ".")
          + " Add its target to the test target's dependencies, so that it is built")
    }
  }

  private static func isProgram(_ path: String) -> Bool {
    var isFolder: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && !isFolder.boolValue
      && access(path, X_OK) == 0
  }
}
