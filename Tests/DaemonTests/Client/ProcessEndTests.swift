import ChildProcesses
import Foundation
import TestSupport
import Testing

@Suite("The end of another process", .timeLimit(.minutes(2)))
struct ProcessEndTests {
  @Test("is waited for, and not taken for one that has not come")
  func ends() async throws {
    let child = try await onThread {
      try Child([Array("/bin/sleep".utf8), Array("1000".utf8)], environment: [:])
    }
    let end = ProcessEnd(of: child.pid)
    #expect(try await onThread { !end.wait(for: .milliseconds(1)) })
    child.send(SIGKILL)
    #expect(try await onThread { end.wait(for: .seconds(60)) })
    _ = try await onThread { child.waitForEnd() }
    // Also of one that nobody remembers.
    #expect(try await onThread { ProcessEnd(of: child.pid).wait(for: .seconds(60)) })
  }
}
