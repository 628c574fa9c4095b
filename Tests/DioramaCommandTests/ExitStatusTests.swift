import Foundation
import TestSupport
import Testing

@Suite("Exit status of diorama run", .timeLimit(.minutes(5)))
struct ExitStatusTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  private func run(_ command: String...) async throws -> Child.Outcome {
    let words = ["run", "--mode", "proxy", "--upstream", "api=http://127.0.0.1:1", "--allow-no-requests", "--"]
    return try await Diorama.run(words + command)
  }

  @Test("is the command's", arguments: [0, 1, 7, 64, 255])
  func own(status: Int32) async throws {
    #expect(try await run("sh", "-c", "exit \(status)").status == status)
  }

  @Test("is 128 plus the signal that killed the command", arguments: [("KILL", 137), ("TERM", 143), ("ABRT", 134)])
  func signal(name: String, status: Int32) async throws {
    #expect(try await run("sh", "-c", "ulimit -c 0; kill -\(name) $$").status == status)
  }

  @Test("is 3 if the command succeeded with an unmatched request, and the command's if it failed")
  func unmatched() async throws {
    let upstream = try Upstream()
    let cassette = folder.file("booking")
    let first = try await Diorama.run(
      ["run", "--mode", "record", "--cassette", cassette, "--upstream", "api=\(upstream.url)", "--"]
        + Program.get("/known"))
    #expect(first.status == 0, "\(first.words)")
    await upstream.stop()
    let replay = ["run", "--mode", "replay", "--cassette", cassette, "--"]
    let missed = try await Diorama.run(replay + Program.get("/unknown"))
    #expect(missed.status == 3)
    #expect(missed.text.hasPrefix("501 "))
    #expect(missed.words.contains("/unknown"))
    #expect(missed.words.contains("--mode extend"))
    let quiet = try await Diorama.run(replay.dropLast() + ["--quiet", "--"] + Program.get("/unknown"))
    let url = "\(upstream.url)/unknown"
    #expect(quiet.status == 3 && quiet.words == "diorama: replay failed: not recorded: GET \(url)\n", "\(quiet.words)")
    let failed = try await Diorama.run(
      replay + ["sh", "-c", "\"$@\"; exit 9", "sh"] + Program.get("/unknown"))
    #expect(failed.status == 9)
    #expect(try await Diorama.run(replay + Program.get("/known")).status == 0)
  }

  @Test("is 127 for a missing program", arguments: ["no-such-program", "./no-such-program", "/no/such/one"])
  func missing(program: String) async throws {
    expectOneLineOf(try await run(program), status: 127, naming: program)
  }

  @Test("is 126 for a file that can't be run")
  func notExecutable() async throws {
    try folder.write("#!/bin/sh\n", to: "plain")
    expectOneLineOf(try await run(folder.file("plain")), status: 126, naming: folder.file("plain"))
    expectOneLineOf(try await run(folder.path), status: 126, naming: folder.path)
    try folder.writeScript("neither text nor program\n", to: "odd")
    expectOneLineOf(try await run(folder.file("odd")), status: 126, naming: folder.file("odd"))
  }

  @Test("is 127 and 126 with a listening socket, too", arguments: [("no-such-program", 127), ("/", 126)])
  func listening(program: String, status: Int32) async throws {
    let outcome = try await Diorama.run("run", "--mode", "mock", "--listen", "web", "--", program)
    expectOneLineOf(outcome, status: status, naming: "'\(program)'")
  }

  @Test("is 127 for a mistyped command, which writes no cassette")
  func mistyped() async throws {
    let outcome = try await Diorama.run(
      "run", "--cassette", folder.file("booking"), "--upstream", "api=http://127.0.0.1:1", "--", "no-such-program")
    #expect(outcome.status == 127)
    #expect(folder.names == [])
    try folder.writeScript("#!/no/such/interpreter\n", to: "script")
    let script = try await Diorama.run(
      "run", "--cassette", folder.file("booking"), "--upstream", "api=http://127.0.0.1:1", "--", folder.file("script"))
    #expect(script.status == 127)
    #expect(script.words.contains("first line"), "\(script.words)")
    #expect(folder.names == ["script"])
  }

  @Test("is 66 for a missing cassette")
  func noCassette() async throws {
    let outcome = try await Diorama.run("run", "--mode", "replay", "--cassette", folder.file("booking"), "--", "true")
    expectOneLine(outcome, status: 66, naming: folder.file("booking.har"), "--mode record")
    #expect(folder.names == [])
  }

  @Test("is 73 if a folder can't be created; nothing is run")
  func cannotMakeFolder() async throws {
    try folder.write("", to: "file")
    let outcome = try await Diorama.run(
      "run", "--cassette", folder.file("file/booking"), "--upstream", "api=http://127.0.0.1:1", "--", "touch",
      folder.file("ran"))
    expectOneLine(outcome, status: 73, naming: folder.file("file/booking"))
    #expect(folder.names == ["file"])
  }

  @Test(
    "is 73 for a report or a journal in a missing folder; nothing is run", arguments: ["report", "journal"])
  func cannotWrite(option: String) async throws {
    let outcome = try await Diorama.run(
      "run", "--cassette", folder.file("booking"), "--upstream", "api=http://127.0.0.1:1",
      "--\(option)", folder.file("missing/file"), "--", "touch", folder.file("ran"))
    expectOneLine(outcome, status: 73, naming: folder.file("missing/file"), "; ")
    #expect(folder.names == [])
  }

  @Test("is the command's if it failed and the report can't be written afterwards")
  func reportGone() async throws {
    let place = folder.file("place")
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--report", "\(place)/report", "--", "sh", "-c", "rmdir '\(place)'; exit 5")
    #expect(outcome.status == 73)
    try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
    for status in [5, 0] {
      try? FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: false)
      let outcome = try await Diorama.run(
        "run", "--mode", "mock", "--report", "\(place)/report", "--", "sh", "-c", "rmdir '\(place)'; exit \(status)")
      #expect(outcome.status == (status == 0 ? 73 : 5))
      #expect(outcome.lines.count { $0.contains("\(place)/report") } == 1, "\(outcome.words)")
    }
  }

  /// Expects one error line, possibly followed by a report.
  private func expectOneLineOf(_ outcome: Child.Outcome, status: Int32, naming text: String) {
    #expect(outcome.status == status, "\(outcome.words)")
    let lines = outcome.lines.filter { $0.contains(text) }
    #expect(lines.count == 1, "\(outcome.words)")
    #expect(outcome.lines.first?.hasPrefix("diorama: ") == true, "\(outcome.words)")
    #expect(lines.first?.contains("; ") == true, "\(outcome.words)")
  }
}
