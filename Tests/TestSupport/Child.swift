import Dispatch
package import Foundation
import HTTPMessages

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A program in a process of its own, started by posix_spawn(3): Foundation's Process cannot be run under
/// AddressSanitizer, and here a test decides which descriptors and which terminal the program gets.
///
/// Its methods wait on their thread: call them inside ``onThread(_:)``. A program that hangs is killed in time.
package final class Child: Sendable {
  /// What a program did.
  package struct Outcome {
    /// Its exit status; 128 + the signal when it was killed by one.
    package var status: Int32
    package var output: [UInt8]
    package var errors: [UInt8]

    package var text: String { String(decoding: output, as: UTF8.self) }
    package var words: String { String(decoding: errors, as: UTF8.self) }
    /// The lines of standard error that are not empty.
    package var lines: [String] { words.split(separator: "\n").map(String.init) }
  }

  /// What the program reads from standard input.
  package enum Input {
    case nothing
    case bytes([UInt8])
    /// Nothing is open at descriptor 0.
    case closed
  }

  /// Where the program's standard error goes.
  package enum Errors {
    case kept
    /// Nothing is open at descriptor 2.
    case closed
    /// A pipe that nobody reads any more.
    case unread
  }

  package struct Failure: Error, CustomStringConvertible {
    package let description: String
  }

  /// Seconds after which a program that should have ended counts as hanging.
  private static let patience = 240.0

  package let pid: pid_t
  private let output: Int32
  private let errors: Int32
  private let pending = Guarded<[UInt8]>([])
  private let isOver = Guarded(false)
  private let started = ContinuousClock.now

  package init(
    _ arguments: [[UInt8]], environment: [String: String], input: Input = .nothing, errors: Errors = .kept,
    extra: [(ours: Int32, theirs: Int32)] = []
  ) throws {
    var actions = posix_spawn_file_actions_t.none
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    let pipe = try Self.pipe()
    defer { close(pipe.write) }
    output = pipe.read
    self.errors = try Self.scratch([])
    var later: [Int32] = []
    defer { for descriptor in later { close(descriptor) } }
    switch input {
    case .nothing: posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    case .bytes(let bytes):
      let file = try Self.scratch(bytes)
      later.append(file)
      posix_spawn_file_actions_adddup2(&actions, file, 0)
    case .closed: posix_spawn_file_actions_addclose(&actions, 0)
    }
    posix_spawn_file_actions_adddup2(&actions, pipe.write, 1)
    switch errors {
    case .kept: posix_spawn_file_actions_adddup2(&actions, self.errors, 2)
    case .closed: posix_spawn_file_actions_addclose(&actions, 2)
    case .unread:
      let unread = try Self.pipe()
      close(unread.read)
      later.append(unread.write)
      posix_spawn_file_actions_adddup2(&actions, unread.write, 2)
    }
    for (ours, theirs) in extra { posix_spawn_file_actions_adddup2(&actions, ours, theirs) }
    do {
      pid = try Self.spawn(arguments, environment, &actions)
    } catch {
      close(output)
      close(self.errors)
      throw error
    }
    killIfHanging()
  }

  /// On a pseudo terminal: its leader, with all three standard descriptors on it.
  package init(_ arguments: [[UInt8]], environment: [String: String], terminal: borrowing PseudoTerminal) throws {
    var actions = posix_spawn_file_actions_t.none
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    // In a new session the first terminal that is opened becomes the controlling one.
    posix_spawn_file_actions_addopen(&actions, 0, terminal.path, O_RDWR, 0)
    posix_spawn_file_actions_adddup2(&actions, 0, 1)
    posix_spawn_file_actions_adddup2(&actions, 0, 2)
    output = terminal.master
    errors = try Self.scratch([])
    pid = try Self.spawn(arguments, environment, &actions, newSession: true)
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

  /// Reads standard output (or the terminal) until it holds a text that has not been waited for yet.
  ///
  /// - Returns: what came up to its end.
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

  package func send(_ signal: Int32) { kill(pid, signal) }

  /// Waits until the program has ended and nobody can write to its standard output any more.
  package func finish() -> Outcome {
    while read() {}
    let status = waitForEnd()
    return Outcome(status: status, output: pending.withLock { $0 }, errors: Array(kept().utf8))
  }

  /// Waits until it has stopped.
  ///
  /// - Returns: whether it did; false when it ended.
  package func waitUntilStopped() -> Bool {
    var status: Int32 = 0
    while waitpid(pid, &status, WUNTRACED) < 0, errno == EINTR {}
    guard status & 0xFF != 0x7F else { return true }
    isOver.withLock { $0 = true }
    return false
  }

  /// Waits for the end of this process alone: what it started may live on.
  @discardableResult
  package func waitForEnd() -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
    isOver.withLock { $0 = true }
    let signal = status & 0x7F
    return signal == 0 ? (status >> 8) & 0xFF : 128 + signal
  }

  private func read() -> Bool {
    // What was started may outlive a child that was killed for hanging.
    let left = (started + .seconds(Self.patience) - ContinuousClock.now) / .milliseconds(1)
    var ready = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
    guard poll(&ready, 1, Int32(max(left, 0))) > 0 else { return false }
    var buffer = [UInt8](repeating: 0, count: 65_536)
    let count = buffer.withUnsafeMutableBytes { Foundation.read(output, $0.baseAddress, $0.count) }
    // A terminal whose last user is gone answers EIO.
    guard count > 0 else { return false }
    pending.withLock { $0 += buffer[..<count] }
    return true
  }

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
    DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience) { [weak self] in
      guard let self else { return }
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

  /// Both ends close in other children, whose lives would else keep this one open: hence two sockets, which are made
  /// that way in one step where a pipe needs two.
  private static func pipe() throws -> (read: Int32, write: Int32) {
    var ends: [Int32] = [0, 0]
    #if canImport(Darwin)
      guard socketpair(AF_UNIX, SOCK_STREAM, 0, &ends) == 0 else { throw Failure(description: "pipe: \(errno)") }
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #else
      let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
      guard socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw Failure(description: "pipe: \(errno)") }
    #endif
    return (ends[0], ends[1])
  }

  /// A file without a name that holds these bytes.
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
    _ arguments: [[UInt8]], _ environment: [String: String], _ actions: inout posix_spawn_file_actions_t,
    newSession: Bool = false
  ) throws -> pid_t {
    var attributes = posix_spawnattr_t.none
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // The test runner may ignore signals or have them blocked; the child is to start like one of a shell.
    var all = sigset_t()
    sigemptyset(&all)
    posix_spawnattr_setsigmask(&attributes, &all)
    for signal in [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU] {
      sigaddset(&all, signal)
    }
    posix_spawnattr_setsigdefault(&attributes, &all)
    var flags = Int32(POSIX_SPAWN_SETSIGMASK) | Int32(POSIX_SPAWN_SETSIGDEF)
    if newSession { flags |= 0x80 }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let variables = environment.map { Array("\($0.key)=\($0.value)".utf8) }
    var pid: pid_t = 0
    let code = withPointers(arguments) { arguments in
      withPointers(variables) { variables in
        guard let program = arguments[0] else { return EINVAL }
        return posix_spawnp(&pid, program, &actions, &attributes, arguments, variables)
      }
    }
    guard code == 0 else { throw Failure(description: "cannot start \(arguments): \(code)") }
    return pid
  }
}

