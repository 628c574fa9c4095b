import ChildProcesses
import ControlAPI
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// One start of `diorama serve --on-demand`, as nobody's child: it outlives us and our terminal.
struct DaemonLaunch: Sendable {
  let home: DaemonHome
  let program: String

  /// Above it the log of those before is thrown away.
  private static let logLimit = 1 << 20

  /// What the daemon says while nobody listens.
  var log: String { home.folder + "/daemon.log" }

  /// Starts it and waits until it is ready; on a thread that may wait.
  ///
  /// - Parameter patience: how long.
  /// - Throws: ``DaemonClientError``, with the last thing that it said.
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
      case .line: throw NotStarted(status: 126, message: "'\(program) serve' says something else than that it is ready")
      case .ended: throw NotStarted(status: 126, message: lastWords(after: logEnd) ?? "it ended without a word")
      case .silent: throw NotStarted(status: 126, message: "it was not ready within \(patience); its log is \(log)")
      }
    } catch {
      throw DaemonClientError(.notStarted, "cannot start a daemon for \(home.folder): \(error.message)")
    }
  }

  /// By a shell that ends at once, so that the daemon is never ours to wait for, in a session without a terminal.
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

  /// The variables for it: ours but for what concerns this process alone, the environment that it may live in, and its
  /// sockets.
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

  /// The last line of the log behind a place.
  private func lastWords(after place: off_t) -> String? {
    guard let data = FileManager.default.contents(atPath: log), data.count > Int(place) else { return nil }
    let lines = String(decoding: data.dropFirst(Int(place)), as: UTF8.self).split(whereSeparator: \.isNewline)
    return lines.last.map { String($0.hasPrefix("diorama: ") ? $0.dropFirst("diorama: ".count) : $0) }
  }

  private enum Reading {
    case line([UInt8])
    /// The writer is gone.
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
