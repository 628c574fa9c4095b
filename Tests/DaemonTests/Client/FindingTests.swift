import ControlAPI
import Foundation
import LaunchContract
import TestSupport
import Testing

@testable import DaemonClient

@Suite("Finding a daemon")
struct FindingTests {
  @Test("looks in DIORAMA_HOME, then in XDG_RUNTIME_DIR, then in the home folder")
  func folders() {
    func resolve(_ variables: [String: String]) -> String {
      StateFolderPath.resolve(variables: variables, home: "/home/ann", current: "/project")
    }
    #expect(
      DaemonHome.standard(variables: ["HOME": "/home/of/a/test"]).folder == "/home/of/a/test/.local/state/diorama")
    #expect(resolve(["DIORAMA_HOME": "/state/", "XDG_RUNTIME_DIR": "/run/user/1"]) == "/state")
    #expect(resolve(["DIORAMA_HOME": "state"]) == "/project/state")
    #expect(resolve(["DIORAMA_HOME": "", "XDG_RUNTIME_DIR": "/run/user/1"]) == "/run/user/1/diorama")
    #expect(resolve(["XDG_RUNTIME_DIR": "run"]) == "/home/ann/.local/state/diorama")
    #expect(resolve([:]) == "/home/ann/.local/state/diorama")
  }

  @Test("explains how to start a daemon if none is running")
  func nobody() async throws {
    let home = try ScriptedHome().home
    let error = await #expect(throws: DaemonClientError.self) { try await DaemonClient.connect(to: home) }
    #expect(error?.kind == .noDaemon)
    #expect(
      error?.message
        == "no daemon runs for \(home.folder), so there are no environments or leased ports; start the daemon with: "
        + "diorama serve --state \(home.folder)")
  }

  @Test("reports a daemon whose process is gone")
  func dead() async throws {
    let folder = try ScriptedHome()
    let child = try Child(["true"].map { Array($0.utf8) }, environment: ["PATH": "/usr/bin:/bin"])
    _ = try await onThread { child.finish() }
    try folder.write(
      ControlFile(control: try ScriptedHome.deadURL(), socket: "", token: Secret("t"), pid: child.pid))
    let error = await #expect(throws: DaemonClientError.self) { try await DaemonClient.connect(to: folder.home) }
    #expect(error?.kind == .dead)
    #expect(error?.message.contains("(process \(child.pid)) exited unexpectedly") == true)
    #expect(error?.message.contains("diorama serve --state \(folder.home.folder)") == true)
  }

  @Test("reports a suspended daemon at once")
  func suspended() async throws {
    let folder = try ScriptedHome()
    // Accepts connections and never answers.
    let (descriptor, port) = try ScriptedUpstream.listen(backlog: 8)
    defer { close(descriptor) }
    let child = try Child(["sleep", "1000"].map { Array($0.utf8) }, environment: ["PATH": "/usr/bin:/bin"])
    kill(child.pid, SIGSTOP)
    try folder.write(
      ControlFile(control: "http://127.0.0.1:\(port)", socket: "", token: Secret("t"), pid: child.pid))
    let start = ContinuousClock.now
    let error = await #expect(throws: DaemonClientError.self) { try await DaemonClient.connect(to: folder.home) }
    #expect(error?.kind == .suspended)
    #expect(error?.message.hasSuffix("is suspended; resume it with: kill -CONT \(child.pid)") == true)
    #expect(ContinuousClock.now - start < DaemonClient.patience)
  }

  @Test("refuses a control file that other users can write")
  func untrusted() async throws {
    let folder = try ScriptedHome()
    let daemon = try ScriptedDaemon()
    try folder.write(daemon.control, mode: 0o622)
    let error = await #expect(throws: DaemonClientError.self) { try await DaemonClient.connect(to: folder.home) }
    #expect(error?.kind == .unusable)
    #expect(error?.message.contains("is writable by others") == true)
    try folder.write("{", mode: 0o600)
    let broken = await #expect(throws: DaemonClientError.self) { try await DaemonClient.connect(to: folder.home) }
    #expect(broken?.kind == .unusable)
    #expect(broken?.message.contains("cannot parse") == true)
    await daemon.stop()
  }

  @Test("follows a socket-activated daemon")
  func activated() async throws {
    let folder = try ScriptedHome()
    let behind = try ScriptedDaemon { _ in (200, #"{"ports":[]}"#) }
    let waiting = try ScriptedDaemon(
      socket: folder.home.folder + "/control.sock", greeted: { try? folder.write(behind.control) })
    #expect(try await DaemonClient.connect(to: folder.home).ports().isEmpty)
    #expect(behind.calls.count == 1)
    await waiting.stop()
    await behind.stop()
  }

  @Test("finds a restarted daemon")
  func renewed() async throws {
    let folder = try ScriptedHome()
    let first = try ScriptedDaemon { _ in (200, #"{"ports":[]}"#) }
    try folder.write(first.control)
    let client = try await DaemonClient.connect(to: folder.home)
    #expect(try await client.ports().isEmpty)
    await first.stop()
    let lost = await #expect(throws: DaemonClientError.self) { try await client.ports() }
    #expect(lost?.kind == .dead)
    let second = try ScriptedDaemon(token: "t-2") { call in
      call.token == "Bearer t-2" ? (200, #"{"ports":[{"port":20000}]}"#) : (401, #"{"detail":"no"}"#)
    }
    try folder.write(second.control)
    #expect(try await client.ports().map(\.port) == [20000])
    await second.stop()
  }

  @Test(
    "reads the process state from /proc",
    arguments: [
      ("7 (sleep) S 1 7", ProcessState.running), ("7 (a) T (b) T 1", .stopped), ("7 (x) t 1", .stopped),
      ("7 (x) Z 1", .gone), ("", .gone),
    ])
  func state(_ line: String, _ state: ProcessState) { #expect(ProcessState(statLine: line) == state) }
}
