import Foundation
import TestSupport
import Testing

@Suite("Rule files of diorama run", .timeLimit(.minutes(5)))
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

  @Test("--rules names a file, and is part of the suggested recording command")
  func rules() async throws {
    #expect(try await run("record", "/a?t=1").status == 0)
    try folder.write(#"{"rules": [{"ignore": {"query": ["t"]}}]}"#, to: "some.json")
    let file = folder.file("some.json")
    let same = try await run("replay", "/a?t=2", options: ["--rules", file])
    #expect(same.status == 0, "\(same.words)")
    #expect(same.text == "200 /a?t=1 1\n")
    let other = try await run("replay", "/b", options: ["--rules", file, "--order", "strict"])
    #expect(other.status == 3)
    #expect(other.words.contains("--rules \(file) --order strict -- "))
    #expect(other.words.contains("compared by rule 1 of \(file): ignores query item t"))
    #expect(other.words.contains("expected next, in strict order"))
  }

  @Test("cassette check reads matching rules beside the cassette, and export reports that it omits them")
  func besides() async throws {
    #expect(try await run("record", "/a").status == 0)
    let booking = folder.file("booking")
    #expect(
      try await Diorama.run("cassette", "check", booking).text == "\(booking).har: ok, 1 interaction, 0 strings\n")
    try folder.write(#"{"order": "strict"}"#, to: "rules.json")
    let whole = try await Diorama.run("cassette", "check", booking)
    #expect(whole.text == "\(booking).har: ok, 1 interaction, 0 strings, rules in \(folder.file("rules.json"))\n")
    let export = try await Diorama.run("cassette", "export", booking, "--as", "har", "--to", folder.file("out.har"))
    #expect(export.words.contains("not carried over: the rules in \(folder.file("rules.json"))"))
    try folder.write(#"{"order": "strikt"}"#, to: "booking.rules.json")
    expectOneLine(
      try await Diorama.run("cassette", "check", booking), status: 65,
      naming: "\(booking).rules.json: $.order is 'strikt'")
  }

  @Test("cassette check reads redaction rules beside the cassette")
  func redactionBesides() async throws {
    #expect(try await run("record", "/a").status == 0)
    let booking = folder.file("booking")
    try folder.write(#"{"query": ["token"]}"#, to: "redact.json")
    let whole = try await Diorama.run("cassette", "check", booking)
    #expect(whole.text == "\(booking).har: ok, 1 interaction, 0 strings, redaction in \(folder.file("redact.json"))\n")
    try folder.write(#"{"querry": ["token"]}"#, to: "booking.redact.json")
    expectOneLine(
      try await Diorama.run("cassette", "check", booking), status: 65, naming: "\(booking).redact.json: querry")
  }

  @Test("cassette check reads date rules beside the cassette, and needs no keys")
  func shiftBesides() async throws {
    #expect(try await run("record", "/a").status == 0)
    let booking = folder.file("booking")
    try folder.write(#"{"dates": ["$.day"], "jwt": [{"key": "env:DIORAMA_NO_SUCH"}]}"#, to: "shift.json")
    let whole = try await Diorama.run("cassette", "check", booking)
    #expect(whole.text == "\(booking).har: ok, 1 interaction, 0 strings, shift in \(folder.file("shift.json"))\n")
    #expect(
      try await Diorama.run("cassette", "check", "--json", booking).text.replacing("\\/", with: "/").contains(
        "\"\(folder.file("shift.json"))\""))
    for (text, naming) in [(#"{"dats": []}"#, "dats"), (#"{"jwt": [{"key": "secret"}]}"#, "jwt[0].key")] {
      try folder.write(text, to: "booking.shift.json")
      expectOneLine(
        try await Diorama.run("cassette", "check", booking), status: 65, naming: "\(booking).shift.json: \(naming)")
    }
  }

  @Test("extend refuses date options, and names the one given")
  func shiftInExtend() async throws {
    #expect(try await run("record", "/a").status == 0)
    for (name, rules) in [("empty.json", "{}"), ("some.json", #"{"dates": ["$.day"]}"#)] {
      try folder.write(rules, to: name)
      expectOneLine(
        try await run("extend", "/a", options: ["--shift", folder.file(name)]), status: 64,
        naming: "--shift moves dates in replay alone")
    }
    expectOneLine(
      try await run("extend", "/a", options: ["--shift-dates"]), status: 64,
      naming: "--shift-dates moves dates in replay alone")
  }

  @Test("a missing rules file exits with 66, a broken one with 65")
  func wrong() async throws {
    expectOneLine(
      try await run("record", "/a", options: ["--rules", folder.file("none.json")]), status: 66,
      naming: folder.file("none.json"))
    try folder.write(#"{"rules": [{"ignore": {"query": "t"}}]}"#, to: "some.json")
    expectOneLine(
      try await run("record", "/a", options: ["--rules", folder.file("some.json")]), status: 65,
      naming: "some.json: rules[0].ignore.query")
    #expect(upstream.calls == 0)
  }
}

@Suite("Redaction of diorama run", .timeLimit(.minutes(5)))
struct RedactionTests {
  @Test("redacts values named in a file, and replays with other values")
  func rules() async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    try folder.write(#"{"query": ["token"]}"#, to: "mine.json", mode: 0o600)
    let arguments = ["run", "--cassette", folder.file("booking"), "--redact", folder.file("mine.json")]
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
    #expect(missed.words.contains(" --redact \(folder.file("mine.json")) -- "), "\(missed.words)")
  }

  @Test(
    "refuses invalid rules with their location",
    arguments: [
      (#"{"header": ["a"]}"#, 65, "header: unknown member; did you mean 'headers'?"),
      (#"{"json": ["user"]}"#, 64, "$.json[0]: 'user' is not a valid JSON path"), ("{", 65, "not JSON"),
      (nil, 66, "No such file"),
    ] as [(String?, Int32, String)])
  func refused(text: String?, status: Int32, problem: String) async throws {
    let folder = try Folder()
    if let text { try folder.write(text, to: "mine.json", mode: 0o600) }
    let outcome = try await Diorama.run(
      ["run", "--mode", "mock", "--redact", folder.file("mine.json"), "--", "touch", folder.file("ran")])
    expectOneLine(outcome, status: status, naming: folder.file("mine.json"))
    #expect(outcome.words.contains(problem), "\(outcome.words)")
    #expect(!folder.names.contains("ran"))
  }
}
