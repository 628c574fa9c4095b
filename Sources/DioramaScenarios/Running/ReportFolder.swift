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
/// the messages. Each process holds a shared lock on `.processes` while it runs.
struct ReportFolder: Sendable {
  let path: String

  private var messages: String { path + "/messages.ndjson" }

  /// A lock held while a process of the run is running.
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
  /// - Returns: the message writer, and the lock to hold until ``writeReports(at:)``.
  /// - Throws: ``CodedError`` of kind `cannotWrite`.
  func open() throws(CodedError) -> (messages: MessageWriter, presence: Presence) {
    try CodedError.translating(
      to: .cannotWrite, at: "cannot write reports to \(path)",
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true))
    let presence = try Presence(path + "/.processes")
    let writer: Result<MessageWriter, CodedError> = try locked { descriptor in
      let run = Self.currentRun
      if Self.lines(of: descriptor).first != Substring(run) {
        for file in ["messages.ndjson", "junit.xml", "report.html"] { unlink("\(path)/\(file)") }
        ftruncate(descriptor, 0)
        Self.append(run, to: descriptor)
      }
      Self.append(Self.process, to: descriptor)
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
        if Self.lines(of: descriptor).contains(Substring(key)) { return }
        body()
        Self.append(key, to: descriptor)
      }
    } catch {
      Self.complain("\(error)")
      body()
    }
  }

  /// Writes the reports about all messages of the run so far.
  ///
  /// With `swift test --parallel`, XCTest runs each test in a process of its own. To write the reports every few seconds and at
  /// the end, not after each test, this leaves them to a process that is still running, or waits for the next one to start.
  func writeReports(at presence: Presence) {
    let end = ContinuousClock.now + .milliseconds(500)
    while true {
      do {
        let isDone = try locked { descriptor in
          let lines = Self.lines(of: descriptor)
          let isLast = flock(presence.descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK
          defer { flock(presence.descriptor, LOCK_UN) }
          // A run without `--parallel` has one process for each test library, and more only if tests start them.
          if lines.count(where: { $0 == Self.process }) > 3, areRecent {
            if !isLast { return true }
            if ContinuousClock.now < end, !lines.contains(Substring(Self.waited)) { return false }
            // One test at a time: the next process starts when this one has ended.
            Self.append(Self.waited, to: descriptor)
          }
          let all = Self.readable(try String(contentsOfFile: messages, encoding: .utf8))
          try Data(HTMLReport.html(all).utf8).write(to: URL(filePath: path + "/report.html"), options: .atomic)
          try Data(JUnitReport.xml(all).utf8).write(to: URL(filePath: path + "/junit.xml"), options: .atomic)
          return true
        }
        if isDone { return }
      } catch { return Self.complain("cannot write reports to \(path): \(error)") }
      Self.lock(presence.descriptor, LOCK_SH)
      usleep(5000)
    }
  }

  /// Whether the reports have been written in the last seconds.
  private var areRecent: Bool {
    let attributes = try? FileManager.default.attributesOfItem(atPath: path + "/junit.xml")
    guard let date = attributes?[.modificationDate] as? Date else { return false }
    return abs(date.timeIntervalSinceNow) < 5
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
    let run = "\(parent) \(start)"
    setenv(name, run, 1)
    return run
  }()

  /// The line of `.run` that each process adds.
  private static let process = "process"
  /// The line of `.run` that says that no process started while another waited for it.
  private static let waited = "waited"

  private static func append(_ line: String, to descriptor: Int32) {
    let end = lseek(descriptor, 0, SEEK_END)
    _ = Array("\(line)\n".utf8).withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, end) }
  }

  private static func lines(of descriptor: Int32) -> [Substring] {
    let size = max(0, Int(lseek(descriptor, 0, SEEK_END)))
    let bytes = [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
      count = max(0, pread(descriptor, buffer.baseAddress, size, 0))
    }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
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
