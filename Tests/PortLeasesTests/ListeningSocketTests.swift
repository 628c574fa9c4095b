import PortLeases
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Listening sockets")
struct ListeningSocketTests {
  @Test("accept connections from the start")
  func accepts() throws {
    let socket = try ListeningSocket()
    #expect(PortReservation.pool.contains(socket.port))
    let client = TestSocket()
    #expect(client.connect(socket.port) == 0)
    let accepted = accept(socket.descriptor, nil, nil)
    #expect(accepted >= 0)
    close(accepted)
  }

  @Test("keep their port from other programs, even with SO_REUSEADDR")
  func exclusive() throws {
    let socket = try ListeningSocket()
    #expect(TestSocket(reuse: false).bind(socket.port) == EADDRINUSE)
    #expect(TestSocket(reuse: true).bind(socket.port) == EADDRINUSE)
    #expect(throws: PortUnavailable.self) { try ListeningSocket(in: socket.port...socket.port) }
    #expect(throws: PortUnavailable.self) { try PortReservation(in: socket.port...socket.port) }
  }

  @Test("close when released")
  func closes() throws {
    let ports = try OwnPorts()
    do { _ = try ListeningSocket(in: ports.range) }
    // A child that another test starts at this moment keeps a copy open briefly.
    #expect(soon { TestSocket().connect(ports.range.lowerBound) == ECONNREFUSED ? true : nil } == true)
  }

  @Test("do not take a reserved port")
  func reserved() throws {
    let reservation = try PortReservation()
    #expect(throws: PortUnavailable.self) { try ListeningSocket(in: reservation.port...reservation.port) }
  }
}
