import Basics
import ChildProcesses
import Dispatch
package import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A program in a separate process, with descriptors and a terminal chosen by the test.
///
/// Its methods block: call them inside ``onThread(_:)``. A program that hangs is killed.
package final class Child: Sendable {
  /// The result of a program.
  package struct Outcome {
    /// The exit status; 128 + the signal number if it was killed.
    package var status: Int32
    package var output: [UInt8]
    package var errors: [UInt8]

    package var text: String { String(decoding: output, as: UTF8.self) }
    package var words: String { String(decoding: errors, as: UTF8.self) }
    /// The non-empty lines of standard error.
    package var lines: [String] { words.split(separator: "\n").map(String.init) }
  }

  /// The program's standard input.
  package enum Input {
    case nothing
    case bytes([UInt8])
    /// Descriptor 0 is closed.
    case closed
  }

  /// The program's standard error.
  package enum Errors {
    case kept
    /// Descriptor 2 is closed.
    case closed
    /// A pipe whose reader is closed.
    case unread
  }

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// How long a program may print nothing before it is treated as hanging.
  private static let patience = Duration.seconds(240)

  package let pid: pid_t
  private let output: Int32
  private let errors: Int32
  private let pending = Guarded<[UInt8]>([])
  private let isOver = Guarded(false)
  /// When the program was started, or last printed something.
  private let lastSign = Guarded(ContinuousClock.now)

  package init(
    _ arguments: [[UInt8]], environment: [String: String], input: Input = .nothing, errors: Errors = .kept,
    extra: [(ours: Int32, theirs: Int32)] = []
  ) throws {
    let pipe = try DescriptorPair.pipe()
    defer { close(pipe.write) }
    output = pipe.read
    self.errors = try Self.scratch([])
    var files: [Spawn.FileAction] = []
    var later: [Int32] = []
    defer { for descriptor in later { close(descriptor) } }
    switch input {
    case .nothing: files.append(.open("/dev/null", flags: O_RDONLY, as: 0))
    case .bytes(let bytes):
      let file = try Self.scratch(bytes)
      later.append(file)
      files.append(.pass(file, as: 0))
    case .closed: files.append(.close(0))
    }
    files.append(.pass(pipe.write, as: 1))
    switch errors {
    case .kept: files.append(.pass(self.errors, as: 2))
    case .closed: files.append(.close(2))
    case .unread:
      let unread = try DescriptorPair.pipe()
      close(unread.read)
      later.append(unread.write)
      files.append(.pass(unread.write, as: 2))
    }
    files += extra.map { .pass($0.ours, as: $0.theirs) }
    do {
      pid = try Self.spawn(arguments, environment, files)
    } catch {
      close(output)
      close(self.errors)
      throw error
    }
    killIfHanging()
  }

  /// Starts a program as the leader of a pseudo terminal, with all three standard descriptors on it.
  package init(_ arguments: [[UInt8]], environment: [String: String], terminal: borrowing PseudoTerminal) throws {
    // In a new session, the first terminal opened becomes the controlling one.
    let files: [Spawn.FileAction] = [.open(terminal.path, flags: O_RDWR, as: 0), .pass(0, as: 1), .pass(0, as: 2)]
    output = terminal.master
    errors = try Self.scratch([])
    pid = try Self.spawn(arguments, environment, files, newSession: true)
    killIfHanging()
  }

  deinit {
    if !isOver.withLock({ $0 }) {
      kill(pid, SIGKILL)
      _ = waitForEnd()
    }
    close(output)
    close(errors)
  }

  /// Reads standard output (or the terminal) until a text occurs that has not been waited for yet.
  ///
  /// - Returns: the output up to the end of the text.
  @discardableResult
  package func wait(for text: String) throws -> String {
    let wanted = Array(text.utf8)
    while true {
      let found = pending.withLock { bytes -> [UInt8]? in
        guard let range = Self.range(of: wanted, in: bytes) else { return nil }
        defer { bytes.removeFirst(range.upperBound) }
        return Array(bytes[..<range.upperBound])
      }
      if let found { return String(decoding: found, as: UTF8.self) }
      guard read() else {
        let rest = pending.withLock { String(decoding: $0, as: UTF8.self) }
        throw Failure(description: "it ended before it said \(text); it said \(rest) and \(kept())")
      }
    }
  }

  /// Reads one line of standard output.
  package func line() throws -> String { String(try wait(for: "\n").dropLast()) }

  /// Suspends the program, and returns once all its threads have stopped, which can take a moment on a busy system.
  package func suspend() throws {
    kill(pid, SIGSTOP)
    var status: Int32 = 0
    var result: pid_t
    repeat { result = waitpid(pid, &status, WUNTRACED) } while result < 0 && errno == EINTR
    guard result == pid, status & 0xFF == 0x7F else {
      throw Failure(description: "process \(pid) could not be suspended (waitpid: \(result), status \(status))")
    }
  }

  package func send(_ signal: Int32) { kill(pid, signal) }

  /// Waits until the program has ended and its standard output is closed by all processes.
  package func finish() -> Outcome {
    while read() {}
    let status = waitForEnd()
    return Outcome(status: status, output: pending.withLock { $0 }, errors: Array(kept().utf8))
  }

  /// Waits until the program is suspended.
  ///
  /// - Returns: false if it has ended.
  package func waitUntilStopped() -> Bool {
    var status: Int32 = 0
    while waitpid(pid, &status, WUNTRACED) < 0, errno == EINTR {}
    guard WaitStatus(status).stopSignal == nil else { return true }
    isOver.withLock { $0 = true }
    return false
  }

  /// Waits for the end of this process only; its children may live on.
  @discardableResult
  package func waitForEnd() -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    isOver.withLock { $0 = true }
    return WaitStatus(status).shellStatus
  }

  private func read() -> Bool {
    // Its children may outlive a program killed for hanging.
    var ready = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    guard poll(&ready, 1, Int32(max(patienceLeft / .milliseconds(1), 0))) > 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = buffer.withUnsafeMutableBytes { Foundation.read(output, $0.baseAddress, $0.count) }
    // Reading a terminal without users fails with EIO.
    guard count > 0 else { return false }
    pending.withLock { $0 += buffer[..<count] }
    lastSign.withLock { $0 = .now }
    return true
  }

  private var patienceLeft: Duration { lastSign.withLock { $0 } + Self.patience - .now }

  private func kept() -> String {
    var bytes: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    var offset: off_t = 0
    while true {
      let count = buffer.withUnsafeMutableBytes { pread(errors, $0.baseAddress, $0.count, offset) }
      guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
      bytes += buffer[..<count]
      offset += off_t(count)
    }
  }

  private func killIfHanging() {
    DispatchQueue.global().asyncAfter(deadline: .now() + (patienceLeft / .seconds(1))) { [weak self] in
      guard let self else { return }
      if patienceLeft > .zero { return killIfHanging() }
      isOver.withLock { over in if !over { _ = kill(self.pid, SIGKILL) } }
    }
  }

  private static func range(of wanted: [UInt8], in bytes: [UInt8]) -> Range<Int>? {
    guard bytes.count >= wanted.count else { return nil }
    for start in 0...(bytes.count - wanted.count) where bytes[start...].starts(with: wanted) {
      return start..<(start + wanted.count)
    }
    return nil
  }

  /// An unnamed file with the given bytes.
  private static func scratch(_ bytes: [UInt8]) throws -> Int32 {
    let path = FileManager.default.temporaryDirectory.path + "/diorama-child-" + UUID().uuidString
    let descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw Failure(description: "\(path): \(errno)") }
    unlink(path)
    let count = bytes.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
    guard count == bytes.count else { throw Failure(description: "\(path): \(errno)") }
    lseek(descriptor, 0, SEEK_SET)
    return descriptor
  }

  private static func spawn(
    _ arguments: [[UInt8]], _ environment: [String: String], _ files: [Spawn.FileAction], newSession: Bool = false
  ) throws -> pid_t {
    var spawn = Spawn(arguments: arguments, environment: environment.map { Array("\($0.key)=\($0.value)".utf8) })
    spawn.files = files
    spawn.ownSession = newSession
    // The test runner may ignore or block signals; the child should start as from a shell.
    var none = sigset_t()
    sigemptyset(&none)
    spawn.blockedSignals = none
    spawn.defaultSignals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU]
    return try spawn.start()
  }
}

/// A pseudo terminal; the test holds the user's side.
package struct PseudoTerminal: ~Copyable {
  package let master: Int32
  package let path: String

  package init() throws {
    master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    guard master >= 0 else { throw Child.Failure(description: "no pseudo terminal: \(errno)") }
    #if canImport(Darwin)
      guard grantpt(master) == 0, unlockpt(master) == 0, let name = ptsname(master) else {
        throw Child.Failure(description: "no pseudo terminal: \(errno)")
      }
      path = String(cString: name)
    #else
      // TIOCSPTLCK and TIOCGPTN: unlockpt(3) and ptsname(3), which Swift does not import.
      var number: Int32 = 0
      guard ioctl(master, 0x4004_5431, &number) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
        throw Child.Failure(description: "no pseudo terminal: \(errno)")
      }
      path = "/dev/pts/\(number)"
    #endif
  }
}

extension Child {
  /// Types into the terminal.
  package func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
  }
}
