import Basics
import ChildProcesses
import ControlAPI
import Fleet
import Foundation
import LaunchContract

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Runs the clean-up commands of this host for returned resources.
///
/// A command gets the resource as JSON on standard input, with its secrets, and has to exit with status 0.
final class Cleaner: Sendable {
  /// Resources that are cleaned at the same time.
  private static let most = 4
  /// How long a command may take.
  static let patience = Duration.seconds(300)

  private struct State {
    var running = 0
    var isStopped = false
    /// The process groups of running commands.
    var processes: Set<pid_t> = []
  }

  private let commands: [String: [String]]
  private let book: LeaseBook
  private let log: Log
  private let state = Monitor(State())
  private let workers = Workers(label: "diorama.cleaner", limit: most)

  /// - Parameters:
  ///   - commands: by pool, a program and its arguments.
  ///   - book: the fleet's leases.
  ///   - log: receives events.
  init(_ commands: [String: [String]], _ book: LeaseBook, log: Log) {
    self.commands = commands
    self.book = book
    self.log = log
  }

  /// Whether a command runs.
  var isRunning: Bool { state.withLock { !$0.processes.isEmpty } }

  /// Looks for resources to clean, unless that is already happening.
  func tick() {
    if state.withLock({ $0.running == 0 }) { startOne() }
  }

  /// Ends running commands; their resources stay dirty.
  func stop() async {
    let processes = state.withLock { state in
      state.isStopped = true
      return state.processes
    }
    for process in processes { kill(-process, SIGKILL) }
    await state.waitIgnoringCancellation(until: .now + .seconds(10)) { $0.running == 0 }
  }

  private func startOne() {
    let mayStart = state.withLock { state in
      guard !state.isStopped, state.running < Self.most else { return false }
      state.running += 1
      return true
    }
    guard mayStart else { return }
    Task(executorPreference: workers) { [self] in
      defer { state.withLock { $0.running -= 1 } }
      while !state.withLock({ $0.isStopped }), await cleanOne() {}
    }
  }

  /// - Returns: whether there was something to clean.
  private func cleanOne() async -> Bool {
    do {
      let pools = commands.keys.sorted()
      guard
        let cleaning = try await book.perform({ database throws(CodedError) in try database.claimDirty(of: pools) }),
        let command = commands[cleaning.pool]
      else { return false }
      // There may be more.
      startOne()
      let (failure, counts) = run(command, cleaning.resource)
      guard !state.withLock({ $0.isStopped }) else { return false }
      // Not lost while the database is unreachable for a while.
      let isQuarantined = try await finishing { database throws(CodedError) in
        try database.finish(cleaning, failure: failure, counts: counts)
      }
      let what: Log.Metadata = ["pool": "\(cleaning.pool)", "resource": "\(cleaning.resource.name)"]
      if let failure {
        log.warning(
          isQuarantined ? "clean-up failed too often; the resource is quarantined" : "clean-up failed",
          what.merging(["reason": "\(failure)"]) { $1 })
      } else {
        log.info("resource cleaned", what)
      }
      return true
    } catch {
      log.warning("cannot clean resources", ["reason": "\(error)"])
      return false
    }
  }

  /// Calls the database until it answers, also if it is unreachable for a while.
  private func finishing<Value: Sendable>(
    _ body: @escaping @Sendable (FleetDatabase) throws(CodedError) -> Value
  ) async throws -> Value {
    while true {
      do { return try await book.perform(patience: .seconds(60), body) } catch let error as CodedError {
        guard error.kind == .noUpstream, !state.withLock({ $0.isStopped }) else { throw error }
      }
    }
  }

  /// A text without the secrets of a resource, as they are and as JSON, URLs and Base64 have them.
  static func redacted(_ text: String, _ resource: LeasedResource) -> String {
    var text = text
    for secret in (resource.secrets ?? [:]).values.sorted(by: { $0.utf8.count > $1.utf8.count }) where !secret.isEmpty {
      let json = String(decoding: JSON.string(secret).encoded().dropFirst().dropLast(), as: UTF8.self)
      let forms = [
        secret, json, secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret,
        Data(secret.utf8).base64EncodedString(),
      ]
      for form in forms { text = text.replacingOccurrences(of: form, with: "<redacted>") }
    }
    return text
  }

  /// Runs a command.
  ///
  /// - Returns: why it failed, nil if it succeeded; and whether the command itself failed.
  private func run(_ command: [String], _ resource: LeasedResource) -> (failure: String?, counts: Bool) {
    do {
      let input = try UnnamedFile(Array(try JSON.encode(resource)) + [0x0A])
      let output = try UnnamedFile([])
      var spawn = Spawn(
        arguments: command.map { Array($0.utf8) },
        environment: ProcessInfo.processInfo.environment.map { Array("\($0.key)=\($0.value)".utf8) })
      spawn.ownGroup = true
      spawn.closesOthers = true
      spawn.blockedSignals = sigset_t()
      spawn.defaultSignals = [SIGPIPE, SIGHUP]
      spawn.files = [
        .pass(input.descriptor, as: 0), .pass(output.descriptor, as: 1), .pass(output.descriptor, as: 2),
      ]
      let process = try spawn.start()
      let isStopped = state.withLock { state in
        state.processes.insert(process)
        return state.isStopped
      }
      if isStopped { kill(-process, SIGKILL) }
      let isOver = ProcessEnd(of: process).wait(for: Self.patience)
      // Also what it has left behind.
      kill(-process, SIGKILL)
      var status: Int32 = 0
      while waitpid(process, &status, 0) < 0, errno == EINTR {}
      state.withLock { _ = $0.processes.remove(process) }
      guard isOver else { return ("the command took more than \(Self.patience.components.seconds) s", true) }
      let code = WaitStatus(status).shellStatus
      guard code != 0 else { return (nil, true) }
      let last = Self.redacted(output.last(400), resource)
      return ("exit status \(code)" + (last.isEmpty ? "" : ": \(last)"), true)
    } catch let error as NotStarted {
      return (error.message, false)
    } catch {
      return ("\(error)", false)
    }
  }
}

/// A temporary file without a name.
private final class UnnamedFile {
  let descriptor: Int32

  init(_ content: [UInt8]) throws(CodedError) {
    var path = Array("\(FileManager.default.temporaryDirectory.path)/diorama-XXXXXX".utf8CString)
    descriptor = mkstemp(&path)
    guard descriptor >= 0 else {
      throw CodedError(.cannotWrite, "no temporary file can be made: \(String(cString: strerror(errno)))")
    }
    unlink(path)
    _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
    var rest = content[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      guard count > 0 else {
        let reason = String(cString: strerror(errno))
        throw CodedError(.cannotWrite, "a temporary file cannot be written: \(reason)")
      }
      rest = rest.dropFirst(count)
    }
    lseek(descriptor, 0, SEEK_SET)
  }

  deinit { close(descriptor) }

  /// The last bytes as text on one line.
  func last(_ count: Int) -> String {
    let size = lseek(descriptor, 0, SEEK_END)
    var bytes = [UInt8](repeating: 0, count: count)
    let read = pread(descriptor, &bytes, count, max(0, size - off_t(count)))
    return String(decoding: bytes.prefix(max(0, read)), as: UTF8.self)
      .split(whereSeparator: \.isNewline).joined(separator: " ").trimmingCharacters(in: .whitespaces)
  }
}
