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
      try #require(socket.bind(port) == 0 && socket.listen() == 0)
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
