import Foundation
import TestSupport
import Testing
@testable import PortLeases

@Suite("System tables")
struct SystemTableTests {
  @Test("distinguish listening sockets from others")
  func parsed() {
    let table = """
        sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
         0: 0100007F:4E20 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 1 1 0 100 0 0 10 0
         1: 0100007F:4E21 0100007F:B2D2 06 00000000:00000000 00:00000000 00000000     0        0 0 3 0
      1000: 00000000000000000000000001000000:1F90 00000000000000000000000000000000:0000 0A 00000000:00000000 00:0
         2: 0100007F:4E22 0100007F:4E20 01
      nonsense: 0A 0A 0A 0A
      """
    var ports = Set<UInt16>()
    ListeningPorts.parse(Array(table.utf8), into: &ports)
    #expect(ports == [0x4E20, 0x1F90])
  }

  @Test("are read to the end, over several pages")
  func whole() throws {
    let ports = try OwnPorts(60)
    let sockets = try ports.range.map { port in
      let socket = TestSocket()
      try #require(socket.bindSoon(port) && socket.listen() == 0)
      return socket
    }
    #expect(try #require(ProcFile.read("/proc/net/tcp")).count > 60 * 100)
    #expect(ListeningPorts.all().isSuperset(of: ports.range))
    withExtendedLifetime(sockets) {}
  }

  @Test("contain the ephemeral ports")
  func ephemeral() {
    #expect(EphemeralPorts.parse(Array("32768\t60999\n".utf8)) == 32768...60999)
    #expect(EphemeralPorts.parse(Array("60999 32768".utf8)) == nil)
    #expect(EphemeralPorts.parse([]) == nil)
    #expect(EphemeralPorts.overlap(EphemeralPorts.range.upperBound...65535))
    #expect(!EphemeralPorts.overlap(1...(EphemeralPorts.range.lowerBound - 1)))
  }

  @Test("that are truncated or refused by the kernel give no result")
  func broken() {
    let rest = [UInt8](repeating: 0, count: 12)
    #expect(complete([]) == false)
    #expect(complete([20, 0, 0, 0, 3, 0, 0, 0] + rest) == true)
    #expect(complete([20, 0, 0, 0, 2, 0, 0, 0] + rest) == nil)
    #expect(complete([255, 0, 0, 0, 20, 0] + [UInt8](repeating: 0, count: 60)) == nil)
    #expect(complete([UInt8](repeating: 0, count: 64)) == nil)
  }

  private func complete(_ bytes: [UInt8]) -> Bool? {
    var found: [UInt16: [SocketDiagnosis.Entry]] = [:]
    defer { #expect(found.isEmpty) }
    return SocketDiagnosis.parse(bytes, of: [0], into: &found)
  }
}

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
