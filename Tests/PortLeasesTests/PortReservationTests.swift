import Basics
import Foundation
import PortLeases
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Reserved ports")
struct PortReservationTests {
  @Test("are from the pool, below the ephemeral ports")
  func pool() throws {
    let reservation = try PortReservation()
    #expect(PortReservation.pool.contains(reservation.port))
    #expect(PortReservation.pool == 20000...32767)
  }

  @Test("refuse programs that bind without SO_REUSEADDR")
  func plain() throws {
    let reservation = try PortReservation()
    #expect(TestSocket(reuse: false).bind(reservation.port) == EADDRINUSE)
  }

  @Test("admit the program they are meant for, which gets the connections", arguments: [0x7F00_0001, 0] as [UInt32])
  func served(address: UInt32) throws {
    let reservation = try PortReservation()
    let server = TestSocket()
    #expect(server.bind(reservation.port, address: address) == 0)
    #expect(server.listen() == 0)
    let client = TestSocket()
    #expect(client.connect(reservation.port) == 0)
    #expect(server.hasConnection)
  }

  @Test("refuse connections while no program listens")
  func silent() throws {
    let reservation = try PortReservation()
    #expect(TestSocket().connect(reservation.port) == ECONNREFUSED)
  }

  @Test("are all different when reserved concurrently")
  func distinct() throws {
    let reservations = try (0..<200).map { _ in try PortReservation() }
    #expect(Set(reservations.map(\.port)).count == 200)
  }

  @Test("refuse a second holder, and are free when the first is gone")
  func second() throws {
    let ports = try OwnPorts()
    do {
      let first = try PortReservation(in: ports.range)
      let error = #expect(throws: CodedError.self) { try PortReservation(in: ports.range) }
      #expect(error?.description.contains("\(first.port)") == true)
      #expect(error?.description.contains("\n") == false)
    }
    #expect(soon { try? PortReservation(in: ports.range) } != nil)
  }

  @Test("can be bound by Python's http.server")
  func python() throws {
    let reservation = try PortReservation()
    let process = Process()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    let script = """
      import http.server, sys
      server = http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), http.server.SimpleHTTPRequestHandler)
      print("bound", flush=True)
      server.socket.accept()
      print("connected", flush=True)
      """
    process.arguments = ["python3", "-c", script, "\(reservation.port)"]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    #expect(line(output.fileHandleForReading) == "bound")
    #expect(TestSocket().connect(reservation.port) == 0)
    #expect(line(output.fileHandleForReading) == "connected")
    process.waitUntilExit()
    #expect(process.terminationStatus == 0)
  }

  @Test("are not inherited by child processes")
  func inheritance() throws {
    let reservation = try PortReservation()
    let socket = try ListeningSocket()
    #expect(fcntl(socket.descriptor, F_GETFD) & FD_CLOEXEC != 0)
    let folder = try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { Int32($0) }
    // All sockets bound to that port, whatever their descriptor.
    let held = folder.filter { port(of: $0) == reservation.port }
    #expect(held.count == 1)
    #expect(held.allSatisfy { fcntl($0, F_GETFD) & FD_CLOEXEC != 0 })
  }

  /// The next line, or the rest at the end.
  private func line(_ handle: FileHandle) -> String {
    var line = Data()
    while let byte = try? handle.read(upToCount: 1), !byte.isEmpty, byte[byte.startIndex] != 0x0A { line += byte }
    return String(decoding: line, as: UTF8.self)
  }

  private func port(of descriptor: Int32) -> UInt16? {
    var address = sockaddr_in()
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let result = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(descriptor, $0, &size) }
    }
    guard result == 0, address.sin_family == sa_family_t(AF_INET) else { return nil }
    return UInt16(bigEndian: address.sin_port)
  }
}

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
    #expect(throws: CodedError.self) { try ListeningSocket(in: socket.port...socket.port) }
    #expect(throws: CodedError.self) { try PortReservation(in: socket.port...socket.port) }
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
    #expect(throws: CodedError.self) { try ListeningSocket(in: reservation.port...reservation.port) }
  }
}
