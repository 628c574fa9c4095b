import Basics
import ChildProcesses
import ControlAPI
import Foundation
import LaunchContract
import TestSupport
import Testing

@testable import DaemonClient

@Suite("Starting a daemon on demand")
struct StartingTests {
  private let folder: ScriptedHome

  init() throws {
    folder = try ScriptedHome()
  }

  /// A shell script in place of the command. Another process writes it, since a child that a concurrent test is forking
  /// could hold our descriptor, which would make exec fail (ETXTBSY).
  private func program(_ lines: String) async throws -> String {
    let path = folder.home.folder + "/diorama"
    let words = ["sh", "-c", #"printf %s "$1" >"$2"; chmod +x "$2""#, "sh", "#!/bin/sh\n\(lines)\n", path]
    _ = try await onThread {
      try Child(words.map { Array($0.utf8) }, environment: ["PATH": "/usr/bin:/bin"]).finish()
    }
    return path
  }

  @Test("starts one daemon for concurrent callers")
  func once() async throws {
    let daemon = try ScriptedDaemon { _ in (200, #"{"ports":[]}"#) }
    let control = String(decoding: try JSON.encode(daemon.control), as: UTF8.self)
    let ready = #"{"control":"c","socket":"","tokenFile":"t","pid":1}"#
    // Slow enough that all callers ask before it is ready.
    let program = try await program(
      """
      echo "$*" >>"$4/starts"
      sleep 0.2
      (umask 077; printf %s '\(control)' >"$4/new" && mv "$4/new" "$4/control.json")
      echo '\(ready)'
      """)
    let starter = DaemonStarter(home: folder.home, program: program)
    try await withThrowingTaskGroup(of: Bool.self) { group in
      for _ in 0..<8 { group.addTask { try await starter.connect().ports().isEmpty } }
      for try await isEmpty in group { #expect(isEmpty) }
    }
    let starts = try String(contentsOfFile: folder.home.folder + "/starts", encoding: .utf8)
    #expect(starts == "serve --on-demand --state \(folder.home.folder)\n")
    await daemon.stop()
  }

  @Test("detaches the daemon from its parent and folder")
  func detached() async throws {
    let program = try await program(#"{ pwd; cut -d " " -f 4 "/proc/$$/stat"; } >"$4/seen""#)
    await #expect(throws: DaemonClientError.self) {
      try await DaemonStarter(home: folder.home, program: program).connect()
    }
    let seen = try String(contentsOfFile: folder.home.folder + "/seen", encoding: .utf8).split(separator: "\n")
    #expect(seen.first == "/")
    #expect(seen.last != "\(getpid())")
  }

  @Test("doesn't pass on variables of the caller's environment and sockets")
  func variables() {
    let variables = ["PATH=/bin", "DIORAMA_CONTRACT={}", "LISTEN_FDS=1", "https_proxy=p"].map { Array($0.utf8) }
    #expect(
      DaemonLaunch.variables(variables).map { String(decoding: $0, as: UTF8.self) } == ["PATH=/bin", "https_proxy=p"])
  }

  @Test("reports the last line of a daemon that fails to start")
  func failing() async throws {
    let program = try await program("echo first >&2; echo 'diorama: no port is left' >&2; exit 1")
    let error = await #expect(throws: DaemonClientError.self) {
      try await DaemonStarter(home: folder.home, program: program).connect()
    }
    #expect(error?.kind == .notStarted)
    #expect(error?.message == "cannot start a daemon for \(folder.home.folder): no port is left")
    let missing = await #expect(throws: DaemonClientError.self) {
      try await DaemonStarter(home: folder.home, program: "/nowhere/diorama").connect()
    }
    #expect(missing?.message.contains("cannot run '/nowhere/diorama'") == true)
  }

  @Test("creates a private state folder")
  func makesFolder() async throws {
    let program = try await program("exit 1")
    let home = DaemonHome(folder: folder.home.folder + "/a/b")
    await #expect(throws: DaemonClientError.self) { try await DaemonStarter(home: home, program: program).connect() }
    let mode = try FileManager.default.attributesOfItem(atPath: home.folder)[.posixPermissions] as? Int
    #expect(mode == 0o700)
  }
}

@Suite("Start lock", .timeLimit(.minutes(2)))
struct StartLockTests {
  private let folder: ScriptedHome

  init() throws {
    folder = try ScriptedHome()
  }

  @Test("passes to the next caller when released")
  func next() async throws {
    let home = folder.home
    var first: StartLock? = try StartLock(home, patience: .seconds(60))
    let second = Task { try await onThread { try StartLock(home, patience: .seconds(60)) } }
    _ = first
    first = nil
    withExtendedLifetime(try await second.value) {}
  }

  @Test("times out, and a caller that timed out doesn't acquire it later")
  func impatient() async throws {
    let home = folder.home
    var first: StartLock? = try StartLock(home, patience: .seconds(60))
    let error = await #expect(throws: DaemonClientError.self) {
      _ = try await onThread { try StartLock(home, patience: .milliseconds(10)) }
    }
    #expect(error?.message.contains("another program has been starting the daemon") == true)
    _ = first
    first = nil
    withExtendedLifetime(try await onThread { try StartLock(home, patience: .seconds(60)) }) {}
  }
}

@Suite("Waiting for another process", .timeLimit(.minutes(2)))
struct ProcessEndTests {
  @Test("waits for the end of a process")
  func ends() async throws {
    let child = try await onThread {
      try Child([Array("/bin/sleep".utf8), Array("1000".utf8)], environment: [:])
    }
    let end = ProcessEnd(of: child.pid)
    #expect(try await onThread { !end.wait(for: .milliseconds(1)) })
    child.send(SIGKILL)
    #expect(try await onThread { end.wait(for: .seconds(60)) })
    _ = try await onThread { child.waitForEnd() }
    // Also for a process that has been reaped.
    #expect(try await onThread { ProcessEnd(of: child.pid).wait(for: .seconds(60)) })
  }
}
