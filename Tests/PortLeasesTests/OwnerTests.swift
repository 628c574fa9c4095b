import Foundation
import TestSupport
import Testing

@testable import PortLeases

@Suite("An owner")
struct OwnerTests {
  @Test("is alive until its process has ended, also while nobody has waited for that")
  func alive() async throws {
    try await onThread {
      let child = try sleeper()
      let owner = try child.owner
      #expect(owner.isAlive)
      #expect(PortOwner(pid: child.pid) == owner)
      child.send(SIGKILL)
      // Waits without taking the zombie away.
      var info = siginfo_t()
      #expect(waitid(P_PID, id_t(child.pid), &info, Int32(WEXITED | WNOWAIT)) == 0)
      #expect(!owner.isAlive)
      #expect(PortOwner(pid: child.pid) == nil)
      child.waitForEnd()
      #expect(!owner.isAlive)
    }
  }

  @Test("is not another process that has got the same id")
  func recurring() throws {
    let now = try thisProcess()
    let json = Data(#"{"pid": \#(now.pid), "startTime": \#(now.startTime - 1)}"#.utf8)
    let former = try JSONDecoder().decode(PortOwner.self, from: json)
    #expect(now.isAlive)
    #expect(!former.isAlive)
  }

  @Test("does not exist for an id that no process has", arguments: [0, -1, Int32.max, Int32.min])
  func none(pid: Int32) { #expect(PortOwner(pid: pid) == nil) }

  @Test("is read from a process whose name has parentheses and blanks")
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
