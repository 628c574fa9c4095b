package import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Ensures that a command does not outlive this process, however this process ends.
///
/// A small shell waits on a connection that only this process holds open. If it closes without a final message, this
/// process was killed: the shell kills the command's process group and removes the folder with the launch contract. This
/// works where parent-death signals do not: they reach a single process and exist on Linux only.
package final class Guard: Sendable {
  private let pid: pid_t
  private let line: Int32
  private let isDismissed = Atomic(false)

  /// - Parameters:
  ///   - folder: the folder to remove.
  ///   - closesOthers: see ``Spawn/closesOthers``.
  /// - Throws: ``NotStarted`` if no descriptors or no shell are available.
  package init(removing folder: String, closesOthers: Bool = false) throws(NotStarted) {
    let ends = try DescriptorPair.sockets()
    let script =
      "read -r group; read -r word || { test -z \"$group\" || kill -s KILL -- \"-$group\"; rm -rf -- \"$1\"; }"
    let arguments = ["/bin/sh", "-c", script, "diorama-guard", folder]
    var spawn = Spawn(arguments: arguments.map { Array($0.utf8) }, environment: [])
    spawn.ownSession = true
    spawn.closesOthers = closesOthers
    spawn.files = [.pass(ends.theirs, as: 0)] + [1, 2].map { .open("/dev/null", flags: O_WRONLY, as: $0) }
    let result = Result { () throws(NotStarted) in try spawn.start() }
    close(ends.theirs)
    switch result {
    case .success(let pid):
      self.pid = pid
      self.line = ends.ours
    case .failure(let error):
      close(ends.ours)
      throw error
    }
  }

  /// Unless dismissed, kills the group and removes the folder.
  deinit {
    if !isDismissed.load(ordering: .relaxed) { hangUp() }
  }

  /// Sets the process group to kill.
  package func watch(group: pid_t) { DescriptorPair.send(Array("\(group)\n".utf8), to: line) }

  /// Ends the guard without action, because the command has ended.
  package func dismiss() {
    guard !isDismissed.exchange(true, ordering: .relaxed) else { return }
    // In one write: after a first line the shell may be gone. Two lines, for a command that never had a group.
    DescriptorPair.send(Array("0\ndone\n".utf8), to: line)
    hangUp()
  }

  private func hangUp() {
    close(line)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
  }
}
