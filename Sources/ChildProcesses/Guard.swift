package import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// Sees to it that a command does not outlive this process, however that ends.
///
/// A tiny shell waits at a connection that only this process holds open. When it closes without a last word, this
/// process was killed: the shell ends the command's process group, and takes away the folder that held the launch
/// contract. It works where parent-death signals do not (they reach one process and exist on Linux only).
package final class Guard: Sendable {
  private let pid: pid_t
  private let line: Int32
  private let isDismissed = Atomic(false)

  /// - Parameters:
  ///   - folder: a folder to remove.
  ///   - closesOthers: see ``Spawn/closesOthers``.
  /// - Throws: ``NotStarted`` when there are no descriptors or no shell to be had.
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

  /// Whoever was not dismissed does what it is there for.
  deinit {
    if !isDismissed.load(ordering: .relaxed) { hangUp() }
  }

  /// Tells which process group to end.
  package func watch(group: pid_t) { DescriptorPair.send(Array("\(group)\n".utf8), to: line) }

  /// The command has ended by itself.
  package func dismiss() {
    guard !isDismissed.exchange(true, ordering: .relaxed) else { return }
    // In one piece: after a first line the shell may be gone. Two, for a command that never had a group.
    DescriptorPair.send(Array("0\ndone\n".utf8), to: line)
    hangUp()
  }

  private func hangUp() {
    close(line)
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0, errno == EINTR {}
  }
}
