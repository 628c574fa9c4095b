import Foundation
import TestSupport
import Testing

@testable import PortLeases

@Suite("Owners")
struct OwnerTests {
  @Test("are alive until their process has ended, even if it has not been reaped")
  func alive() async throws {
    try await onThread {
      let child = try sleeper()
      let owner = try child.owner
      #expect(owner.isAlive)
      #expect(PortOwner(pid: child.pid) == owner)
      child.send(SIGKILL)
      // Waits without reaping the zombie.
      var info = siginfo_t()
      #expect(waitid(P_PID, id_t(child.pid), &info, Int32(WEXITED | WNOWAIT)) == 0)
      #expect(!owner.isAlive)
      #expect(PortOwner(pid: child.pid) == nil)
      child.waitForEnd()
      #expect(!owner.isAlive)
    }
  }

  @Test("are distinguished from later processes with the same ID")
  func recurring() throws {
    let now = try thisProcess()
    let json = Data(#"{"pid": \#(now.pid), "startTime": \#(now.startTime - 1)}"#.utf8)
    let former = try JSONDecoder().decode(PortOwner.self, from: json)
    #expect(now.isAlive)
    #expect(!former.isAlive)
  }

  @Test("do not exist for unused IDs", arguments: [0, -1, Int32.max, Int32.min])
  func none(pid: Int32) { #expect(PortOwner(pid: pid) == nil) }

  @Test("are parsed even if the process name contains parentheses and blanks")
  func name() {
    let rest = (4...21).map(String.init).joined(separator: " ")
    func start(_ state: String) -> UInt64? {
      PortOwner.startTime(fromStat: Array("7 (a) S (b c) \(state) \(rest) 4711 23 24".utf8))
    }
    #expect(start("S") == 4711)
    #expect(start("Z") == nil)
    #expect(start("X") == nil)
    #expect(PortOwner.startTime(fromStat: []) == nil)
    #expect(PortOwner.startTime(fromStat: Array("7 (a) S 1 2".utf8)) == nil)
  }
}
