import Testing

@testable import Daemon

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Sockets that systemd hands over")
struct ActivatedSocketsTests {
  private static func sockets(_ families: [Int32?], pid: String = "7") -> ActivatedSockets {
    ActivatedSockets(variables: ["LISTEN_PID": pid, "LISTEN_FDS": String(families.count)], pid: 7) {
      families[Int($0) - 3]
    }
  }

  @Test("are known by their kind, in whatever order and by whatever name")
  func kinds() {
    let sockets = Self.sockets([AF_UNIX, AF_INET])
    #expect(sockets.socket == 3)
    #expect(sockets.control == 4)
    #expect(sockets.others.isEmpty)
    #expect(Self.sockets([AF_UNIX, AF_UNIX, nil]).others == [4, 5])
  }

  @Test("are none of ours when they are for another process, or the count makes no sense")
  func others() {
    #expect(Self.sockets([AF_INET], pid: "8") == ActivatedSockets())
    #expect(ActivatedSockets(variables: ["LISTEN_PID": "7", "LISTEN_FDS": "-1"], pid: 7) == ActivatedSockets())
    #expect(ActivatedSockets(variables: ["LISTEN_PID": "7", "LISTEN_FDS": "1000000"], pid: 7) == ActivatedSockets())
    #expect(ActivatedSockets(variables: [:], pid: 7) == ActivatedSockets())
  }
}
