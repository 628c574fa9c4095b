import Basics
import ControlAPI
import DaemonClient
import EnvironmentConfiguration
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport
import Testing

@Suite("Daemon client calls")
struct CallTests {
  private func client(
    _ answer: @escaping @Sendable (ScriptedDaemon.Call) -> (Int, String)
  ) async throws -> (client: DaemonClient, daemon: ScriptedDaemon, folder: ScriptedHome) {
    let folder = try ScriptedHome()
    let daemon = try ScriptedDaemon(answer: answer)
    try folder.write(daemon.control)
    return (try await DaemonClient.connect(to: folder.home), daemon, folder)
  }

  @Test("sends each call to its path, with the token and the message")
  func calls() async throws {
    let (client, daemon, _) = try await client { call in
      switch call.line {
      case "PATCH /v1/environments/e-1": (200, #"{"revision":2}"#)
      case "POST /v1/environments/e-1/clock": (200, #"{"now":"2018-10-08T09:00:00Z","revision":3,"woken":1}"#)
      case "GET /v1/environments/e-1/journal?after=4": (200, #"{"entries":[],"last":4,"more":false}"#)
      case "POST /v1/ports": (201, #"{"ports":[{"port":20000,"name":"debug"}]}"#)
      case "DELETE /v1/ports/20000": (204, "")
      case "DELETE /v1/environments/e-1?failed=true", "DELETE /v1/environments/e-2?expectRequests=true":
        (200, #"{"ok":true}"#)
      case "GET /v1/environments": (200, #"{"environments":[]}"#)
      default: (404, #"{"type":"about:blank","title":"Not found","status":404,"detail":"there is no \#(call.line)"}"#)
      }
    }
    var patch = EnvironmentPatch()
    patch.toggles = ["a": .null, "b": .int(1)]
    #expect(try await client.change("e-1", patch).revision == 2)
    var move = ClockMoveRequest()
    move.advance = 90
    #expect(try await client.moveClock("e-1", move).woken == 1)
    #expect(try await client.journal("e-1", after: 4).last == 4)
    #expect(try await client.leasePorts(PortsRequest(names: ["debug"], owner: Owner(pid: 7))).map(\.port) == [20000])
    try await client.releasePort(20000)
    #expect(try await client.environments().isEmpty)
    let report = try await client.end("e-1", hasSucceeded: false, as: [String: Bool].self)
    #expect(report == ["ok": true])
    #expect(try await client.end("e-2", expectsRequests: true, as: [String: Bool].self) == ["ok": true])
    #expect(daemon.calls.allSatisfy { $0.token == "Bearer t-1" })
    #expect(
      daemon.calls.map(\.body) == [
        #"{"toggles":{"a":null,"b":1}}"#, #"{"advance":90}"#, "", #"{"names":["debug"],"owner":{"pid":7}}"#, "", "", "",
        "",
      ])
    await daemon.stop()
  }

  @Test("uses the daemon's socket, and the port if the socket's path is too long")
  func socket() async throws {
    let folder = try ScriptedHome()
    for (socket, isOverSocket) in [("s", true), (String(repeating: "s", count: 100), false)] {
      let daemon = try ScriptedDaemon(socket: isOverSocket ? "\(folder.home.folder)/\(socket)" : "") { _ in
        (200, #"{"ports":[]}"#)
      }
      var control = daemon.control
      control.socket = "\(folder.home.folder)/\(socket)"
      try folder.write(control)
      #expect(try await DaemonClient.connect(to: folder.home).ports().isEmpty)
      #expect(daemon.calls.map(\.isOverSocket) == [isOverSocket])
      #expect(daemon.calls.map { "http://\($0.host)" } == [control.control])
      await daemon.stop()
    }
  }

  @Test("throws the daemon's message for a refused call")
  func refused() async throws {
    let (client, daemon, _) = try await client { call in
      (400, #"{"type":"about:blank","title":"Bad","status":400,"detail":"\#(call.line)","kind":"usage"}"#)
    }
    let error = await #expect(throws: DaemonClientError.self) { try await client.environment("../a?b c/é") }
    #expect(error?.kind == .refused(status: 400, problem: "usage"))
    // An id from the command line stays one path segment.
    #expect(error?.message == "GET /v1/environments/%2E%2E%2Fa%3Fb%20c%2F%C3%A9")
    await daemon.stop()
  }

  @Test("reports an answer that is not a daemon's")
  func foreign() async throws {
    let (client, daemon, _) = try await client { call in
      call.line.hasPrefix("GET /v1/ports") ? (500, "<html>") : (200, #"{"environments":7}"#)
    }
    let error = await #expect(throws: DaemonClientError.self) { try await client.ports() }
    #expect(error?.kind == .notUnderstood)
    #expect(error?.message.hasPrefix("GET /v1/ports returned status 500") == true)
    let other = await #expect(throws: DaemonClientError.self) { try await client.environments() }
    #expect(other?.message.contains("environments: it is a whole number, not an array") == true)
    await daemon.stop()
  }

  @Test("rejects a number that JSON can't represent without sending it")
  func infinite() async throws {
    let (client, daemon, _) = try await client { _ in (200, "{}") }
    var move = ClockMoveRequest()
    move.advance = .infinity
    let error = await #expect(throws: DaemonClientError.self) { try await client.moveClock("e", move) }
    #expect(error?.kind == .refused(status: 400, problem: "usage"))
    #expect(daemon.calls.isEmpty)
    await daemon.stop()
  }
}

/// A test's state folder with a daemon's control file, removed when deallocated.
final class ScriptedHome: Sendable {
  let home: DaemonHome

  init() throws {
    home = DaemonHome(folder: FileManager.default.temporaryDirectory.path + "/diorama-home-" + UUID().uuidString)
    try FileManager.default.createDirectory(
      atPath: home.folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
  }

  deinit { try? FileManager.default.removeItem(atPath: home.folder) }

  func write(_ control: ControlFile, mode: Int = 0o600) throws {
    try write(String(decoding: try JSON.encode(control), as: UTF8.self), mode: mode)
  }

  func write(_ text: String, mode: Int = 0o600) throws {
    try Data(text.utf8).write(to: URL(filePath: home.controlFile))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: home.controlFile)
  }

  /// A URL of 127.0.0.1 with nothing listening.
  static func deadURL() throws -> String {
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: nil)
    close(descriptor)
    return "http://127.0.0.1:\(port)"
  }
}

/// A daemon with scripted answers.
final class ScriptedDaemon: Sendable {
  /// A received call.
  struct Call: Sendable, Equatable {
    var line: String
    var host: String
    var isOverSocket: Bool
    var token: String
    var body: String
  }

  private struct Handler: RequestHandler {
    let calls: Guarded<[Call]>
    let greeted: @Sendable () -> Void
    let answer: @Sendable (Call) -> Response

    func respond(to request: Request) async throws -> Response {
      let call = Call(
        line: "\(request.method) \(request.target)", host: request.headers["Host"] ?? "",
        isOverSocket: request.peer != nil, token: request.headers["Authorization"] ?? "",
        body: String(decoding: try await request.body.collect(upTo: 1 << 20), as: UTF8.self))
      if call.line == "GET /v1/health" {
        greeted()
        return Self.json(200, #"{"status":"ok","version":"1","pid":1}"#)
      }
      calls.withLock { $0.append(call) }
      return answer(call)
    }

    static func json(_ status: Int, _ text: String) -> Response {
      Response(status: status, headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
    }
  }

  let control: ControlFile
  private let server: HTTPServer
  private let seen = Guarded<[Call]>([])

  /// Accepts calls with any token. `answer` returns the status and text for each.
  ///
  /// - Throws: the server's error.
  init(
    token: String = "t-1", socket: String = "",
    answer: @escaping @Sendable (Call) -> (Int, String) = { _ in (200, "{}") },
    greeted: @escaping @Sendable () -> Void = {}
  ) throws {
    server = try HTTPServer()
    let handler = Handler(calls: seen, greeted: greeted) { call in
      let (status, text) = answer(call)
      return Handler.json(status, text)
    }
    let port = try server.listen(handler: handler).port
    if !socket.isEmpty { try server.listen(onUnixSocket: socket, handler: handler) }
    control = ControlFile(
      control: "http://127.0.0.1:\(port)", socket: socket, token: Secret(token), pid: getpid())
  }

  var calls: [Call] { seen.withLock { $0 } }

  func stop() async { await server.stop(grace: .zero) }
}
