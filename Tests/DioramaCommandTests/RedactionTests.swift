import Foundation
import TestSupport
import Testing

@Suite("Redaction by diorama run", .timeLimit(.minutes(5)))
struct RedactionTests {
  @Test("takes out of a recording what a file of rules names, and replays it for another value")
  func rules() async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    try folder.write(#"{"query": ["token"]}"#, to: "mine.json", mode: 0o600)
    let arguments = ["run", "--cassette", folder.file("tape"), "--redact", folder.file("mine.json")]
    let recorded = try await Diorama.run(
      arguments + ["--upstream", "api=\(upstream.url)", "--"] + Program.get("/a?token=canary"))
    #expect(recorded.status == 0, "\(recorded.words)")
    await upstream.stop()
    let har = try folder.read("tape.har")
    #expect(!har.contains("token=canary") && har.contains("token=%3Credacted%3E"))
    let replayed = try await Diorama.run(arguments + ["--mode", "replay", "--"] + Program.get("/a?token=another"))
    #expect(replayed.status == 0, "\(replayed.words)")
    // Who does as he is told must not record without it.
    let missed = try await Diorama.run(arguments + ["--mode", "replay", "--"] + Program.get("/b?token=another"))
    #expect(missed.words.contains("--mode extend"), "\(missed.words)")
    #expect(missed.words.contains(" --redact \(folder.file("mine.json")) -- "), "\(missed.words)")
  }

  @Test(
    "refuses rules that it cannot use, in one line with their place",
    arguments: [
      (#"{"header": ["a"]}"#, 65, "header: there is no such member; did you mean 'headers'?"),
      (#"{"json": ["user"]}"#, 64, "$.json[0]: 'user' is no JSON path"), ("{", 65, "not JSON"),
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
