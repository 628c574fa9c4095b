import Foundation
import TestSupport
import Testing

@Suite("Old recordings and unused interactions on the command line", .timeLimit(.minutes(5)))
struct PolicyTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  /// Runs a program that asks for paths.
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
    return try await Diorama.run(["run", "--cassette", folder.file("tape")] + options + ["--"] + command + paths)
  }

  private func record(_ paths: String...) async throws {
    let upstream = try Upstream()
    let outcome = try await run(
      ["--mode", "record", "--upstream", "api=\(upstream.url)", "--start", "2018-10-08T09:00:00Z"], paths)
    await upstream.stop()
    try #require(outcome.status == 0, "\(outcome.words)")
  }

  @Test("an expired recording is not replayed: 65, with its age and how to record it anew")
  func expired() async throws {
    try await record("/a")
    let failed = try await run(["--mode", "replay", "--expires-after", "30"], ["/a"])
    #expect(failed.status == 65)
    #expect(
      failed.words.contains(
        "days ago (2018-10-08) and expires after 30 days; record it anew: diorama run --mode record"))
    let warned = try await run(["--mode", "replay", "--expires-after", "30", "--expired", "warn"], ["/a"])
    #expect(warned.status == 0)
    #expect(warned.words.contains("(2018-10-08) and expires after 30 days"))
  }

  @Test("unused interactions fail a run where that is asked for, and prune takes out what no report has used")
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
      "cassette", "prune", folder.file("tape"), "--report", folder.file("one"), "--report", folder.file("two"),
    ]
    let dry = try await Diorama.run(prune + ["--dry-run"])
    #expect(dry.status == 0)
    #expect(dry.text.hasPrefix("would remove: interaction 1, GET "))
    let pruned = try await Diorama.run(prune)
    #expect(pruned.text.hasSuffix("tape.har: removed 1 interaction, 2 left\n"), "\(pruned.words)")
    #expect(try await run(["--mode", "replay", "--unused", "fail"], ["/a", "/c"]).status == 0)
    // The reports are of the cassette as it was.
    let again = try await Diorama.run(prune)
    #expect(again.status == 65)
    #expect(again.words.contains("is of another recording than"))
  }

  @Test(
    "what makes no sense is refused with what would",
    arguments: [
      (["--expires-after", "soon"], "--expires-after takes a number, not 'soon'"),
      (["--expires-after", "0"], "--expires-after: 0.0 is not from 0.01 to 36525.0"),
      (["--expired", "warn"], "policies.expired: nothing expires without policies.expiresAfterDays"),
      (["--unused", "ignore"], "--unused: 'ignore' is not valid; choose from warn, fail"),
    ])
  func refused(options: [String], problem: String) async throws {
    let outcome = try await run(options, [])
    #expect(outcome.status == 64)
    #expect(outcome.words.contains(problem), "\(outcome.words)")
  }

  @Test("prune needs reports, and each must be one")
  func noReport() async throws {
    try await record("/a")
    let none = try await Diorama.run("cassette", "prune", folder.file("tape"))
    #expect(none.status == 64)
    let broken = try await Diorama.run("cassette", "prune", folder.file("tape"), "--report", folder.file("tape.har"))
    #expect(broken.status == 65)
    #expect(broken.words.contains("is no report"))
    let missing = try await Diorama.run("cassette", "prune", folder.file("tape"), "--report", folder.file("none"))
    #expect(missing.status == 66)
  }
}
