import ControlAPI
@testable import DaemonClient
import Foundation
import LaunchContract
import TestSupport
import Testing

@Suite("A daemon on demand")
struct StartingTests {
  private let folder: ScriptedHome

  init() throws {
    folder = try ScriptedHome()
  }

  /// A stand-in for the command, with these lines behind its first. It is written by another process: while a file of
  /// ours is open for writing in a child that another test is just starting, it could not be run (ETXTBSY).
  private func program(_ lines: String) async throws -> String {
    let path = folder.home.folder + "/diorama"
    let words = ["sh", "-c", #"printf %s "$1" >"$2"; chmod +x "$2""#, "sh", "#!/bin/sh\n\(lines)\n", path]
    _ = try await onThread {
      try Child(words.map { Array($0.utf8) }, environment: ["PATH": "/usr/bin:/bin"]).finish()
    }
    return path
  }

  @Test("is started once, however many ask for it at the same time")
  func once() async throws {
    let daemon = try ScriptedDaemon { _ in (200, #"{"ports":[]}"#) }
    let control = String(decoding: try ContractJSON.encode(daemon.control), as: UTF8.self)
    let ready = #"{"control":"c","socket":"","tokenFile":"t","pid":1}"#
    // Slow enough that all have asked before it is ready.
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

  @Test("is nobody's child, and holds no folder")
  func detached() async throws {
    let program = try await program(#"{ pwd; cut -d " " -f 4 "/proc/$$/stat"; } >"$4/seen""#)
    await #expect(throws: DaemonClientError.self) {
      try await DaemonStarter(home: folder.home, program: program).connect()
    }
    let seen = try String(contentsOfFile: folder.home.folder + "/seen", encoding: .utf8).split(separator: "\n")
    #expect(seen.first == "/")
    #expect(seen.last != "\(getpid())")
  }

  @Test("gets nothing that concerns the process alone that asks for it")
  func variables() {
    let variables = ["PATH=/bin", "DIORAMA_CONTRACT={}", "LISTEN_FDS=1", "https_proxy=p"].map { Array($0.utf8) }
    #expect(
      DaemonLaunch.variables(variables).map { String(decoding: $0, as: UTF8.self) } == ["PATH=/bin", "https_proxy=p"])
  }

  @Test("that does not start is an error with its last words")
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

  @Test("gets a folder that is its user's alone")
  func makesFolder() async throws {
    let program = try await program("exit 1")
    let home = DaemonHome(folder: folder.home.folder + "/a/b")
    await #expect(throws: DaemonClientError.self) { try await DaemonStarter(home: home, program: program).connect() }
    let mode = try FileManager.default.attributesOfItem(atPath: home.folder)[.posixPermissions] as? Int
    #expect(mode == 0o700)
  }
}
