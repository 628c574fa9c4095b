import Foundation
import TestSupport
import Testing

@Suite("The rules of diorama run", .timeLimit(.minutes(5)))
struct RuleTests {
  private let folder: Folder
  private let upstream: Upstream

  init() throws {
    folder = try Folder()
    upstream = try Upstream()
  }

  private func run(_ mode: String, _ paths: String..., options: [String] = []) async throws -> Child.Outcome {
    let command = Program.get("/x").dropLast() + paths
    return try await Diorama.run(
      ["run", "--cassette", folder.file("booking"), "--mode", mode, "--upstream", "api=\(upstream.url)"] + options + [
        "--"
      ]
        + command)
  }

  @Test("matching rules come from the project file, which the suggested recording command names")
  func rules() async throws {
    #expect(try await run("record", "/a?t=1").status == 0)
    try folder.write(#"{"matching": {"rules": [{"ignore": {"query": ["t"]}}]}}"#, to: "some.json")
    let file = folder.file("some.json")
    let same = try await run("replay", "/a?t=2", options: ["--config", file])
    #expect(same.status == 0, "\(same.words)")
    #expect(same.text == "200 /a?t=1 1\n")
    let other = try await run("replay", "/b", options: ["--config", file, "--order", "state"])
    #expect(other.status == 3)
    #expect(other.words.contains("--config \(file) --order state -- "), "\(other.words)")
    // Nothing can be recorded between requests in strict order.
    let strict = try await run("replay", "/b", options: ["--config", file, "--order", "strict"])
    #expect(strict.words.contains("expected next, in strict order"))
    #expect(strict.words.contains("compared by rule 1 of some.json: ignores query item t"))
    #expect(!strict.words.contains("--mode extend"), "\(strict.words)")
  }

  @Test("cassette check checks the project file, and export reports that it omits matching rules")
  func check() async throws {
    #expect(try await run("record", "/a").status == 0)
    let booking = folder.file("booking")
    let file = folder.file("some.json")
    let ok = "\(booking).har: ok, 1 interaction, 0 strings\n"
    #expect(try await Diorama.run("cassette", "check", booking).text == ok)
    try folder.write(
      #"{"matching": {"rules": [{"changesState": true}]}, "dates": {"jwt": [{"key": "env:DIORAMA_NO_SUCH"}]}}"#,
      to: "some.json")
    #expect(try await Diorama.run("cassette", "check", "--config", file, booking).text == ok)
    let export = try await Diorama.run(
      "cassette", "export", booking, "--config", file, "--as", "har", "--to", folder.file("out.har"))
    #expect(export.words.contains("not carried over: the matching rules in \(file)"), "\(export.words)")
    for (text, naming) in [
      (#"{"matching": {"order": "strikt"}}"#, "matching.order: 'strikt' is not valid; did you mean 'strict'?"),
      (#"{"redaction": {"querry": ["token"]}}"#, "redaction.querry: unknown member; did you mean 'query'?"),
      (#"{"dates": {"dats": []}}"#, "dates.dats: unknown member; did you mean 'dates'?"),
    ] {
      try folder.write(text, to: "some.json")
      expectOneLine(
        try await Diorama.run("cassette", "check", "--config", file, booking), status: 65, naming: "\(file): \(naming)")
    }
  }

  @Test("a rules file beside the cassette is an error that says where its content belongs")
  func sideFile() async throws {
    #expect(try await run("record", "/a").status == 0)
    try folder.write("{}", to: "redact.json")
    let naming = #"redact.json is no longer read; move its content to diorama.json, as {"redaction": …}, and delete it"#
    expectOneLine(try await run("replay", "/a"), status: 65, naming: naming)
    expectOneLine(
      try await Diorama.run("cassette", "check", folder.file("booking")), status: 65, naming: naming)
  }

  @Test("extend refuses --shift-dates, and ignores the places of dates in the project file")
  func shiftInExtend() async throws {
    #expect(try await run("record", "/a").status == 0)
    try folder.write(#"{"dates": {"dates": ["$.day"]}}"#, to: "some.json")
    #expect(try await run("extend", "/a", options: ["--config", folder.file("some.json")]).status == 0)
    expectOneLine(
      try await run("extend", "/a", options: ["--shift-dates"]), status: 64,
      naming: "--shift-dates moves dates in replay only")
  }
}

@Suite("Redaction of diorama run", .timeLimit(.minutes(5)))
struct RedactionTests {
  @Test("redacts values named in the project file, and replays with other values")
  func rules() async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    try folder.write(#"{"redaction": {"query": ["token"]}}"#, to: "mine.json", mode: 0o600)
    let arguments = ["run", "--cassette", folder.file("booking"), "--config", folder.file("mine.json")]
    let recorded = try await Diorama.run(
      arguments + ["--upstream", "api=\(upstream.url)", "--"] + Program.get("/a?token=canary"))
    #expect(recorded.status == 0, "\(recorded.words)")
    await upstream.stop()
    let har = try folder.read("booking.har")
    #expect(!har.contains("token=canary") && har.contains("token=%3Credacted%3E"))
    let replayed = try await Diorama.run(arguments + ["--mode", "replay", "--"] + Program.get("/a?token=another"))
    #expect(replayed.status == 0, "\(replayed.words)")
    // The suggested command must include the option, or it would record the secret.
    let missed = try await Diorama.run(arguments + ["--mode", "replay", "--"] + Program.get("/b?token=another"))
    #expect(missed.words.contains("--mode extend"), "\(missed.words)")
    #expect(missed.words.contains(" --config \(folder.file("mine.json")) "), "\(missed.words)")
  }

  @Test(
    "refuses invalid rules with their location",
    arguments: [
      (#"{"redaction": {"header": ["a"]}}"#, 65, "redaction.header: unknown member; did you mean 'headers'?"),
      (#"{"redaction": {"json": ["user"]}}"#, 65, "redaction.json[0]: 'user' is not a valid JSON path"),
      ("{", 65, "not JSON"), (nil, 66, "No such file"),
    ] as [(String?, Int32, String)])
  func refused(text: String?, status: Int32, problem: String) async throws {
    let folder = try Folder()
    if let text { try folder.write(text, to: "mine.json", mode: 0o600) }
    let outcome = try await Diorama.run(
      ["run", "--mode", "mock", "--config", folder.file("mine.json"), "--", "touch", folder.file("ran")])
    expectOneLine(outcome, status: status, naming: folder.file("mine.json"))
    #expect(outcome.words.contains(problem), "\(outcome.words)")
    #expect(!folder.names.contains("ran"))
  }
}
