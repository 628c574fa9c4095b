import Foundation
import TestSupport
import Testing

@Suite("Rules and order by diorama run", .timeLimit(.minutes(5)))
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
      ["run", "--cassette", folder.file("tape"), "--mode", mode, "--upstream", "api=\(upstream.url)"] + options + ["--"]
        + command)
  }

  @Test("--rules names a file, which is in the command that would record what is missing, too")
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

  @Test("cassette check reads the rules beside the cassette, too, and an export says that it leaves them out")
  func besides() async throws {
    #expect(try await run("record", "/a").status == 0)
    let tape = folder.file("tape")
    #expect(try await Diorama.run("cassette", "check", tape).text == "\(tape).har: ok, 1 interaction, 0 strings\n")
    try folder.write(#"{"order": "strict"}"#, to: "rules.json")
    let whole = try await Diorama.run("cassette", "check", tape)
    #expect(whole.text == "\(tape).har: ok, 1 interaction, 0 strings, rules in \(folder.file("rules.json"))\n")
    let export = try await Diorama.run("cassette", "export", tape, "--as", "har", "--to", folder.file("out.har"))
    #expect(export.words.contains("not carried over: the rules in \(folder.file("rules.json"))"))
    try folder.write(#"{"order": "strikt"}"#, to: "tape.rules.json")
    expectOneLine(
      try await Diorama.run("cassette", "check", tape), status: 65, naming: "\(tape).rules.json: $.order is 'strikt'")
  }

  @Test("cassette check reads the redaction rules beside the cassette, too")
  func redactionBesides() async throws {
    #expect(try await run("record", "/a").status == 0)
    let tape = folder.file("tape")
    try folder.write(#"{"query": ["token"]}"#, to: "redact.json")
    let whole = try await Diorama.run("cassette", "check", tape)
    #expect(whole.text == "\(tape).har: ok, 1 interaction, 0 strings, redaction in \(folder.file("redact.json"))\n")
    try folder.write(#"{"querry": ["token"]}"#, to: "tape.redact.json")
    expectOneLine(
      try await Diorama.run("cassette", "check", tape), status: 65, naming: "\(tape).redact.json: querry")
  }

  @Test("cassette check reads how dates move beside the cassette, too, and asks for no key")
  func shiftBesides() async throws {
    #expect(try await run("record", "/a").status == 0)
    let tape = folder.file("tape")
    try folder.write(#"{"dates": ["$.day"], "jwt": [{"key": "env:DIORAMA_NO_SUCH"}]}"#, to: "shift.json")
    let whole = try await Diorama.run("cassette", "check", tape)
    #expect(whole.text == "\(tape).har: ok, 1 interaction, 0 strings, shift in \(folder.file("shift.json"))\n")
    #expect(
      try await Diorama.run("cassette", "check", "--json", tape).text.replacing("\\/", with: "/").contains(
        "\"\(folder.file("shift.json"))\""))
    for (text, naming) in [(#"{"dats": []}"#, "dats"), (#"{"jwt": [{"key": "secret"}]}"#, "jwt[0].key")] {
      try folder.write(text, to: "tape.shift.json")
      expectOneLine(
        try await Diorama.run("cassette", "check", tape), status: 65, naming: "\(tape).shift.json: \(naming)")
    }
  }

  @Test("dates that are to move are refused in extend in the name of the option that was given")
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

  @Test("a rules file that is not there ends with 66, a broken one with 65, each in one line that names it")
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
