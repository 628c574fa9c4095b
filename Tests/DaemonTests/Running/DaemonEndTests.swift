import ControlAPI
import DaemonClient
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport
import Testing

@testable import Daemon

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Stopping a daemon", .timeLimit(.minutes(2)))
struct DaemonEndTests {
  private let folder: ScratchFolder

  init() throws { folder = try ScratchFolder() }

  private func start(socket: Int32? = nil) async throws -> Daemon {
    var configuration = DaemonConfiguration()
    configuration.portserverAddress = ""
    var options = Daemon.Options(configuration: configuration, folder: folder.state, version: "1")
    options.sockets.socket = socket
    return try await Daemon.start(options, log: Log(level: .critical) { _ in })
  }

  private func control() -> ControlFile? { ControlFiles(folder: folder.state).left() }

  @Test("sends followers of a journal its last entry and the end event")
  func journal() async throws {
    let daemon = try await start()
    let environment = try await daemon.manager.provision(.mock)
    let token = try #require(control()).token.revealed
    let port = try #require(UInt16(daemon.ready.control.split(separator: ":").last ?? ""))
    let (reader, first) = try await onThread {
      let reader = try RawClient(port: port)
      try reader.send(
        "GET /v1/environments/\(environment.id)/journal HTTP/1.1\r\nHost: localhost:\(port)\r\n"
          + "Authorization: Bearer \(token)\r\nAccept: text/event-stream\r\n\r\n")
      return (reader, try reader.receive())
    }
    #expect(String(decoding: first, as: UTF8.self).hasPrefix("HTTP/1.1 200"))
    let endpoint = try #require(UInt16(exactly: environment.port))
    let miss = try await onThread {
      try RawClient(port: endpoint).exchange("GET /missing HTTP/1.1\r\nHost: localhost:\(endpoint)\r\n\r\n")
    }
    #expect(miss.status == 501)
    async let rest = onThread { String(decoding: try reader.receiveAll(), as: UTF8.self) }
    await daemon.stop()
    let text = try await rest
    #expect(text.contains("id: 1\nevent: entry\n"))
    #expect(text.contains("event: end\ndata: {\"last\":1,"))
    #expect(control() == nil, "the control file is removed")
  }

  @Test("keeps its control file if the socket is inherited, and the next daemon serves the client")
  func activated() async throws {
    try FileManager.default.createDirectory(
      atPath: folder.state, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
    let socket = try Self.listen(folder.state + "/control.sock")
    defer { close(socket) }
    let token = try await {
      let first = try await start(socket: dup(socket))
      let token = try #require(control()).token
      await first.stop()
      return token
    }()
    #expect(control()?.token == token)
    // As with systemd: the call waits at the socket until the daemon has started.
    async let client = DaemonClient.connect(to: DaemonHome(folder: folder.state))
    try await onThread {
      var caller = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      while poll(&caller, 1, 60_000) < 0, errno == EINTR {}
    }
    let second = try await start(socket: dup(socket))
    #expect(try await client.health().version == "1")
    #expect(control()?.token == token)
    await second.stop()
  }

  /// A Unix socket as systemd creates it.
  private static func listen(_ path: String) throws -> Int32 {
    let descriptor = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    let isBound = withUnsafeMutableBytes(of: &address.sun_path) { place -> Bool in
      guard path.utf8.count < place.count else { return false }
      place.copyBytes(from: path.utf8)
      return true
    }
    let result = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    try #require(isBound && result == 0 && Glibc.listen(descriptor, 16) == 0)
    return descriptor
  }
}

@Suite("Sockets inherited from systemd")
struct ActivatedSocketsTests {
  private static func sockets(_ families: [Int32?], pid: String = "7") -> ActivatedSockets {
    ActivatedSockets(variables: ["LISTEN_PID": pid, "LISTEN_FDS": String(families.count)], pid: 7) {
      families[Int($0) - 3]
    }
  }

  @Test("are identified by address family, whatever their order and names")
  func kinds() {
    let sockets = Self.sockets([AF_UNIX, AF_INET])
    #expect(sockets.socket == 3)
    #expect(sockets.control == 4)
    #expect(sockets.others.isEmpty)
    #expect(Self.sockets([AF_UNIX, AF_UNIX, nil]).others == [4, 5])
  }

  @Test("are ignored if they are for another process, or their count is invalid")
  func others() {
    #expect(Self.sockets([AF_INET], pid: "8") == ActivatedSockets())
    #expect(ActivatedSockets(variables: ["LISTEN_PID": "7", "LISTEN_FDS": "-1"], pid: 7) == ActivatedSockets())
    #expect(ActivatedSockets(variables: ["LISTEN_PID": "7", "LISTEN_FDS": "1000000"], pid: 7) == ActivatedSockets())
    #expect(ActivatedSockets(variables: [:], pid: 7) == ActivatedSockets())
  }
}
