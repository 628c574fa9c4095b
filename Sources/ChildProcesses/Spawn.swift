import CPosixSpawn
package import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A child process by posix_spawn(3), with what `Foundation.Process` cannot do: its own process group, the terminal
/// handed over with it, descriptors at given places. (That one also reads past its memory while many descriptors come
/// and go.)
package struct Spawn {
  /// The program, looked up in PATH unless it has a slash, and its arguments.
  package var arguments: [[UInt8]]
  /// All variables of the child, each as `NAME=VALUE`.
  package var environment: [[UInt8]]
  /// A process group of its own, so that a signal meant for the command reaches it once and whole.
  package var ownGroup = false
  /// A terminal of ours that the child's own group has before the program starts, where the system can do that.
  package var terminal: Int32?
  /// A session of its own, out of reach of the terminal's signals.
  package var ownSession = false
  /// What the child's descriptors are, in order; the others are inherited unless they are close-on-exec.
  package var files: [FileAction] = []
  /// Whether the child inherits nothing beside its standard descriptors and ``files``: for a process of many threads,
  /// some of whose descriptors belong to libraries.
  package var closesOthers = false
  /// The signals that the child has blocked; nil for those of this thread.
  package var blockedSignals: sigset_t?
  /// Signals that do in the child what they do by default, although we ignore them.
  package var defaultSignals: [Int32] = []

  /// What is done in the child before the program starts.
  package enum FileAction: Sendable {
    /// A descriptor of ours becomes one of the child's.
    case pass(Int32, as: Int32)
    /// A file is opened.
    case open(String, flags: Int32, as: Int32)
    /// Nothing is open there.
    case close(Int32)
  }

  package init(arguments: [[UInt8]], environment: [[UInt8]]) {
    self.arguments = arguments
    self.environment = environment
  }

  /// Starts the child.
  ///
  /// - Returns: its process id.
  /// - Throws: ``NotStarted``.
  package func start() throws(NotStarted) -> pid_t {
    var actions = posix_spawn_file_actions_t.none
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    var attributes = posix_spawnattr_t.none
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
      // First: what comes after may put another file in the descriptor's place.
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

  private func add(_ files: [FileAction], to actions: inout posix_spawn_file_actions_t) {
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

  /// Says before anything else is done what ``start()`` would say of a program that is not there or not executable.
  ///
  /// - Parameters:
  ///   - program: as execvp(3) takes it: looked up in `path` unless it has a slash.
  ///   - path: the variable PATH; nil where it is not set.
  /// - Throws: ``NotStarted``.
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

  // `isFound` says whether the file is known to be there.
  private static func failure(_ program: [UInt8], _ code: Int32, isFound: Bool) -> NotStarted {
    let program = String(decoding: program, as: UTF8.self)
    let advice =
      switch code {
      case ENOENT where isFound: "what its first line names after #! is missing"
      case ENOENT: program.contains("/") ? "check the path" : "check its spelling and PATH"
      case EACCES: "make it executable (chmod +x)"
      case ENOEXEC: "it is no program; give it a first line such as #!/bin/sh"
      default: "mend that and run it again"
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
  extension posix_spawn_file_actions_t { fileprivate static var none: Self { nil } }
  extension posix_spawnattr_t { fileprivate static var none: Self { nil } }
#else
  extension posix_spawn_file_actions_t { fileprivate static var none: Self { Self() } }
  extension posix_spawnattr_t { fileprivate static var none: Self { Self() } }
#endif

/// Runs `body` with the texts as C has them: an array of pointers that ends with a null one.
private func withCStrings<Result>(
  _ texts: [[UInt8]], _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
) -> Result {
  var pointers: [UnsafeMutablePointer<CChar>?] = texts.map { text in
    (text + [0]).withUnsafeBytes { $0.baseAddress.flatMap { strdup($0.assumingMemoryBound(to: CChar.self)) } }
  }
  pointers.append(nil)
  defer { for pointer in pointers { free(pointer) } }
  return pointers.withUnsafeMutableBufferPointer { buffer in
    // Never empty: the closing null pointer is in it.
    body(buffer.baseAddress.unsafelyUnwrapped)
  }
}
