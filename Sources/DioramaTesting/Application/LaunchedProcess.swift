import Basics
package import ChildProcesses
@preconcurrency import Dispatch
package import Foundation
import HTTPMessages

/// A launched program: its output, its end, and the waits for them.
package final class LaunchedProcess: Sendable {
  /// An output stream of the program.
  package enum Stream: Sendable {
    case output, errors
  }

  package let pid: pid_t
  let state = Guarded(State())
  private let input: Guarded<Int32>

  /// Launches a program as the leader of a process group, or of a session if ``Spawn/ownSession`` is set.
  ///
  /// - Parameters:
  ///   - spawn: the program, its variables, and descriptors in addition to, or instead of, the pipes at 0 to 2.
  ///   - folder: the folder of its contract; removed when the program has ended, or with this process.
  /// - Throws: ``NotStarted``.
  package init(_ spawn: Spawn, folder: String) throws(NotStarted) {
    let guardian = try Guard(removing: folder, closesOthers: true)
    let stdin = try DescriptorPair.sockets()
    var ours = [stdin.ours]
    var theirs = [stdin.theirs]
    defer { for descriptor in theirs { close(descriptor) } }
    do {
      for _ in 0..<2 {
        let pipe = try DescriptorPair.pipe()
        ours.append(pipe.read)
        theirs.append(pipe.write)
      }
      let bell = try DescriptorPair.pipe()
      ours += [bell.read, bell.write]
      var spawn = spawn
      spawn.files = theirs.enumerated().map { .pass($1, as: Int32($0)) } + spawn.files
      spawn.ownGroup = !spawn.ownSession
      spawn.closesOthers = true
      // A test runner may ignore or block signals; the program must start like one of a shell.
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
      // Closing is not enough: a child process that is being started may hold this end for a moment.
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
      // Before the end is reported, so that everything is cleaned up when a wait for the end returns.
      guardian.dismiss()
      try? FileManager.default.removeItem(atPath: folder)
      change { $0.ending = $0.status }
    }
  }

  // MARK: Output

  /// The output on a stream.
  func bytes(_ stream: Stream) -> [UInt8] {
    state.withLock { stream == .output ? $0.output : $0.errors }.bytes
  }

  /// The last lines of both streams, for failure messages; empty without output.
  package func tail(lines: Int = 20) -> String {
    var text = ""
    for (stream, name) in [(Stream.output, "output"), (.errors, "error")] {
      let last = state.withLock { (stream == .output ? $0.output : $0.errors).tail(lines: lines) }
      guard !last.isEmpty else { continue }
      text += "\n  the end of its standard \(name):\n" + last.map { "    \($0)" }.joined(separator: "\n")
    }
    return text
  }

  // MARK: Input and signals

  /// Writes to standard input, and waits while the program does not read.
  func write(_ bytes: [UInt8]) async -> Bool {
    await withCheckedContinuation { continuation in
      DispatchQueue.global().async { [input] in
        // Duplicated, because the input may be closed meanwhile.
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

  /// Sends a signal to the program and its process group, unless it has ended.
  ///
  /// - Parameters:
  ///   - signal: the signal.
  ///   - isExpected: whether the program's end by this signal is intended.
  package func send(_ signal: Int32, isExpected: Bool) {
    state.withLock { state in
      if isExpected { state.isExpected = true }
      guard state.status == nil else { return }
      kill(-pid, signal)
      // A stopped process could not end.
      kill(-pid, SIGCONT)
    }
  }

  // MARK: End

  package var ending: WaitStatus? { state.withLock { $0.ending } }
  /// Waits until the program has ended and its output is read.
  ///
  /// - Returns: how it ended; nil if it still runs at the time limit, or the task is cancelled.
  package func end(within timeout: Duration) async -> WaitStatus? {
    try? await wait(timeout: timeout) { $0.ending }
  }

  var isExpected: Bool { state.withLock { $0.isExpected } }
  func expectEnd() { state.withLock { $0.isExpected = true } }

  /// Waits for the end of the program and reaps it.
  private func reap() {
    var info = siginfo_t()
    while waitid(P_PID, id_t(pid), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    // Before it is reaped its ID is not reused. The rest of its process group is killed with it.
    state.withLock { state in
      kill(-pid, SIGKILL)
      var status: Int32 = 0
      while waitpid(pid, &status, 0) < 0, errno == EINTR {}
      state.status = WaitStatus(status)
    }
  }
}

extension LaunchedProcess {
  /// The state guarded by the lock.
  struct State {
    var output = CapturedOutput()
    var errors = CapturedOutput()
    /// How the process ended. From then on its ID may be reused.
    var status: WaitStatus?
    /// The same, once all of its output has been read.
    var ending: WaitStatus?
    /// Whether the test waited for the end or caused it.
    var isExpected = false
    var waiters: [Int: Waiter] = [:]
    var lastWaiter = 0
  }

  /// A wait in progress.
  struct Waiter {
    /// Checks whether the condition is met, and returns a function that resumes the waiting task.
    var check: (inout State) -> (() -> Void)?
    /// Resumes the waiting task with an error.
    var giveUp: (WaitFailure) -> Void
  }

  /// The reason why a wait failed.
  enum WaitFailure: Error {
    case timedOut, ended, cancelled
  }

  /// Changes the state and resumes the waits whose condition is met.
  func change(_ body: (inout State) -> Void) {
    let ready = state.withLock { state -> [() -> Void] in
      body(&state)
      var ready: [() -> Void] = []
      for (id, waiter) in state.waiters.sorted(by: { $0.key < $1.key }) {
        guard let resume = waiter.check(&state) else { continue }
        state.waiters[id] = nil
        ready.append(resume)
      }
      return ready
    }
    for resume in ready { resume() }
  }

  /// Waits until `check` returns a value. It is called after each change.
  ///
  /// - Parameters:
  ///   - timeout: the time limit.
  ///   - check: called under the lock; it must not call out.
  /// - Returns: the value.
  /// - Throws: ``WaitFailure/timedOut``, ``WaitFailure/cancelled``, or ``WaitFailure/ended`` if the program has ended and
  ///   `check` still returns nil.
  func wait<Value: Sendable>(
    timeout: Duration, _ check: @escaping @Sendable (inout State) -> Value?
  ) async throws(WaitFailure) -> Value {
    let number = state.withLock { state in
      state.lastWaiter += 1
      return state.lastWaiter
    }
    let result: Result<Value, WaitFailure> = await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        let answer: @Sendable (inout State) -> Result<Value, WaitFailure>? = { state in
          if let value = check(&state) { return .success(value) }
          return state.ending == nil ? nil : .failure(.ended)
        }
        let now = state.withLock { state -> Result<Value, WaitFailure>? in
          if let result = answer(&state) { return result }
          // Checked here, because a later cancellation finds the waiter.
          if Task.isCancelled { return .failure(.cancelled) }
          state.waiters[number] = Waiter(
            check: { state in answer(&state).map { result in { continuation.resume(returning: result) } } },
            giveUp: { continuation.resume(returning: .failure($0)) })
          return nil
        }
        if let now { return continuation.resume(returning: now) }
        DispatchQueue.global().asyncAfter(deadline: .now() + timeout / .seconds(1)) { [weak self] in
          self?.giveUp(number, .timedOut)
        }
      }
    } onCancel: {
      giveUp(number, .cancelled)
    }
    return try result.get()
  }

  private func giveUp(_ number: Int, _ failure: WaitFailure) {
    state.withLock { $0.waiters.removeValue(forKey: number) }?.giveUp(failure)
  }
}
