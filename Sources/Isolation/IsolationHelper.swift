package import Basics
import Foundation

/// The executable `diorama-isolate`, which creates the namespaces: a process of its own, since a process with threads
/// cannot enter a user namespace.
package struct IsolationHelper: Sendable, Equatable {
  /// The name of the file.
  package static let name = "diorama-isolate"
  /// The environment variable with the executable's path, for one that is elsewhere.
  package static let variable = "DIORAMA_ISOLATE_HELPER"

  /// The absolute path.
  package let path: String

  /// Finds the executable: the one that the variable names, one in the folder of this program, or one in `libexec`
  /// beside that folder, where `make install` puts it.
  ///
  /// - Parameters:
  ///   - variables: the environment variables.
  ///   - program: the path of this program; by default, the running one.
  /// - Throws: ``CodedError`` if it is not installed, or the system is not Linux.
  package init(
    variables: [String: String] = ProcessInfo.processInfo.environment, program: String? = IsolationHelper.program
  ) throws(CodedError) {
    #if !os(Linux)
      throw CodedError(.noUpstream, "namespaces and seccomp need Linux; use --isolate=proxy")
    #else
      let manager = FileManager.default
      if let path = variables[Self.variable], !path.isEmpty {
        guard path.hasPrefix("/"), manager.isExecutableFile(atPath: path) else {
          throw CodedError(
            .noUpstream,
            "no executable at '\(path)'; set \(Self.variable) to the absolute path of \(Self.name), or unset it")
        }
        self.path = path
        return
      }
      let folder = URL(fileURLWithPath: program ?? "/").deletingLastPathComponent()
      let libexec = folder.deletingLastPathComponent().appending(path: "libexec")
      let places = [folder, libexec].map { $0.appending(path: Self.name).path }
      guard let path = places.first(where: manager.isExecutableFile) else {
        throw CodedError(
          .noUpstream,
          "\(Self.name) is neither in \(folder.path) nor in \(libexec.path); build it (swift build --product "
            + "\(Self.name)), install it (make install), or set \(Self.variable) to its path")
      }
      self.path = path
    #endif
  }

  /// The path of this program, with links resolved.
  package static var program: String? { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") }
}
