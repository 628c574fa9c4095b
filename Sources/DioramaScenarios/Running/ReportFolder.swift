import Basics
import Foundation
import ScenarioReports

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// The folder of reports of a run: `messages.ndjson`, `junit.xml` and `report.html`.
///
/// `swift test` starts a process for XCTest and one for Swift Testing, and more with `--parallel`. They all append to the
/// same messages, since they have the same parent, and the last one to end writes the reports about all. The first process
/// of another run replaces the files. The file `.run` identifies the run, and lists its processes and the feature files in
/// the messages. Each process has a shared lock on `.processes` while it runs.
struct ReportFolder: Sendable {
  let path: String

  private var messages: String { path + "/messages.ndjson" }

  /// That a process of the run is alive.
  final class Presence: Sendable {
    fileprivate let descriptor: Int32

    fileprivate init(_ path: String) throws(CodedError) {
      descriptor = try ReportFolder.open(path)
      ReportFolder.lock(descriptor, LOCK_SH)
    }

    deinit { close(descriptor) }
  }

  /// Creates the folder if needed, and opens its messages.
  ///
  /// - Returns: what writes messages, and what to keep until ``writeReports(at:)``.
  /// - Throws: ``CodedError`` of kind `cannotWrite`.
  func open() throws(CodedError) -> (messages: MessageWriter, presence: Presence) {
    try CodedError.translating(
      to: .cannotWrite, at: "cannot write reports to \(path)",
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true))
    let presence = try Presence(path + "/.processes")
    let writer: Result<MessageWriter, CodedError> = try locked { descriptor in
      let run = Self.currentRun
      if !Self.content(of: descriptor).hasPrefix(run) {
        for file in ["messages.ndjson", "junit.xml", "report.html"] { unlink("\(path)/\(file)") }
        ftruncate(descriptor, 0)
        Self.append(run, to: descriptor)
      }
      Self.append("\(Self.process)\n", to: descriptor)
      do throws(CodedError) { return .success(try MessageWriter(path: messages)) } catch { return .failure(error) }
    }
    return (try writer.get(), presence)
  }

  /// Calls `body` unless a process of this run has already done so with this key. Other processes wait meanwhile.
  ///
  /// - Parameters:
  ///   - key: a name without line breaks.
  ///   - body: what must happen once in a run.
  func once(_ key: String, _ body: () -> Void) {
    do {
      try locked { descriptor in
        if Self.content(of: descriptor).split(separator: "\n").contains(Substring(key)) { return }
        body()
        Self.append("\(key)\n", to: descriptor)
      }
    } catch {
      Self.complain("\(error)")
      body()
    }
  }

  /// Writes the reports about all messages of the run so far, unless another process will do so, because it still runs.
  ///
  /// With `swift test --parallel`, XCTest runs each test in a process of its own. Then the report would be written again and
  /// again, so this waits until the next process starts, for half a second at most.
  func writeReports(at presence: Presence) {
    let end = ContinuousClock.now + .milliseconds(500)
    while true {
      do {
        let isDone = try locked { descriptor in
          guard flock(presence.descriptor, LOCK_EX | LOCK_NB) == 0 else {
            flock(presence.descriptor, LOCK_UN)
            return true
          }
          let lines = Self.content(of: descriptor).split(separator: "\n")
          if lines.count(where: { $0 == Self.process }) > 3, ContinuousClock.now < end {
            Self.lock(presence.descriptor, LOCK_SH)
            return false
          }
          let all = Self.readable(try String(contentsOfFile: messages, encoding: .utf8))
          try Data(HTMLReport.html(all).utf8).write(to: URL(filePath: path + "/report.html"), options: .atomic)
          try Data(JUnitReport.xml(all).utf8).write(to: URL(filePath: path + "/junit.xml"), options: .atomic)
          return true
        }
        if isDone { return }
      } catch { return Self.complain("cannot write reports to \(path): \(error)") }
      usleep(5000)
    }
  }

  /// The messages of a text, without lines that a killed process has left incomplete.
  static func readable(_ text: String) -> [Message] {
    text.split(whereSeparator: \.isNewline).flatMap { line in
      (try? Message.read(String(line), source: "messages.ndjson")) ?? []
    }
  }

  static func complain(_ text: String) {
    FileHandle.standardError.write(Data("diorama: \(text)\n".utf8))
  }

  // MARK: Runs

  /// What all processes of a run have in common: the process that started them. Their own children belong to it, too.
  private static let currentRun: String = {
    let name = "DIORAMA_SCENARIO_RUN"
    if let run = ProcessInfo.processInfo.environment[name] { return run }
    let parent = getppid()
    // The parent's start, since numbers of processes are used again.
    let fields = (try? String(contentsOfFile: "/proc/\(parent)/stat", encoding: .utf8))?
      .split(separator: ")").last?.split(separator: " ")
    let start = fields.flatMap { $0.count > 19 ? String($0[19]) : nil } ?? ""
    let run = "\(parent) \(start)\n"
    setenv(name, run, 1)
    return run
  }()

  /// The line of `.run` that each process adds.
  private static let process = "process"

  private static func append(_ text: String, to descriptor: Int32) {
    let end = lseek(descriptor, 0, SEEK_END)
    _ = Array(text.utf8).withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, end) }
  }

  private static func content(of descriptor: Int32) -> String {
    let size = max(0, Int(lseek(descriptor, 0, SEEK_END)))
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
    return String(decoding: bytes, as: UTF8.self)
  }

  private static func lock(_ descriptor: Int32, _ operation: Int32) {
    while flock(descriptor, operation) != 0 && errno == EINTR {}
  }

  private static func open(_ path: String) throws(CodedError) -> Int32 {
    #if canImport(Darwin)
      let descriptor = Darwin.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    #else
      let descriptor = Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    #endif
    guard descriptor >= 0 else {
      throw CodedError(.cannotWrite, "cannot write reports to \(path): \(String(cString: strerror(errno)))")
    }
    return descriptor
  }

  /// Excludes other processes.
  private func locked<Value>(_ body: (Int32) throws -> Value) throws(CodedError) -> Value {
    let descriptor = try Self.open(path + "/.run")
    defer { close(descriptor) }
    Self.lock(descriptor, LOCK_EX)
    return try CodedError.translating(to: .cannotWrite, try body(descriptor))
  }
}
