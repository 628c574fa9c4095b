import Foundation
import TestSupport
import Testing

@Suite("diorama run with a project file", .timeLimit(.minutes(5)))
struct ProjectFileTests {
  @Test("needs no option: it names the cassette's folder, the upstream and the command's variable")
  func whole() async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    let program =
      Program.python + [
        "-c",
        "import os, urllib.request as r; print(r.urlopen(os.environ['API_URL'] + '/a?t=' + os.environ['T']).status)",
      ]
    try folder.write(
      #"""
      {"cassettes": "Cassettes", "upstreams": {"api": {"url": "\#(upstream.url)", "variable": "API_URL"}},
       "matching": {"rules": [{"ignore": {"query": ["t"]}}]},
       "overrides": [{"cassettes": "python*", "toggles": {"some": true}}]}
      """#, to: "diorama.json")
    let words = ["run", "--config", folder.file("diorama.json")]
    let recorded = try await Diorama.run(words + ["--"] + program, variables: ["T": "1"])
    #expect(recorded.status == 0 && recorded.text == "200\n", "\(recorded.words)")
    await upstream.stop()
    let replayed = try await Diorama.run(words + ["--mode", "replay", "--"] + program, variables: ["T": "2"])
    #expect(replayed.status == 0 && replayed.text == "200\n", "\(replayed.words)")
    #expect(folder.names.contains("Cassettes"))
    // Options take precedence.
    let mock = try await Diorama.run(
      words + ["--mode", "mock", "--toggle", "own=1", "--", "sh", "-c", "printf %s \"$DIORAMA_CONTRACT\""])
    #expect(try (object(mock.text)["toggles"] as? [String: Any])?["own"] as? Int == 1, "\(mock.words)")
  }

  @Test("a broken one ends with 65, and a missing one with 66, in one line that names it")
  func broken() async throws {
    let folder = try Folder()
    try folder.write(#"{"clok": {}}"#, to: "diorama.json")
    let file = folder.file("diorama.json")
    expectOneLine(
      try await Diorama.run("run", "--config", file, "--mode", "mock", "--", "true"), status: 65,
      naming: "\(file): clok: unknown member; did you mean 'clock'?")
    expectOneLine(
      try await Diorama.run("run", "--config", folder.file("none.json"), "--mode", "mock", "--", "true"), status: 66,
      naming: folder.file("none.json"))
    #expect(try await Diorama.run("run", "--no-config", "--mode", "mock", "--", "true").status == 0)
  }
}
