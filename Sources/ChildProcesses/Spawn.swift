package import Foundation

// `@preconcurrency` because the C library's `environ` is a variable; this code never changes it.
#if canImport(Darwin)
  @preconcurrency import Darwin
#else
  import CPosixSpawn
  @preconcurrency import Glibc
#endif

/// Starts a child process with posix_spawn(3).
///
/// Unlike `Foundation.Process`, it supports process groups, handing over the terminal, and descriptors at given numbers.
/// (`Process` also reads beyond its memory while many descriptors are opened and closed.)
package struct Spawn {
  /// The program, looked up in PATH unless it contains a slash, and its arguments.
  package var arguments: [[UInt8]]
  /// All environment variables of the child, as `NAME=VALUE`.
  package var environment: [[UInt8]]
  /// Whether the child gets its own process group, so a signal for the command reaches all of it once.
  package var ownGroup = false
  /// A terminal to hand to the child's process group before the program starts, if the system supports it.
  package var terminal: Int32?
  /// Whether the child gets its own session, which the terminal's signals do not reach.
  package var ownSession = false
  /// The child's descriptors, set up in order; others are inherited unless they are close-on-exec.
  package var files: [FileAction] = []
  /// Whether the child inherits only its standard descriptors and ``files``. For a process with many threads, some of
  /// whose descriptors belong to libraries.
  package var closesOthers = false
  /// The signals blocked in the child; nil for those of this thread.
  package var blockedSignals: sigset_t?
  /// Signals with their default action in the child although this process ignores them.
  package var defaultSignals: [Int32] = []

  /// An action on the child's descriptors before the program starts.
  package enum FileAction: Sendable {
    /// Duplicates one of our descriptors into the child.
    case pass(Int32, as: Int32)
    /// Opens a file.
    case open(String, flags: Int32, as: Int32)
    /// Closes a descriptor.
    case close(Int32)
  }

  package init(arguments: [[UInt8]], environment: [[UInt8]]) {
    self.arguments = arguments
    self.environment = environment
  }

  /// Starts the child.
  ///
  /// - Returns: the process ID.
  /// - Throws: ``NotStarted`` if the program cannot be started.
  package func start() throws(NotStarted) -> pid_t {
    var actions = FileActions.none
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = SpawnAttributes.none
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var flags: Int32 = 0
    if ownGroup {
      flags |= Int32(POSIX_SPAWN_SETPGROUP)
      posix_spawnattr_setpgroup(&attributes, 0)
    }
    if ownSession { flags |= Self.newSession }
    #if canImport(Darwin)
      if closesOthers { flags |= Int32(POSIX_SPAWN_CLOEXEC_DEFAULT) }
    #endif
    if var blocked = blockedSignals {
      flags |= Int32(POSIX_SPAWN_SETSIGMASK)
      posix_spawnattr_setsigmask(&attributes, &blocked)
    }
    if !defaultSignals.isEmpty {
      flags |= Int32(POSIX_SPAWN_SETSIGDEF)
      var signals = sigset_t()
      sigemptyset(&signals)
      for signal in defaultSignals { sigaddset(&signals, signal) }
      posix_spawnattr_setsigdefault(&attributes, &signals)
    }
    posix_spawnattr_setflags(&attributes, Int16(flags))
    #if !canImport(Darwin)
      // First: later actions may replace the descriptor's file.
      if let terminal { _ = diorama_take_terminal(&actions, terminal) }
    #endif
    add(files, to: &actions)
    var pid: pid_t = 0
    let code = withCStrings(arguments) { arguments in
      withCStrings(environment) { variables in
        guard let program = arguments[0] else { return ENOENT }
        return OpenFiles.withOriginalLimit {
          posix_spawnp(&pid, program, &actions, &attributes, arguments, variables)
        }
      }
    }
    guard code == 0 else { throw Self.failure(arguments.first ?? [], code, isFound: true) }
    return pid
  }

  private func add(_ files: [FileAction], to actions: inout FileActions) {
    var first: Int32 = 3
    for file in files {
      switch file {
      case .pass(let ours, let theirs):
        posix_spawn_file_actions_adddup2(&actions, ours, theirs)
        first = max(first, theirs + 1)
      case .open(let path, let flags, let theirs): posix_spawn_file_actions_addopen(&actions, theirs, path, flags, 0)
      case .close(let theirs): posix_spawn_file_actions_addclose(&actions, theirs)
      }
    }
    #if !canImport(Darwin)
      if closesOthers { _ = diorama_close_from(&actions, first) }
    #endif
  }

  /// Checks in advance whether a program exists and is executable, with the errors of ``start()``.
  ///
  /// - Parameters:
  ///   - program: the program, looked up in `path` unless it contains a slash, as execvp(3) does.
  ///   - path: the variable PATH; nil if it is not set.
  /// - Throws: ``NotStarted`` if the program cannot be started.
  package static func check(_ program: [UInt8], path: String?) throws(NotStarted) {
    let slash = UInt8(ascii: "/")
    let folders =
      program.contains(slash)
      ? [[]]
      : (path ?? "/bin:/usr/bin").utf8.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
        .map { $0.isEmpty ? [] : Array($0) + [slash] }
    var code = ENOENT
    for folder in folders where !program.isEmpty {
      var status = stat()
      let result = (folder + program + [0]).withUnsafeBytes { bytes -> Int32 in
        guard let name = bytes.baseAddress?.assumingMemoryBound(to: CChar.self) else { return ENOENT }
        guard stat(name, &status) == 0 else { return errno }
        guard status.st_mode & S_IFMT != S_IFDIR else { return program.contains(slash) ? EACCES : ENOENT }
        return access(name, X_OK) == 0 ? 0 : errno
      }
      if result == 0 { return }
      if result == EACCES { code = EACCES }
    }
    throw failure(program, code, isFound: false)
  }

  private static func isFolder(_ program: String) -> Bool {
    var status = stat()
    return program.contains("/") && stat(program, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
  }

  // `isFound`: whether the file is known to exist.
  private static func failure(_ program: [UInt8], _ code: Int32, isFound: Bool) -> NotStarted {
    let program = String(decoding: program, as: UTF8.self)
    let advice =
      switch code {
      case ENOENT where isFound: "the interpreter in its first line (after #!) is missing"
      case ENOENT: program.contains("/") ? "check the path" : "check its spelling and PATH"
      case EACCES where isFolder(program): "it is a folder; give a program"
      case EACCES: "make it executable (chmod +x)"
      case ENOEXEC: "it is not a program; add a first line such as #!/bin/sh"
      default: "fix that and run it again"
      }
    return NotStarted(
      status: code == ENOENT ? 127 : 126,
      message: "cannot run '\(program)': \(String(cString: strerror(code))); \(advice)")
  }

  #if canImport(Darwin)
    private static let newSession: Int32 = 0x0400
  #else
    private static let newSession: Int32 = 0x80
  #endif
}

#if canImport(Darwin)
  // Pointers that posix_spawn_file_actions_init(3) and posix_spawnattr_init(3) set.
  private typealias FileActions = posix_spawn_file_actions_t?
  private typealias SpawnAttributes = posix_spawnattr_t?
#else
  private typealias FileActions = posix_spawn_file_actions_t
  private typealias SpawnAttributes = posix_spawnattr_t
  extension FileActions { fileprivate static var none: Self { Self() } }
  extension SpawnAttributes { fileprivate static var none: Self { Self() } }
#endif

/// Calls `body` with the texts as a null-terminated array of C strings.
private func withCStrings<Result>(
  _ texts: [[UInt8]], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { text in
    (text + [0]).withUnsafeBytes { $0.baseAddress.flatMap { strdup($0.assumingMemoryBound(to: CChar.self)) } }
  }
  pointers.append(nil)
  defer { for pointer in pointers { free(pointer) } }
  return pointers.withUnsafeMutableBufferPointer { buffer in
    // Never empty, because it contains the null pointer.
    body(buffer.baseAddress.unsafelyUnwrapped)
  }
}

/// A program could not be started.
package struct NotStarted: Error, CustomStringConvertible {
  /// The status a shell would return: 127 if the program does not exist, 126 if it cannot be run.
  package let status: Int32
  /// What happened, where, and what to do next, in one line.
  package let message: String

  package init(status: Int32, message: String) {
    self.status = status
    self.message = message
  }

  package var description: String { message }
}

/// A child's status from wait(2), decoded as its macros do, which Swift does not import.
package struct WaitStatus: Sendable, Equatable {
  private let raw: Int32

  package init(_ raw: Int32) {
    self.raw = raw
  }

  /// The signal that stopped it; nil if it was not stopped.
  package var stopSignal: Int32? { raw & 0xFF == 0x7F ? (raw >> 8) & 0xFF : nil }

  /// The signal that killed it; nil if none did.
  package var signal: Int32? {
    let signal = raw & 0x7F
    return signal == 0 || signal == 0x7F ? nil : signal
  }

  /// The status a shell would return: the exit status, or 128 plus the signal number.
  package var shellStatus: Int32 { signal.map { 128 + $0 } ?? (raw >> 8) & 0xFF }
}

/// The environment variables of this process for a child, as raw bytes: values need not be UTF-8.
package enum InheritedVariables {
  /// All variables as `NAME=VALUE`.
  ///
  /// - Parameters:
  ///   - by: variables to override or add.
  ///   - removed: the names of variables to leave out.
  /// - Returns: the variables.
  package static func all(overridden by: [String: String], without removed: Set<String> = []) -> [[UInt8]] {
    var variables: [[UInt8]] = []
    var next: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = environ
    while let text = next?.pointee {
      let variable = bytes(text)
      let name = String(decoding: variable.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
      if by[name] == nil, !removed.contains(name) { variables.append(variable) }
      next = next?.advanced(by: 1)
    }
    return variables + by.sorted { $0.key < $1.key }.map { Array("\($0.key)=\($0.value)".utf8) }
  }

  private static func bytes(_ text: UnsafeMutablePointer<CChar>) -> [UInt8] {
    Array(UnsafeBufferPointer(start: text, count: strlen(text)).map(UInt8.init(bitPattern:)))
  }

  /// Variables that tell a program to use a proxy, also for `https`: the proxy refuses such requests, which would
  /// otherwise bypass it unnoticed.
  ///
  /// - Parameters:
  ///   - proxy: its URL.
  ///   - includesThisMachine: whether requests to this machine use it, too.
  /// - Returns: the variables in lower and upper case; programs disagree about which they read.
  package static func proxy(_ proxy: String, includesThisMachine: Bool) -> [String: String] {
    let exceptions = includesThisMachine ? "" : "127.0.0.1,localhost,::1"
    var variables: [String: String] = [:]
    for (name, value) in [("http_proxy", proxy), ("https_proxy", proxy), ("no_proxy", exceptions)] {
      variables[name] = value
      variables[name.uppercased()] = value
    }
    return variables
  }

  /// The names of the variables that programs read to find their proxy.
  package static let proxyNames: Set<String> = {
    let names = ["http_proxy", "https_proxy", "all_proxy", "ftp_proxy", "no_proxy"]
    return Set(names + names.map { $0.uppercased() })
  }()

  /// Variables that exempt this machine from an inherited proxy, through which an app would otherwise request the
  /// endpoints.
  package static func proxyExceptions(_ inherited: [String: String]) -> [String: String] {
    let names = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"]
    guard names.contains(where: { !(inherited[$0] ?? "").isEmpty }) else { return [:] }
    let old = inherited["no_proxy"] ?? inherited["NO_PROXY"] ?? ""
    let new = (old.isEmpty ? [] : [old]) + ["127.0.0.1", "localhost"]
    return ["no_proxy": new.joined(separator: ","), "NO_PROXY": new.joined(separator: ",")]
  }
}
