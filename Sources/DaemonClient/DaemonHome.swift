import Basics
package import ControlAPI
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A daemon's state folder, through which programs find the daemon.
package struct DaemonHome: Sendable, Hashable {
  /// The absolute path.
  package let folder: String

  /// - Parameter folder: an absolute path, or one relative to the current folder.
  package init(folder: String) {
    self.folder = StateFolderPath.absolute(folder, in: FileManager.default.currentDirectoryPath)
  }

  /// The user's default folder.
  ///
  /// - Parameter variables: the environment variables.
  /// - Returns: the folder, which need not exist.
  package static func standard(variables: [String: String]) -> DaemonHome {
    DaemonHome(
      folder: StateFolderPath.resolve(
        variables: variables, home: variables["HOME"].flatMap { $0.isEmpty ? nil : $0 } ?? NSHomeDirectory(),
        current: FileManager.default.currentDirectoryPath))
  }

  /// The file in which a daemon publishes how to reach it.
  package var controlFile: String { folder + "/control.json" }

  /// Reads the control file.
  ///
  /// - Returns: nil if there is no control file.
  /// - Throws: ``DaemonClientError`` for a file that other users could have written, or that cannot be read.
  package func readControlFile() throws(DaemonClientError) -> ControlFile? {
    let path = controlFile
    let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else {
      if errno == ENOENT || errno == ENOTDIR { return nil }
      throw DaemonClientError(
        .unusable,
        "cannot read \(path): \(String(cString: strerror(errno))); change its owner to you, or use another state folder"
      )
    }
    defer { close(descriptor) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid(),
      status.st_mode & 0o022 == 0
    else {
      // The author of the file would get everything we send, including credentials.
      throw DaemonClientError(
        .unusable, "\(path) is writable by others; remove it, or set DIORAMA_HOME to a folder of your own")
    }
    let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: false)
    do {
      let data = try handle.read(upToCount: 65_536) ?? Data()
      return try JSON.decode(ControlFile.self, from: data, source: path)
    } catch {
      throw DaemonClientError(
        .unusable, "cannot parse \(path) (\(error)); restart the daemon to rewrite it: diorama serve")
    }
  }
}

// Errors about daemons that do not respond, with the next step.
extension DaemonHome {
  /// No daemon has been started.
  var nobody: DaemonClientError {
    DaemonClientError(
      .noDaemon,
      "no daemon runs for \(folder), so there are no environments or leased ports; start the daemon with: "
        + "diorama serve --state \(folder)")
  }

  func dead(_ control: ControlFile) -> DaemonClientError {
    DaemonClientError(
      .dead,
      "the daemon of \(folder) (process \(control.pid)) exited unexpectedly; restart it to recover its environments: "
        + "diorama serve --state \(folder)")
  }

  func suspended(_ control: ControlFile) -> DaemonClientError {
    DaemonClientError(
      .suspended,
      "the daemon of \(folder) (process \(control.pid)) is suspended; resume it with: kill -CONT \(control.pid)")
  }

  func unresponsive(_ control: ControlFile, _ patience: Duration) -> DaemonClientError {
    DaemonClientError(
      .unresponsive,
      "the daemon of \(folder) (process \(control.pid)) has not responded for \(patience); check what it is doing, or stop "
        + "it: kill \(control.pid)")
  }

  /// Describes a request without a response.
  func failure(_ error: any Error, _ control: ControlFile) -> DaemonClientError {
    if error is CancellationError {
      return DaemonClientError(.unresponsive, "the wait for the daemon of \(folder) was cancelled")
    }
    guard let error = error as? CodedError, error.kind != .broken else {
      return DaemonClientError(.notUnderstood, "the daemon of \(folder): \(error)")
    }
    switch error.kind {
    case .inputOutput where ProcessState(of: control.pid) != .gone:
      return DaemonClientError(
        .dead,
        "the daemon of \(folder) (process \(control.pid)) closed the connection without a response; check its log")
    default:
      // The backlog of a socket that is not accepting connections fills up at some point.
      return ProcessState(of: control.pid) == .stopped ? suspended(control) : dead(control)
    }
  }
}
