package import ControlAPI
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The state folder by which programs and a daemon find each other.
package struct DaemonHome: Sendable, Equatable {
  /// Its absolute path.
  package let folder: String

  /// - Parameter folder: an absolute path, or one from the current folder.
  package init(folder: String) {
    self.folder = StateFolderPath.absolute(folder, in: FileManager.default.currentDirectoryPath)
  }

  /// The user's own: where a daemon is that was started without saying where.
  ///
  /// - Parameter variables: the process's.
  /// - Returns: the folder, which need not be there.
  package static func standard(variables: [String: String]) -> DaemonHome {
    DaemonHome(
      folder: StateFolderPath.resolve(
        variables: variables, home: variables["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory(),
        current: FileManager.default.currentDirectoryPath))
  }

  /// Where a daemon says how it is reached.
  package var controlFile: String { folder + "/control.json" }

  /// Reads how the daemon is reached.
  ///
  /// - Returns: nil where no daemon has said so.
  /// - Throws: ``DaemonClientError`` for a file that somebody else may have written, or that cannot be read.
  package func readControlFile() throws(DaemonClientError) -> ControlFile? {
    let path = controlFile
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw DaemonClientError(
        .unusable,
        "cannot read \(path): \(String(cString: strerror(errno))); make it yours or name another state folder")
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_mode & 0o022 == 0
    else {
      // Whoever wrote it would get whatever we send, credentials too.
      throw DaemonClientError(
        .unusable, "\(path) is not yours alone to write; remove it, or set DIORAMA_HOME to a folder of your own")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
    do {
      let data = try handle.read(upToCount: 65_536) ?? Data()
      return try ContractJSON.decode(ControlFile.self, from: data, source: path)
    } catch {
      throw DaemonClientError(
        .unusable, "\(path) cannot be understood (\(error)); a daemon that starts there writes it again: diorama serve")
    }
  }
}
