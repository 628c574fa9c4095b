import Basics
import ChildProcesses
import Foundation
import Glibc
import TestSupport
import Testing

@testable import DioramaCommand

@Suite("The preparation of a command", .timeLimit(.minutes(5)))
struct PreparationTests {
  @Test("runs after the start; if it fails, the process is killed and reaped")
  func failure() async throws {
    try await onThread {
      let folder = try Folder()
      try FileManager.default.createDirectory(atPath: folder.file("guarded"), withIntermediateDirectories: false)
      let guardian = try Guard(removing: folder.file("guarded"))
      defer { guardian.dismiss() }
      let pipe = try DescriptorPair.pipe()
      var spawn = Spawn(
        arguments: ["sh", "-c", "echo $$; exec sleep 1000"].map { Array($0.utf8) }, environment: [])
      spawn.files = [.open("/dev/null", flags: O_RDONLY, as: 0), .pass(pipe.write, as: 1)]
      defer { close(pipe.read) }
      var supervisor = Supervisor()
      var pid: pid_t?
      let error = #expect(throws: NotStarted.self) {
        _ = try supervisor.run(
          spawn, timeout: nil, watching: guardian,
          preparing: { () throws(CodedError) in
            close(pipe.write)
            pid = Self.line(pipe.read).flatMap { pid_t($0) }
            throw CodedError(.noUpstream, "no namespaces")
          })
      }
      #expect(error?.status == 69 && error?.message == "no namespaces")
      // A process that is not reaped still exists.
      #expect(kill(try #require(pid), 0) == -1 && errno == ESRCH)
    }
  }

  private static func line(_ descriptor: Int32) -> String? {
    var bytes: [UInt8] = []
    var byte: UInt8 = 0
    while read(descriptor, &byte, 1) == 1, byte != 0x0A { bytes.append(byte) }
    return String(validating: bytes, as: UTF8.self)
  }
}
