import ControlAPI
import Foundation
import TestSupport
import Testing

@Suite("The journal of run", .timeLimit(.minutes(2)))
struct JournalTests {
  /// Posts a body with a credential to the endpoint `api`.
  private static let program = """
    import http.client, os
    connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1], timeout=60)
    for path in ["/a?t=1", "/b"]:
        headers = {"Content-Type": "application/json", "Authorization": "Bearer abcdefgh12345"}
        connection.request("POST", path, '{"tea": 2}', headers)
        connection.getresponse().read()
    """

  private func entries(_ folder: Folder) throws -> [JournalPage.Entry] {
    try folder.read("j").split(separator: "\n").map {
      try JSONDecoder().decode(JournalPage.Entry.self, from: Data($0.utf8))
    }
  }

  @Test("has the requests themselves with --journal-requests, redacted, and prints nothing with --quiet")
  func requests() async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    let command = ["--"] + Program.python + ["-c", Self.program]
    let recorded = try await Diorama.run(
      ["run", "--cassette", folder.file("c"), "--upstream", "api=\(upstream.url)", "--report", folder.file("r")]
        + command)
    #expect(recorded.status == 0, "\(recorded.words)")
    await upstream.stop()

    let replay = ["run", "--mode", "replay", "--cassette", folder.file("c"), "--journal", folder.file("j")]
    let plain = try await Diorama.run(replay + command)
    #expect(plain.status == 0, "\(plain.words)")
    #expect(try entries(folder).map(\.request) == [nil, nil])

    let quiet = try await Diorama.run(
      replay + ["--journal-requests", "--quiet", "--report", folder.file("r")] + command)
    #expect(quiet.status == 0)
    #expect(quiet.words.isEmpty, "\(quiet.words)")
    let found = try entries(folder)
    #expect(found.map(\.kind) == ["replayed", "replayed"])
    let sent = try found.map { try #require($0.request) }
    #expect(sent.map(\.url) == ["\(upstream.url)/a?t=1", "\(upstream.url)/b"])
    #expect(sent.map(\.body) == [Data(#"{"tea": 2}"#.utf8), Data(#"{"tea": 2}"#.utf8)])
    #expect(sent.map(\.size) == [10, 10])
    #expect(sent.map(\.after) == [0, 1])
    #expect(sent[0].key?.count == 32 && sent[0].key != sent[1].key)
    #expect(sent[0].headers.contains("Content-Type: application/json"))
    let journal = try folder.read("j")
    #expect(!journal.contains("abcdefgh12345"))
    // The variables of the command, without the token.
    let variables = try #require(try folder.json("r")["variables"] as? [String: String])
    #expect(variables["DIORAMA_ENDPOINT_API"]?.hasPrefix("http://127.0.0.1:") == true)
    #expect(variables["DIORAMA_TOKEN"] == nil && variables["DIORAMA_CONTRACT"] == nil)
  }
}
