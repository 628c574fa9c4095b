import Foundation
import TestSupport
import Testing

@Suite("Policies of diorama run", .timeLimit(.minutes(5)))
struct PolicyTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  /// Runs a program that requests these paths.
  private func run(_ options: [String], _ paths: [String]) async throws -> Child.Outcome {
    let command =
      Program.python + [
        "-c",
        """
        import http.client, os, sys
        connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1])
        for path in sys.argv[1:]:
            connection.request("GET", path)
            connection.getresponse().read()
        """,
      ]
    return try await Diorama.run(["run", "--cassette", folder.file("booking")] + options + ["--"] + command + paths)
  }

  private func record(_ paths: String...) async throws {
    let upstream = try Upstream()
    let outcome = try await run(
      ["--mode", "record", "--upstream", "api=\(upstream.url)", "--start", "2018-10-08T09:00:00Z"], paths)
    await upstream.stop()
    try #require(outcome.status == 0, "\(outcome.words)")
  }

  @Test("an expired recording exits with 65, its age, and how to re-record it")
  func expired() async throws {
    try await record("/a")
    let failed = try await run(["--mode", "replay", "--expires-after", "30"], ["/a"])
    #expect(failed.status == 65)
    #expect(
      failed.words.contains(
        "days ago (2018-10-08) and expires after 30 days; re-record it: diorama run --mode record"))
    let warned = try await run(["--mode", "replay", "--expires-after", "30", "--expired", "warn"], ["/a"])
    #expect(warned.status == 0)
    #expect(warned.words.contains("(2018-10-08) and expires after 30 days"))
  }

  @Test("--unused fail fails a run with unused interactions, and prune removes them")
  func unused() async throws {
    try await record("/a", "/b", "/c")
    let failed = try await run(["--mode", "replay", "--unused", "fail"], ["/a"])
    #expect(failed.status != 0)
    #expect(failed.words.contains("2 interactions of the cassette unused"))
    for (name, path) in [("one", "/a"), ("two", "/c")] {
      let outcome = try await run(["--mode", "replay", "--report", folder.file(name)], [path])
      #expect(outcome.status == 0)
    }
    let prune = [
      "cassette", "prune", folder.file("booking"), "--report", folder.file("one"), "--report", folder.file("two"),
    ]
    let dry = try await Diorama.run(prune + ["--dry-run"])
    #expect(dry.status == 0)
    #expect(dry.text.hasPrefix("would remove: interaction 1, GET "))
    let pruned = try await Diorama.run(prune)
    let previous = folder.file("booking.previous")
    #expect(
      pruned.text.hasSuffix("booking.har: removed 1 interaction, 2 left\nprevious cassette: \(previous).har\n"),
      "\(pruned.text)")
    #expect(try await Diorama.run("cassette", "show", previous).text.contains("/b"))
    #expect(try await run(["--mode", "replay", "--unused", "fail"], ["/a", "/c"]).status == 0)
    // The reports describe the cassette before it was pruned.
    let again = try await Diorama.run(prune)
    #expect(again.status == 65)
    #expect(again.words.contains("is for an earlier recording of"))
  }

  @Test("check, show and prune take a folder for all cassettes in it")
  func folders() async throws {
    try await record("/a", "/b")
    try FileManager.default.createDirectory(atPath: folder.file("sub"), withIntermediateDirectories: false)
    for name in ["booking.previous.har", "sub/other.har"] {
      try FileManager.default.copyItem(atPath: folder.file("booking.har"), toPath: folder.file(name))
    }
    let checked = try await Diorama.run("cassette", "check", folder.path)
    #expect(checked.status == 0, "\(checked.words)")
    let interactions = ": ok, 2 interactions, 0 strings\n"
    #expect(checked.text == folder.file("booking.har") + interactions + folder.file("sub/other.har") + interactions)
    let shown = try await Diorama.run("cassette", "show", folder.path + "/")
    #expect(shown.text.contains("booking.har: 2 interactions") && shown.text.contains("other.har: 2 interactions"))
    _ = try await run(["--mode", "replay", "--report", folder.file("report")], ["/a"])
    let prune = ["cassette", "prune", folder.path, "--report", folder.file("report"), "--json"]
    let pruned = try await Diorama.run(prune)
    #expect(pruned.status == 0, "\(pruned.words)")
    let previous = folder.file("booking.previous-2.har")
    #expect(pruned.text.contains("\"previous\" : \"\(previous)\"") && !pruned.text.contains("other"), "\(pruned.text)")
    #expect(folder.has("booking.previous-2.har"))
    let elsewhere = try await Diorama.run("cassette", "prune", folder.file("sub"), "--report", folder.file("report"))
    expectOneLine(elsewhere, status: 65, naming: "is for \(folder.file("booking.har"))")
  }

  @Test(
    "invalid values are refused with an example",
    arguments: [
      (["--expires-after", "soon"], "--expires-after takes a number, not 'soon'"),
      (["--expires-after", "0"], "--expires-after: 0 is not between 0.01 and 36525"),
      (["--expired", "warn"], "--expired: nothing expires without --expires-after"),
      (["--unused", "ignore"], "--unused: 'ignore' is not valid; choose from warn or fail"),
    ])
  func refused(options: [String], problem: String) async throws {
    let outcome = try await run(options, [])
    #expect(outcome.status == 64)
    #expect(outcome.words.contains(problem), "\(outcome.words)")
  }

  @Test("prune refuses missing and invalid reports")
  func noReport() async throws {
    try await record("/a")
    let none = try await Diorama.run("cassette", "prune", folder.file("booking"))
    #expect(none.status == 64)
    let broken = try await Diorama.run(
      "cassette", "prune", folder.file("booking"), "--report", folder.file("booking.har"))
    #expect(broken.status == 65)
    #expect(broken.words.contains("is not a report"))
    let missing = try await Diorama.run("cassette", "prune", folder.file("booking"), "--report", folder.file("none"))
    #expect(missing.status == 66)
  }
}
