import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Sees to it that the command does not outlive `diorama run`, however that ends.
///
/// A tiny shell waits at a pipe that only this process holds open. When the pipe closes without a last word, this process
/// was killed: the shell ends the command's process group, and takes away the folder that held the launch contract.
/// It works where parent-death signals do not (they reach one process and exist on Linux only).
struct Guard: ~Copyable {
  private let pid: pid_t
  private let pipe: Int32

  /// - Parameter folder: a folder to remove.
  /// - Throws: ``NotStarted`` when there is no pipe or no shell to be had.
  init(removing folder: String) throws(NotStarted) {
    var ends: [Int32] = [0, 0]
    guard Foundation.pipe(&ends) == 0 else {
      throw NotStarted(status: 126, message: "cannot make a pipe: \(String(cString: strerror(errno)))")
    }
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    let script =
      "read -r group; read -r word || { test -z \"$group\" || kill -s KILL -- \"-$group\"; rm -rf -- \"$1\"; }"
    let arguments = ["/bin/sh", "-c", script, "diorama-guard", folder]
    var spawn = Spawn(arguments: arguments.map { Array($0.utf8) }, environment: [])
    spawn.ownSession = true
    spawn.descriptors = [(ends[0], 0)]
    spawn.silent = true
    let result = Result { () throws(NotStarted) in try spawn.start() }
    close(ends[0])
    switch result {
    case .success(let pid):
      self.pid = pid
      self.pipe = ends[1]
    case .failure(let error):
      close(ends[1])
      throw error
    }
  }

  /// Tells which process group to end.
  func watch(group: pid_t) { say("\(group)\n") }

  /// The command has ended by itself.
  consuming func dismiss() {
    // In one piece: after a first line the shell may be gone. Two, for a command that never had a group.
    say("0\ndone\n")
    close(pipe)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
  }

  private func say(_ text: String) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(pipe, $0.baseAddress, $0.count) }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }
}
