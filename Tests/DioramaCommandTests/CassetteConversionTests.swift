import Foundation
import TestSupport
import Testing

@Suite("diorama cassette import and export")
struct CassetteConversionTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  private let booking = """
    interactions:
    - request: {method: GET, uri: http://api.example.com/a, body: null, headers: {}}
      response:
        status: {code: 200, message: OK}
        headers: {Content-Type: [text/plain], Date: ['Mon, 08 Oct 2018 09:00:00 GMT']}
        body: {string: first}
        url: http://api.example.com/a
    - request: {method: GET, uri: http://other.example.com/b, body: null, headers: {}}
      response: {status: {code: 200, message: OK}, headers: {}, body: {string: second}}
    version: 1
    """

  @Test("import writes a cassette that replays, and lists losses on standard error and as JSON")
  func importing() async throws {
    try folder.write(booking, to: "booking.yaml")
    let file = folder.file("booking.yaml")
    let outcome = try await Diorama.run(
      "cassette", "import", file, "--to", folder.file("shop"), "--upstream", "api=http://api.example.com")
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(
      outcome.text == """
        \(folder.file("shop.har")): 2 interactions, recorded 2018-10-08T09:00:00Z
          \(file): vcrpy, 2 interactions
          upstream api = http://api.example.com
          upstream other.example.com = http://other.example.com

        """)
    #expect(
      outcome.lines == [
        "diorama: not carried over: \(file): entry 1: response.url is left out",
        "diorama: not carried over: \(file): entry 2: it has no time: the recording date is used",
      ])
    let replay = try await Diorama.run(
      ["run", "--mode", "replay", "--cassette", folder.file("shop"), "--"] + Program.get("/a"))
    #expect(replay.status == 0, "\(replay.words)")
    #expect(replay.text == "200 first\n")

    let json = try await Diorama.run(
      "cassette", "import", file, "--to", folder.file("shop"), "--force", "--json", "--from", "vcrpy", "--recorded-at",
      "2020-01-01T00:00:00Z")
    let answer = try object(json.text)
    #expect(answer["recordedAt"] as? String == "2020-01-01T00:00:00Z")
    #expect(answer["interactions"] as? Int == 2)
    #expect((answer["upstreams"] as? [String: String])?.keys.sorted() == ["api.example.com", "other.example.com"])
    let missing = try #require(answer["notCarriedOver"] as? [[String: Any]])
    #expect(missing.map { $0["entries"] as? [Int] } == [[1], [2]])
    #expect(json.lines.count == missing.count)
  }

  @Test(
    "import redacts like a recording, by the rules of the project file; --as-is doesn't"
  )
  func redacting() async throws {
    let secret = "open-sesame"
    let booking = """
      interactions:
      - request:
          method: POST
          uri: http://api.example.com/a?key=\(secret)
          body: '{"pin": "\(secret)"}'
          headers: {Authorization: [Bearer \(secret)], Content-Type: [application/json]}
        response:
          status: {code: 200, message: OK}
          headers: {Set-Cookie: [sid=\(secret); Path=/], Content-Type: [application/json]}
          body: {string: '{"pin": "\(secret)", "n": 1}'}
      version: 1
      """
    try folder.write(booking, to: "booking.yaml")
    try folder.write(
      #"{"redaction": {"json": ["$..pin"]}, "overrides": [{"cassettes": "sh*", "redaction": {"query": ["key"]}}]}"#,
      to: "diorama.json")
    let words = ["cassette", "import", folder.file("booking.yaml"), "--to", folder.file("shop")]
    let outcome = try await Diorama.run(words + ["--config", folder.file("diorama.json")])
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(
      outcome.text.contains("  5 values redacted; keep them with --as-is\n"), "\(outcome.text)")
    let written = try folder.read("shop.har")
    #expect(!written.contains(secret))
    #expect(written.contains("Bearer <redacted>") && written.contains("sid=<redacted>; Path=/"))
    let replay = try await Diorama.run(["cassette", "check", folder.file("shop")])
    #expect(replay.status == 0, "\(replay.words)")

    let kept = try await Diorama.run(words + ["--as-is", "--force", "--json"])
    #expect(try object(kept.text)["redacted"] as? Int == 0)
    #expect(try folder.read("shop.har").contains("Bearer \(secret)"))
  }

  @Test(
    "import reads a HAR's body files, and keeps large ones as files")
  func sideFiles() async throws {
    func entry(_ path: String, _ file: String) -> String {
      #"{"startedDateTime": "2018-10-08T09:00:00Z", "request": {"method": "GET", "url": "http://h\#(path)"}, "response": {"status": 200, "content": {"size": 1, "_file": "\#(file)"}}}"#
    }
    // Named like Playwright's, with a SHA-1.
    let names = ["a", "b", "c"].map { String(repeating: $0, count: 40) + ".txt" }
    let entries = [entry("/s", names[0]), entry("/l", names[1]), entry("/m", names[2])]
    try folder.write("{\"log\": {\"entries\": [\(entries.joined(separator: ","))]}}", to: "in.har")
    try folder.write("small", to: names[0])
    try folder.write(String(repeating: "large ", count: 100_000), to: names[1])
    let outcome = try await Diorama.run(
      "cassette", "import", folder.file("in.har"), "--to", folder.file("deep/shop"), "--upstream", "h=http://h",
      "--upstream", "unused=http://u")
    #expect(outcome.status == 0)
    #expect(
      outcome.lines == [
        "diorama: not carried over: \(folder.file("in.har")): the body in \(names[2]) is missing; replayed as an empty body",
        "diorama: no interaction matches --upstream unused=http://u",
      ])
    let show = try object(try await Diorama.run("cassette", "show", "--json", folder.file("deep/shop")).text)
    let bytes = (show["interactions"] as? [[String: Any]])?.map { $0["bytes"] as? Int }
    #expect(bytes == [5, 600_000, 0])
    #expect(try await Diorama.run("cassette", "check", folder.file("deep/shop")).status == 0)
    let large = try FileManager.default.contentsOfDirectory(atPath: folder.file("deep/shop.bodies"))
    #expect(large.count == 1)
  }

  @Test("import writes nothing if a file is broken or the target exists")
  func refusals() async throws {
    try folder.write(booking, to: "booking.yaml")
    try folder.write(booking.replacing("uri: http://other.example.com/b", with: "uri: [x]"), to: "broken.yaml")
    try folder.write("[]", to: "empty.json")
    try folder.write("hello", to: "text")
    let before = folder.names
    let good = folder.file("booking.yaml")
    let target = folder.file("shop")
    func expect(_ status: Int32, _ text: String, _ words: String..., location: SourceLocation = #_sourceLocation)
      async throws
    {
      let outcome = try await Diorama.run(["cassette", "import"] + words)
      expectOneLine(outcome, status: status, naming: text, location: location)
      #expect(folder.names == before, sourceLocation: location)
    }
    try await expect(65, "broken.yaml: line 8, column", good, folder.file("broken.yaml"), "--to", target)
    try await expect(65, "no interactions in", folder.file("empty.json"), "--to", target)
    try await expect(65, "not a recording in a known format (har, vinyl", folder.file("text"), "--to", target)
    try await expect(66, "there is no file \(folder.file("none"))", folder.file("none"), "--to", target)
    try await expect(74, "it is a folder", folder.path, "--to", target)
    try await expect(64, "no file to import", "--to", target)
    try await expect(64, "--to is missing", good)
    try await expect(64, "did you mean 'vinyl'?", good, "--to", target, "--from", "vinil")
    try await expect(64, "RFC 3339", good, "--to", target, "--recorded-at", "yesterday")
    try await expect(64, "is not an origin", good, "--to", target, "--upstream", "api=ftp://x")
    try await expect(
      64, "is given twice", good, "--to", target, "--upstream", "a=http://x", "--upstream", "a=http://y")
    try await expect(73, "cannot create its folder", good, "--to", folder.file("text/shop"))

    #expect(try await Diorama.run("cassette", "import", good, "--to", target).status == 0)
    let written = try folder.read("shop.har")
    let again = try await Diorama.run("cassette", "import", good, "--to", target)
    expectOneLine(again, status: 73, naming: "already exists", "--force")
    #expect(try folder.read("shop.har") == written)
  }

  @Test("export writes a HAR, and WireMock mappings with a root folder for each upstream")
  func exporting() async throws {
    try folder.write(booking, to: "booking.yaml")
    let cassette = folder.file("shop")
    _ = try await Diorama.run(
      "cassette", "import", folder.file("booking.yaml"), "--to", cassette, "--upstream", "api=http://api.example.com")
    let har = try await Diorama.run("cassette", "export", cassette, "--as", "har", "--to", folder.file("out.har"))
    #expect(har.status == 0)
    #expect(har.text == "\(folder.file("shop.har")): 2 interactions written\n  \(folder.file("out.har"))\n")
    #expect(
      har.lines == [
        "diorama: not carried over: the names of the upstreams (api, other.example.com) have no place in HAR"
      ])
    let beside = try await Diorama.run(
      "cassette", "export", "shop", "--as", "har", "--to", "beside.har", folder: folder.path)
    #expect(beside.status == 0 && folder.has("beside.har"), "\(beside.words)")
    #expect((try folder.json("out.har")["log"] as? [String: Any])?["_diorama"] == nil)

    let json = try await Diorama.run(
      "cassette", "export", cassette, "--as", "wiremock", "--to", folder.file("mock"), "--json")
    let answer = try object(json.text)
    #expect(
      answer["files"] as? [String] == [
        folder.file("mock/api/mappings/shop.json"), folder.file("mock/other.example.com/mappings/shop.json"),
      ])
    #expect((try folder.json("mock/api/mappings/shop.json")["mappings"] as? [Any])?.count == 1)
    #expect((answer["notCarriedOver"] as? [Any])?.count == json.lines.count)

    let before = try folder.read("out.har")
    let words = ["cassette", "export", cassette, "--to", folder.file("out.har")]
    expectOneLine(try await Diorama.run(words + ["--as", "har"]), status: 73, naming: "already exists", "--force")
    expectOneLine(try await Diorama.run(words), status: 64, naming: "--as is missing; give har or wiremock")
    expectOneLine(try await Diorama.run(words + ["--as", "hal"]), status: 64, naming: "did you mean 'har'?")
    #expect(try await Diorama.run(words + ["--as", "har", "--force"]).status == 0)
    #expect(try folder.read("out.har") == before)
    expectOneLine(
      try await Diorama.run("cassette", "export", cassette, "--as", "wiremock", "--to", folder.file("one.json")),
      status: 64, naming: "has 2 upstreams")
    expectOneLine(
      try await Diorama.run("cassette", "export", cassette, "--as", "har", "--to", folder.path), status: 73,
      naming: "is a folder")
    expectOneLine(
      try await Diorama.run("cassette", "export", folder.file("none"), "--as", "har", "--to", folder.file("x.har")),
      status: 66, naming: "there is no cassette")
  }

  @Test("import reads pipes")
  func piped() async throws {
    try folder.write(booking, to: "booking.yaml")
    let words = try Diorama.words(["cassette", "import", "/dev/stdin", "--to", folder.file("shop")])
    let outcome = try await onThread {
      try Child(
        ["sh", "-c", #"f="$1"; shift; cat "$f" | "$@""#, "sh", folder.file("booking.yaml")].map { Array($0.utf8) }
          + words,
        environment: Diorama.environment()
      ).finish()
    }
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(outcome.text.contains("2 interactions"), "\(outcome.text)")
  }

  @Test("export never replaces the cassette itself or anything but a file, even with --force")
  func noPlace() async throws {
    try folder.write(booking, to: "booking.yaml")
    let cassette = folder.file("shop")
    _ = try await Diorama.run("cassette", "import", folder.file("booking.yaml"), "--to", cassette)
    let before = try folder.read("shop.har")
    let words = ["cassette", "export", cassette, "--as", "har", "--force", "--to"]
    expectOneLine(
      try await Diorama.run(words + [folder.file("shop.har")]), status: 64, naming: "is the cassette itself")
    #expect(try folder.read("shop.har") == before)
    #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
    expectOneLine(try await Diorama.run(words + [folder.file("pipe")]), status: 73, naming: "is not a regular file")
    #expect(mkfifo(folder.file("pipe"), 0o600) == -1 && errno == EEXIST)
  }
}
