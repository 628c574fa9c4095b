import ChildProcesses
import Dispatch
import Foundation
import HTTPMessages

/// A program that was started: its output as it comes, its end, and whoever waits for one or the other.
final class LaunchedProcess: Sendable {
  /// Where the program speaks.
  enum Stream: Sendable {
    case output, errors
  }

  let pid: pid_t
  let state = Guarded(State())
  private let input: Guarded<Int32>

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - spawn: the program, its variables and extra descriptors.
  ///   - folder: where its contract lies; it goes when the program has ended, or with this process.
  /// - Throws: ``NotStarted``.
  init(_ spawn: Spawn, folder: String) throws(NotStarted) {
    let guardian = try Guard(removing: folder, closesOthers: true)
    let stdin = try DescriptorPair.sockets()
    var ours = [stdin.ours]
    var theirs = [stdin.theirs]
    defer { for descriptor in theirs { close(descriptor) } }
    do throws(NotStarted) {
      for _ in 0..<2 {
        let pipe = try DescriptorPair.pipe()
        ours.append(pipe.read)
        theirs.append(pipe.write)
      }
      let bell = try DescriptorPair.pipe()
      ours += [bell.read, bell.write]
      var spawn = spawn
      spawn.files = theirs.enumerated().map { .pass($1, as: Int32($0)) } + spawn.files
      spawn.ownGroup = true
      spawn.closesOthers = true
      // The test runner may ignore signals or have them blocked; the app is to start like one of a shell.
      var none = sigset_t()
      sigemptyset(&none)
      spawn.blockedSignals = none
      spawn.defaultSignals = [SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD, SIGTSTP, SIGTTIN, SIGTTOU]
      pid = try spawn.start()
    } catch {
      for descriptor in ours { close(descriptor) }
      guardian.dismiss()
      throw error
    }
    guardian.watch(group: pid)
    input = Guarded(ours[0])
    let bell = ours[4]
    Thread.detachNewThread { [self] in
      reap()
      // Not by closing alone: a child that somebody starts just now may hold this end for a moment.
      _ = Foundation.write(bell, [0], 1)
      close(bell)
    }
    Thread.detachNewThread { [self, ours] in
      let reader = OutputReader(output: ours[1], errors: ours[2], bell: ours[3], group: pid)
      reader.run { stream, bytes in
        change { state in
          switch stream {
          case .output: state.output.append(bytes)
          case .errors: state.errors.append(bytes)
          }
        }
      }
      closeInput()
      // Before anybody hears of the end: what is left then is what others left.
      guardian.dismiss()
      try? FileManager.default.removeItem(atPath: folder)
      change { $0.ending = $0.status }
    }
  }

  // MARK: What it says

  /// All that it said.
  func bytes(_ stream: Stream) -> [UInt8] {
    state.withLock { stream == .output ? $0.output : $0.errors }.bytes
  }

  /// The last lines of both streams, for a failure's text; empty when it said nothing.
  func tail(lines: Int = 20) -> String {
    var text = ""
    for (stream, name) in [(Stream.output, "output"), (.errors, "error")] {
      let last = state.withLock { (stream == .output ? $0.output : $0.errors).tail(lines: lines) }
      guard !last.isEmpty else { continue }
      text += "\n  its standard \(name) ends:\n" + last.map { "    \($0)" }.joined(separator: "\n")
    }
    return text
  }

  // MARK: What it is told

  /// Writes to its standard input; waits while it does not read.
  func write(_ bytes: [UInt8]) async -> Bool {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [input] in
        // A descriptor of its own: the input may be closed meanwhile.
        let descriptor = input.withLock { $0 < 0 ? -1 : fcntl($0, F_DUPFD_CLOEXEC, 0) }
        guard descriptor >= 0 else { return continuation.resume(returning: false) }
        defer { close(descriptor) }
        continuation.resume(returning: DescriptorPair.send(bytes, to: descriptor))
      }
    }
  }

  func closeInput() {
    input.withLock { descriptor in
      guard descriptor >= 0 else { return }
      shutdown(descriptor, Int32(SHUT_RDWR))
      close(descriptor)
      descriptor = -1
    }
  }

  /// Sends a signal to it and what it started in its group; nothing once it has ended.
  ///
  /// - Parameters:
  ///   - signal: the signal.
  ///   - isExpected: whether an end by it is one that was wanted.
  func send(_ signal: Int32, isExpected: Bool) {
    state.withLock { state in
      if isExpected { state.isExpected = true }
      guard state.status == nil else { return }
      kill(-pid, signal)
      // Whoever is stopped could not even end.
      kill(-pid, SIGCONT)
    }
  }

  // MARK: How it ends

  var ending: WaitStatus? { state.withLock { $0.ending } }
  var isExpected: Bool { state.withLock { $0.isExpected } }
  func expectEnd() { state.withLock { $0.isExpected = true } }

  /// Waits for the end of the program, and takes leave of it.
  private func reap() {
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    // While it is not reaped its id is nobody else's. What it left behind in its group goes with it.
    state.withLock { state in
      kill(-pid, SIGKILL)
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
      state.status = WaitStatus(status)
    }
  }
}
