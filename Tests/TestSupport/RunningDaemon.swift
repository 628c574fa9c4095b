import ChildProcesses
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

/// A daemon of the command for tests, with its own state folder. Both are removed with this object, or with the test
/// process, however that ends.
package final class RunningDaemon: Sendable {
  /// Ends the daemon and removes its folder when its input ends.
  private static let keeper = """
    "$1" serve --state "$2" --portserver-address "" & daemon=$!
    read -r _
    kill -TERM "$daemon" 2>/dev/null
    wait "$daemon"
    rm -rf "$2"
    """

  /// The state folder.
  package let folder: String
  package let pid: Int32
  private let keeper: pid_t
  private let line: Int32

  /// Starts the daemon, and returns once it is ready.
  ///
  /// - Throws: ``Failure`` with the daemon's output.
  package init() async throws {
    folder = FileManager.default.temporaryDirectory.path + "/diorama-daemon-" + UUID().uuidString
    let folder = folder
    (keeper, line, pid) = try await onThread {
      let program = try Self.program()
      let input = try DescriptorPair.sockets()
      let output = try DescriptorPair.pipe()
      defer {
        close(input.theirs)
        close(output.read)
      }
      let words = ["/bin/sh", "-c", Self.keeper, "sh", program, folder]
      var spawn = Spawn(arguments: words.map { Array($0.utf8) }, environment: InheritedVariables.all(overridden: [:]))
      spawn.ownSession = true
      spawn.closesOthers = true
      // The test runner may block signals, and a shell that gets no SIGCHLD waits forever.
      var none = sigset_t()
      sigemptyset(&none)
      spawn.blockedSignals = none
      spawn.defaultSignals = [SIGINT, SIGTERM, SIGHUP, SIGPIPE, SIGCHLD]
      spawn.files = [.pass(input.theirs, as: 0), .pass(output.write, as: 1)]
      let keeper = try spawn.start()
      close(output.write)
      // The line arrives in one piece; the output ends only with the daemon.
      let ready = Self.line(output.read)
      guard let object = try? JSONSerialization.jsonObject(with: ready) as? [String: Any],
        let pid = object["pid"] as? Int
      else {
        close(input.ours)
        throw Failure(what: "the daemon is not ready; its output: \(String(decoding: ready, as: UTF8.self))")
      }
      return (keeper, input.ours, Int32(pid))
    }
  }

  deinit {
    close(line)
    var status: Int32 = 0
    while waitpid(keeper, &status, 0) < 0, errno == EINTR {}
  }

  /// Reads up to the end of a line or of the output.
  private static func line(_ descriptor: Int32) -> Data {
    var line = Data()
    var byte: UInt8 = 0
    while read(descriptor, &byte, 1) == 1, byte != 0x0A { line.append(byte) }
    return line
  }

  private static func program() throws -> String {
    guard let tests = Bundle.main.executableURL else { throw Failure(what: "there is no folder of products") }
    return tests.deletingLastPathComponent().appending(path: "diorama").path
  }
}
