import ControlAPI
import DaemonClient
import EnvironmentConfiguration
import Foundation
import LaunchContract
import Testing

@Suite("A call to a daemon")
struct CallTests {
  private func client(
    _ answer: @escaping @Sendable (ScriptedDaemon.Call) -> (Int, String)
  ) async throws -> (client: DaemonClient, daemon: ScriptedDaemon, folder: ScriptedHome) {
    let folder = try ScriptedHome()
    let daemon = try ScriptedDaemon(answer: answer)
    try folder.write(daemon.control)
    return (try await DaemonClient.connect(to: folder.home), daemon, folder)
  }

  @Test("goes to its path, with the token and its message")
  func calls() async throws {
    let (client, daemon, _) = try await client { call in
      switch call.line {
      case "PATCH /v1/environments/e-1": (200, #"{"revision":2}"#)
      case "POST /v1/environments/e-1/clock": (200, #"{"now":"2018-10-08T09:00:00Z","revision":3,"woken":1}"#)
      case "GET /v1/environments/e-1/journal?after=4": (200, #"{"entries":[],"last":4,"more":false}"#)
      case "POST /v1/ports": (201, #"{"ports":[{"port":20000,"name":"debug"}]}"#)
      case "DELETE /v1/ports/20000": (204, "")
      case "DELETE /v1/environments/e-1?keepEmptyRecording=false": (200, #"{"ok":true}"#)
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
    let report = try await client.end("e-1", keepingEmptyRecording: false, as: [String: Bool].self)
    #expect(report == ["ok": true])
    #expect(daemon.calls.allSatisfy { $0.token == "Bearer t-1" })
    #expect(
      daemon.calls.map(\.body) == [
        #"{"toggles":{"a":null,"b":1}}"#, #"{"advance":90}"#, "", #"{"names":["debug"],"owner":{"pid":7}}"#, "", "", "",
      ])
    await daemon.stop()
  }

  @Test("goes through the daemon's socket, by the name of its port; through the port where the path is too long")
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

  @Test("that is refused is an error in the daemon's own words")
  func refused() async throws {
    let (client, daemon, _) = try await client { call in
      (400, #"{"type":"about:blank","title":"Bad","status":400,"detail":"\#(call.line)","kind":"usage"}"#)
    }
    let error = await #expect(throws: DaemonClientError.self) { try await client.environment("../a?b c/é") }
    #expect(error?.kind == .refused(status: 400, problem: "usage"))
    // And what a person types stays one segment of the path.
    #expect(error?.message == "GET /v1/environments/%2E%2E%2Fa%3Fb%20c%2F%C3%A9")
    await daemon.stop()
  }

  @Test("that is answered by something else says so")
  func foreign() async throws {
    let (client, daemon, _) = try await client { call in
      call.line.hasPrefix("GET /v1/ports") ? (500, "<html>") : (200, #"{"environments":7}"#)
    }
    let error = await #expect(throws: DaemonClientError.self) { try await client.ports() }
    #expect(error?.kind == .notUnderstood)
    #expect(error?.message.hasPrefix("GET /v1/ports was answered with status 500") == true)
    let other = await #expect(throws: DaemonClientError.self) { try await client.environments() }
    #expect(other?.message.contains("environments: it is a whole number, not an array") == true)
    await daemon.stop()
  }

  @Test("with a number that JSON cannot say is not made")
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
