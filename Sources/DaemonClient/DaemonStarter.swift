import ChildProcesses
import ControlAPI
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Connects to a daemon, or starts one that exits when it is idle.
package struct DaemonStarter: Sendable {
  /// The time for a daemon to become ready, and for another program to start one.
  private static let patience = Duration.seconds(30)

  /// The daemon's state folder.
  package let home: DaemonHome
  /// The `diorama` command, as an absolute path or a name in PATH; nil if there is none.
  package let program: String?

  package init(home: DaemonHome, program: String?) {
    self.home = home
    self.program = program
  }

  /// Connects to the daemon and starts it if there is none. Concurrent callers, in any process, get the same daemon.
  ///
  /// - Returns: a client for it.
  /// - Throws: ``DaemonClientError``.
  package func connect() async throws(DaemonClientError) -> DaemonClient {
    do { return try await DaemonClient.connect(to: home) } catch {
      guard error.isNobody, program != nil else { throw error }
    }
    let lock = try await onOwnThread { [home] () throws(DaemonClientError) in
      try StartLock(home, patience: Self.patience)
    }
    defer { withExtendedLifetime(lock) {} }
    // Another program may have started it in the meantime.
    do { return try await DaemonClient.connect(to: home) } catch {
      guard error.isNobody, let program else { throw error }
      try await start(program)
    }
    return try await DaemonClient.connect(to: home)
  }

  private func start(_ program: String) async throws(DaemonClientError) {
    let launch = DaemonLaunch(home: home, program: program)
    do {
      try await onOwnThread { () throws(DaemonClientError) in try launch.run(patience: Self.patience) }
    } catch {
      // A daemon started by another program at the same moment is fine too.
      guard (try? await DaemonClient.connect(to: home)) != nil else { throw error }
    }
  }
}

extension DaemonClientError {
  /// Whether there is no daemon, so one may be started.
  fileprivate var isNobody: Bool { kind == .noDaemon || kind == .dead }
}

/// Starts `diorama serve --on-demand` detached, so it outlives this process and its terminal.
struct DaemonLaunch: Sendable {
  let home: DaemonHome
  let program: String

  /// The size in bytes above which the log is truncated.
  private static let logLimit = 1 << 20

  /// The file for the daemon's output.
  var log: String { home.folder + "/daemon.log" }

  /// Starts the daemon and waits until it is ready, blocking the thread.
  ///
  /// - Parameter patience: the maximum time to wait.
  /// - Throws: ``DaemonClientError`` with the daemon's last message.
  func run(patience: Duration) throws(DaemonClientError) {
    do throws(NotStarted) {
      let ready = try DescriptorPair.pipe()
      defer { close(ready.read) }
      let (errors, logEnd) = openLog()
      let started = Result { () throws(NotStarted) in try start(output: ready.write, errors: errors) }
      close(ready.write)
      if errors >= 0 { close(errors) }
      try started.get()
      switch Self.readLine(ready.read, patience) {
      case .line(let line) where (try? JSONDecoder().decode(ReadyLine.self, from: Data(line))) != nil: return
      case .line: throw NotStarted(status: 126, message: "unexpected output from '\(program) serve'")
      case .ended:
        throw NotStarted(status: 126, message: lastWords(after: logEnd) ?? fullDisk ?? "it exited unexpectedly")
      case .silent: throw NotStarted(status: 126, message: "it was not ready within \(patience); check its log: \(log)")
      }
    } catch {
      throw DaemonClientError(.notStarted, "cannot start a daemon for \(home.folder): \(error.message)")
    }
  }

  /// Uses a shell that exits at once, so the daemon is never our child, in a session without a terminal.
  private func start(output: Int32, errors: Int32) throws(NotStarted) {
    try Spawn.check(Array(program.utf8), path: ProcessInfo.processInfo.environment["PATH"])
    let words = ["/bin/sh", "-c", "cd / && \"$@\" & exit 0", "diorama", program, "serve", "--on-demand", "--state"]
    var spawn = Spawn(
      arguments: (words + [home.folder]).map { Array($0.utf8) },
      environment: Self.variables(InheritedVariables.all(overridden: [:])))
    spawn.ownSession = true
    spawn.closesOthers = true
    spawn.files = [.open("/dev/null", flags: O_RDONLY, as: 0), .pass(output, as: 1)]
    spawn.files.append(errors >= 0 ? .pass(errors, as: 2) : .open("/dev/null", flags: O_WRONLY, as: 2))
    var none = sigset_t()
    sigemptyset(&none)
    spawn.blockedSignals = none
    spawn.defaultSignals = [SIGPIPE, SIGHUP, SIGTERM, SIGINT, SIGQUIT, SIGCHLD]
    let pid = try spawn.start()
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
  }

  /// Our environment variables, without those that concern only this process, its environment and its sockets.
  static func variables(_ inherited: [[UInt8]]) -> [[UInt8]] {
    inherited.filter { variable in
      !["DIORAMA_", "LISTEN_", "NOTIFY_SOCKET="].contains { variable.starts(with: $0.utf8) }
    }
  }

  private func openLog() -> (descriptor: Int32, end: off_t) {
    let descriptor = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { return (-1, 0) }
    var status = stat()
    guard fstat(descriptor, &status) == 0, status.st_size > Self.logLimit else { return (descriptor, status.st_size) }
    return (descriptor, ftruncate(descriptor, 0) == 0 ? 0 : status.st_size)
  }

  /// The last line of the log after an offset.
  private func lastWords(after place: off_t) -> String? {
    guard let data = FileManager.default.contents(atPath: log), data.count > Int(place) else { return nil }
    let lines = String(decoding: data.dropFirst(Int(place)), as: UTF8.self).split(whereSeparator: \.isNewline)
    return lines.last.map { String($0.hasPrefix("diorama: ") ? $0.dropFirst("diorama: ".count) : $0) }
  }

  /// A message if the daemon could not even write its log.
  private var fullDisk: String? {
    var status = statvfs()
    guard statvfs(home.folder, &status) == 0, status.f_bavail == 0 || (status.f_files > 0 && status.f_favail == 0)
    else { return nil }
    return "No space left on device; free some space"
  }

  private enum Reading {
    case line([UInt8])
    /// The writer has closed.
    case ended
    case silent
  }

  private static func readLine(_ descriptor: Int32, _ patience: Duration) -> Reading {
    let end = ContinuousClock.now + patience
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while bytes.count < 65_536 {
      let left = ContinuousClock.now.duration(to: end) / .milliseconds(1)
      guard left > 0 else { return .silent }
      var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      guard poll(&entry, 1, Int32(min(left.rounded(.up), 60_000))) > 0 else { continue }
      let count = read(descriptor, &buffer, buffer.count)
      if count == 0 { return .ended }
      guard count > 0 else { continue }
      bytes += buffer[..<count]
      if let newline = bytes.firstIndex(of: 0x0A) { return .line(Array(bytes[..<newline])) }
    }
    return .ended
  }
}

/// Runs blocking code on its own thread, since Swift's task threads are few.
package func onOwnThread<Value: Sendable, Failure: Error>(
  _ body: @escaping @Sendable () throws(Failure) -> Value
) async throws(Failure) -> Value {
  let result: Result<Value, Failure> = await withCheckedContinuation { continuation in
    Thread.detachNewThread { continuation.resume(returning: Result { () throws(Failure) in try body() }) }
  }
  return try result.get()
}
