import ControlAPI
import Basics
import EnvironmentService
import Foundation

/// The file for `--report`. It is opened before the command runs, so that an error is reported at once, not after an
/// hour of tests.
struct ReportFile {
  private let path: String

  init(_ path: String) throws(CodedError) {
    self.path = path
    // Opening and closing a pipe would look like an empty report to its reader.
    guard !Self.isPipe(path) else { return }
    let isNew = access(path, F_OK) != 0
    close(try Self.open(path))
    // An empty file would look like a report.
    if isNew { unlink(path) }
  }

  func write(_ report: Report) throws(CodedError) {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      var data = try encoder.encode(report)
      data.append(0x0A)
      guard Self.isPipe(path) else {
        let file = FileHandle(fileDescriptor: try Self.open(path, O_TRUNC), closeOnDealloc: true)
        return try file.write(contentsOf: data)
      }
      // Doesn't wait for a reader, since there may never be one.
      let descriptor = Foundation.open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        guard errno == ENXIO else { throw Self.failure(path, String(cString: strerror(errno))) }
        throw CodedError(
          .cannotWrite, "cannot write the report \(path): the pipe has no reader; start its reader first")
      }
      _ = fcntl(descriptor, F_SETFL, 0)
      try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: data)
    } catch let error as CodedError {
      throw error
    } catch {
      throw Self.failure(path, error.systemReason)
    }
  }

  private static func open(_ path: String, _ flags: Int32 = 0) throws(CodedError) -> Int32 {
    let mode: mode_t = 0o644
    let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode)
    guard descriptor >= 0 else { throw failure(path, String(cString: strerror(errno))) }
    FileWriting.restrict(descriptor, to: mode)
    return descriptor
  }

  private static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  private static func failure(_ path: String, _ reason: String) -> CodedError {
    CodedError(
      .cannotWrite, "cannot write the report \(path): \(reason); choose another file with --report")
  }
}
