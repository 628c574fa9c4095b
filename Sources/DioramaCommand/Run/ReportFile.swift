import ControlAPI
import Basics
import EnvironmentService
import Foundation

/// The files of `--report` and `--junit`.
struct ReportFiles {
  static let table: [Options.Option] = [
    .init("--report", "FILE", "Write the report as JSON."),
    .init("--junit", "FILE", "Write the outcome as JUnit XML, for Jenkins and GitLab."),
  ]

  private let report: ReportFile?
  private let junit: ReportFile?

  init(_ options: Options) throws(CodedError) {
    report = try options.value("--report").map { path throws(CodedError) in try ReportFile(path, of: "--report") }
    junit = try options.value("--junit").map { path throws(CodedError) in try ReportFile(path, of: "--junit") }
  }

  /// - Parameters:
  ///   - report: the final report.
  ///   - hasFailed: whether the program or test failed, for another reason than its environment.
  /// - Throws: `CodedError` if a file cannot be written.
  func write(_ report: Report, hasFailed: Bool) throws(CodedError) {
    if let file = self.report {
      let encoder = JSONEncoder()
      encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
      do { try file.write(try encoder.encode(report) + [0x0A]) } catch let error as CodedError {
        throw error
      } catch {
        throw CodedError(.inputOutput, "the report cannot be encoded: \(error)")
      }
    }
    try junit?.write(Data(JUnitReport(report, hasFailed: hasFailed).document.utf8))
  }
}

/// The file for `--report`. It is opened before the command runs, so that an error is reported at once, not after an
/// hour of tests.
struct ReportFile {
  private let path: String
  private let option: String

  /// - Parameters:
  ///   - path: the file.
  ///   - option: the option that names it, for errors.
  /// - Throws: `CodedError` if it cannot be written.
  init(_ path: String, of option: String) throws(CodedError) {
    self.path = path
    self.option = option
    // Opening and closing a pipe would look like an empty report to its reader.
    guard !Self.isPipe(path) else { return }
    let isNew = access(path, F_OK) != 0
    close(try open())
    // An empty file would look like a report.
    if isNew { unlink(path) }
  }

  func write(_ data: Data) throws(CodedError) {
    do {
      guard Self.isPipe(path) else {
        let file = FileHandle(fileDescriptor: try open(O_TRUNC), closeOnDealloc: true)
        return try file.write(contentsOf: data)
      }
      // Doesn't wait for a reader, since there may never be one.
      let descriptor = Foundation.open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC)
      guard descriptor >= 0 else {
        guard errno == ENXIO else { throw failure(String(cString: strerror(errno))) }
        throw CodedError(
          .cannotWrite, "cannot write the report \(path): the pipe has no reader; start its reader first")
      }
      _ = fcntl(descriptor, F_SETFL, 0)
      try FileHandle(fileDescriptor: descriptor, closeOnDealloc: true).write(contentsOf: data)
    } catch let error as CodedError {
      throw error
    } catch {
      throw failure(error.systemReason)
    }
  }

  private func open(_ flags: Int32 = 0) throws(CodedError) -> Int32 {
    let mode: UInt16 = 0o644
    let descriptor = Foundation.open(path, O_WRONLY | O_CREAT | O_CLOEXEC | flags, mode_t(mode))
    guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
    FileWriting.restrict(descriptor, to: mode)
    return descriptor
  }

  private static func isPipe(_ path: String) -> Bool {
    var status = stat()
    return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFIFO
  }

  private func failure(_ reason: String) -> CodedError {
    CodedError(
      .cannotWrite, "cannot write the report \(path): \(reason); choose another file with \(option)")
  }
}