/// A pseudo terminal; the test holds the side where a person would sit.
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
      // TIOCSPTLCK and TIOCGPTN: what unlockpt(3) and ptsname(3) do, which Swift does not import.
      var number: Int32 = 0
      guard ioctl(master, 0x4004_5431, &number) == 0, ioctl(master, 0x8004_5430, &number) == 0 else {
        throw Child.Failure(description: "no pseudo terminal: \(errno)")
      }
      path = "/dev/pts/\(number)"
    #endif
  }
}

extension Child {
  /// Types at the terminal that it was started on.
  package func type(_ text: String) {
    let bytes = Array(text.utf8)
    _ = bytes.withUnsafeBytes { write(output, $0.baseAddress, $0.count) }
  }
}

#if canImport(Darwin)
  extension posix_spawn_file_actions_t { fileprivate static var none: Self { nil } }
  extension posix_spawnattr_t { fileprivate static var none: Self { nil } }
#else
  extension posix_spawn_file_actions_t { fileprivate static var none: Self { Self() } }
  extension posix_spawnattr_t { fileprivate static var none: Self { Self() } }
#endif

/// Runs `body` with the texts as C has them: an array of pointers that ends with a null one.
private func withPointers<Result>(
  _ texts: [[UInt8]], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers: [UnsafeMutablePointer<CChar>?] =
    texts.map { text in
      (text + [0]).withUnsafeBytes { strdup($0.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: CChar.self)) }
    }
    + [nil]
  defer { for pointer in pointers { free(pointer) } }
  return pointers.withUnsafeMutableBufferPointer { body($0.baseAddress.unsafelyUnwrapped) }
}
