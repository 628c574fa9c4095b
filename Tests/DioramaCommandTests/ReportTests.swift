import Foundation
import TestSupport
import Testing

@Suite("Report and journal of diorama run", .timeLimit(.minutes(5)))
struct ReportTests {
  @Test("have the documented members")
  func members() async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    let options = [
      "--cassette", folder.file("booking"), "--report", folder.file("report"), "--journal", folder.file("journal"),
    ]
    let recorded = try await Diorama.run(
      ["run", "--mode", "record", "--upstream", "api=\(upstream.url)"] + options + ["--"] + Program.get("/a", "/b"))
    #expect(recorded.status == 0, "\(recorded.words)")
    await upstream.stop()
    let first = try folder.json("report")
    #expect(first["requests"] as? [String: Int] == counts(recorded: 2))
    #expect(first["mode"] as? String == "record")
    #expect(first["ok"] as? Bool == true)
    let recording = first["recording"] as? [String: Any]
    #expect(recording?["outcome"] as? String == "written")
    #expect(recording?["interactions"] as? Int == 2)

    let replayed = try await Diorama.run(
      ["run", "--mode", "replay", "--toggle", "skip=true"] + options + ["--"] + Program.get("/b", "/c?x=1"))
    #expect(replayed.status == 3)
    let report = try folder.json("report")
    #expect(
      Set(report.keys) == [
        "environment", "mode", "cassette", "recordedAt", "clock", "requests", "unmatched", "unused", "strings",
        "toggles", "durationSeconds", "ok", "failures", "advice", "interactions", "ended", "commandStatus", "variables",
      ])
    let advice = try #require(report["advice"] as? String)
    #expect(advice.hasPrefix("diorama run --mode extend --cassette") && advice.contains(" --toggle skip=true "))
    #expect(!advice.contains("--report") && !advice.contains("--mode replay"))
    #expect(Set((report["environment"] as? [String: Any] ?? [:]).keys) == ["id", "name"])
    #expect(Set((report["clock"] as? [String: Any] ?? [:]).keys) == ["kind", "start", "now"])
    #expect(report["requests"] as? [String: Int] == counts(replayed: 1, unmatched: 1))
    #expect(report["cassette"] as? String == folder.file("booking.har"))
    #expect(report["recordedAt"] as? String == (report["clock"] as? [String: Any])?["start"] as? String)
    #expect(report["ok"] as? Bool == false)
    #expect(report["durationSeconds"] is Double)
    let unmatched = try #require((report["unmatched"] as? [[String: Any]])?.first)
    #expect(Set(unmatched.keys) == ["method", "url", "nearest", "fix"])
    let fix = try #require(unmatched["fix"] as? [String: Any])
    #expect(fix["isRecordable"] as? Bool == true && fix["rule"] == nil)
    #expect(unmatched["method"] as? String == "GET")
    #expect((unmatched["url"] as? String)?.hasSuffix("/c?x=1") == true)
    let unused = try #require((report["unused"] as? [[String: Any]])?.first)
    #expect(Set(unused.keys) == ["method", "url", "index"])
    #expect(unused["index"] as? Int == 0)
    #expect(Set((report["strings"] as? [String: Any] ?? [:]).keys) == ["read", "recorded", "missing", "unused"])
    let toggles = try #require(report["toggles"] as? [String: Any])
    #expect(toggles["unread"] as? [String] == ["skip"])
    #expect((toggles["read"] as? [String: Any])?.isEmpty == true)

    let lines = try folder.read("journal").split(separator: "\n").map { try object(String($0)) }
    #expect(lines.compactMap { $0["kind"] as? String } == ["replayed", "unmatched"])
    #expect(lines.compactMap { $0["number"] as? Int } == [1, 2])
    #expect(lines.compactMap { $0["status"] as? Int } == [200, 501])
    #expect(lines.allSatisfy { $0["method"] as? String == "GET" && $0["time"] is String && $0["url"] is String })
  }

  @Test("a report may be written to a pipe, and replaces an older file")
  func places() async throws {
    let folder = try Folder()
    try folder.write(String(repeating: "old ", count: 10_000), to: "report")
    #expect(
      try await Diorama.run("run", "--mode", "mock", "--report", folder.file("report"), "--", "true").status == 0)
    #expect(try folder.json("report")["ok"] as? Bool == true)
    let piped = try await onThread {
      let words = try Diorama.words(["run", "--mode", "mock", "--report", "/dev/fd/1", "--", "true"])
      return try Child(
        ["sh", "-c", "\"$@\" | cat", "sh"].map { Array($0.utf8) } + words, environment: Diorama.environment()
      ).finish()
    }
    #expect(try object(piped.text)["ok"] as? Bool == true, "\(piped.words)")
  }

  @Test("a report is written to a named pipe, and fails at once if the pipe has no reader")
  func namedPipe() async throws {
    let folder = try Folder()
    let pipe = folder.file("pipe")
    #expect(mkfifo(pipe, 0o600) == 0)
    let words = ["run", "--mode", "mock", "--report", pipe, "--", "true"]
    let alone = try await Diorama.run(words)
    #expect(alone.status == 73 && alone.words.contains("the pipe has no reader"), "\(alone.words)")
    let read = try await onThread {
      // Opened for reading and writing, the pipe has a reader before either process starts.
      let command = #"exec 3<>"$1"; shift; "$@" >&2 && head -c 10 <&3"#
      return try Child(
        ["sh", "-c", command, "sh", pipe].map { Array($0.utf8) } + Diorama.words(words),
        environment: Diorama.environment()
      ).finish()
    }
    #expect(read.text.hasPrefix("{\n"), "\(read.words)")
  }

  private func counts(replayed: Int = 0, recorded: Int = 0, unmatched: Int = 0) -> [String: Int] {
    [
      "total": replayed + recorded + unmatched, "replayed": replayed, "recorded": recorded, "forwarded": 0,
      "mocked": 0, "unmatched": unmatched, "failed": 0,
    ]
  }
}
