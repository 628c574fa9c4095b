import Foundation
import TestSupport
import Testing

@Suite("diorama cassette", .timeLimit(.minutes(5)))
struct CassetteCommandTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  /// Records a cassette with requests for these paths.
  private func record(_ name: String, _ paths: String...) async throws {
    let upstream = try Upstream()
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
    let outcome = try await Diorama.run(
      [
        "run", "--mode", "record", "--cassette", folder.file(name), "--upstream", "api=\(upstream.url)", "--seed",
        "the seed", "--start", "2018-10-08T09:00:00Z", "--time-zone", "Europe/London", "--locale", "en_GB", "--",
      ] + command + paths)
    await upstream.stop()
    try #require(outcome.status == 0, "\(outcome.words)")
  }

  @Test("show lists a cassette's contents, with and without the extension", arguments: ["booking", "booking.har"])
  func show(name: String) async throws {
    try await record("booking", "/a", "/b?x=1")
    let outcome = try await Diorama.run("cassette", "show", folder.file(name))
    #expect(outcome.status == 0)
    #expect(outcome.words == "")
    let lines = outcome.text.split(separator: "\n").map(String.init)
    #expect(lines.first == "\(folder.file("booking.har")): 2 interactions, recorded 2018-10-08T09:00:00Z")
    #expect(lines.contains { $0.contains("Europe/London") && $0.contains("en_GB") })
    #expect(lines.contains { $0.contains("upstream api = http://127.0.0.1:") })
    #expect(lines.suffix(2).map { $0.hasSuffix("/a") || $0.hasSuffix("/b?x=1") } == [true, true])
  }

  @Test("show names the gRPC status of a call that failed, from its trailers or its header")
  func grpcStatus() async throws {
    let entry = { (headers: String, trailers: String) in
      """
      {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "timings": {"send": 0, "wait": 1, "receive": 0}, "cache": {},
       "request": {"method": "POST", "url": "http://127.0.0.1:1/a.B/C", "httpVersion": "HTTP/2", "cookies": [],
         "headers": [], "queryString": [], "headersSize": -1, "bodySize": 0},
       "response": {"status": 200, "statusText": "", "httpVersion": "HTTP/2", "cookies": [], "headers": [\(headers)],
         "content": {"size": 0, "mimeType": "application/grpc"}, "redirectURL": "", "headersSize": -1, "bodySize": 0,
         "_diorama": {"trailers": [\(trailers)]}}}
      """
    }
    let field = { (code: Int) in #"{"name": "grpc-status", "value": "\#(code)"}"# }
    let entries = [entry("", field(5)), entry(field(12), ""), entry("", field(0))].joined(separator: ",")
    try folder.write(
      #"{"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [\#(entries)]}}"#,
      to: "calls.har")
    let outcome = try await Diorama.run("cassette", "show", folder.file("calls"))
    for text in ["  200, grpc-status 5 NOT_FOUND ", "  200, grpc-status 12 UNIMPLEMENTED ", "  200   "] {
      #expect(outcome.text.contains(text), "\(outcome.text)\(outcome.words)")
    }
  }

  @Test("show --json prints an object, or an array for several cassettes")
  func showJSON() async throws {
    try await record("one", "/a")
    try await record("two", "/a", "/b")
    let single = try await Diorama.run("cassette", "show", "--json", folder.file("one"))
    let listing = try object(single.text)
    #expect(listing["seed"] as? String == "the seed")
    #expect(listing["recordedAt"] as? String == "2018-10-08T09:00:00Z")
    let interaction = try #require((listing["interactions"] as? [[String: Any]])?.first)
    #expect(interaction["method"] as? String == "GET")
    #expect(interaction["status"] as? Int == 200)
    #expect(interaction["bytes"] as? Int == 4)
    let both = try await Diorama.run("cassette", "show", "--json", folder.file("one"), folder.file("two"))
    let listings = try #require(try JSONSerialization.jsonObject(with: Data(both.output)) as? [[String: Any]])
    #expect(listings.map { ($0["interactions"] as? [Any])?.count } == [1, 2])
  }

  @Test("show and check continue after a broken cassette, and exit with the first error's status")
  func several() async throws {
    try await record("booking", "/a")
    try folder.write("{", to: "broken.har")
    for verb in ["show", "check"] {
      let outcome = try await Diorama.run(
        "cassette", verb, folder.file("broken"), folder.file("missing"), folder.file("booking"))
      #expect(outcome.status == 65, "\(verb)")
      #expect(outcome.lines.count == 2, "\(outcome.words)")
      #expect(outcome.lines.first?.contains("broken.har") == true)
      #expect(outcome.lines.last?.contains("missing.har") == true)
      #expect(outcome.text.contains("booking.har"))
    }
  }

  @Test("check reports a valid cassette")
  func check() async throws {
    try await record("booking", "/a", "/b")
    let outcome = try await Diorama.run("cassette", "check", folder.file("booking"), folder.file("booking.har"))
    #expect(outcome.status == 0)
    #expect(
      outcome.text == String(repeating: "\(folder.file("booking.har")): ok, 2 interactions, 0 strings\n", count: 2))
    let json = try await Diorama.run("cassette", "check", "--json", folder.file("booking"))
    let results = try #require(try JSONSerialization.jsonObject(with: Data(json.output)) as? [[String: Any]])
    #expect(results.first?["interactions"] as? Int == 2)
    #expect(results.first?["problem"] == nil)
    let nothing = try await Diorama.run("cassette", "check", "--recover", folder.file("booking"))
    #expect(nothing.status == 0)
    #expect(nothing.text.hasSuffix("ok, 2 interactions, 0 strings\n"))
  }

  @Test("check lists HAR entries that aren't interactions")
  func leftOut() async throws {
    let socket = """
      {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "_resourceType": "websocket",
      "request": {"method": "GET", "url": "wss://api.example.com/", "headers": []},
      "response": {"status": 101, "statusText": "", "headers": [], "content": {}}}
      """
    try folder.write(
      #"{"log": {"version": "1.2", "creator": {"name": "Browser"}, "entries": [\#(socket)]}}"#, to: "web.har")
    let outcome = try await Diorama.run("cassette", "check", folder.file("web"))
    #expect(outcome.status == 0)
    #expect(
      outcome.lines == ["diorama: left out: entry 1: a WebSocket whose messages were not saved"], "\(outcome.words)")
    #expect(try await Diorama.run("cassette", "check", "--json", folder.file("web")).text.contains("a WebSocket"))
  }

  @Test("check reports unused bodies, and --recover removes only them")
  func strayBodies() async throws {
    try await record("booking", "/a")
    try FileManager.default.createDirectory(atPath: folder.file("booking.bodies"), withIntermediateDirectories: false)
    let left = "booking.bodies/\(String(repeating: "0a", count: 32)).bin"
    try folder.write("left", to: left)
    let said = try await Diorama.run("cassette", "check", folder.file("booking"))
    #expect(said.status == 0)
    #expect(said.words.contains("1 unused body beside the cassette"), "\(said.words)")
    #expect(folder.has(left))
    try folder.write("mine", to: "booking.bodies/.gitattributes")
    let removed = try await Diorama.run("cassette", "check", "--recover", folder.file("booking"))
    #expect(removed.text == "\(folder.file("booking.har")): ok, 1 interaction, 0 strings\n")
    #expect(removed.lines.isEmpty, "\(removed.words)")
    #expect(!folder.has(left))
    #expect(folder.has("booking.bodies/.gitattributes"))
    #expect(!folder.has("booking.har.partial"))
  }

  @Test("check names responses whose body is recorded in part")
  func cut() async throws {
    try await record("booking", "/a", "/b")
    let har = try folder.read("booking.har")
    let cut = har.replacing(
      #""size": 4,"#, with: #""_diorama": {"cut": true}, "size": 4,"#, maxReplacements: 1)
    try folder.write(cut, to: "booking.har")
    let outcome = try await Diorama.run("cassette", "check", folder.file("booking"))
    #expect(outcome.status == 0)
    #expect(outcome.lines.count == 1 && outcome.words.contains("interaction 0: GET "), "\(outcome.words)")
    #expect(outcome.words.contains("/a: the body is incomplete"))
    #expect(try await Diorama.run("cassette", "check", "--json", folder.file("booking")).text.contains("\"partial\""))
  }

  @Test("a missing cassette exits with 66 and one line", arguments: ["show", "check"])
  func missing(verb: String) async throws {
    let outcome = try await Diorama.run("cassette", verb, folder.file("booking"))
    expectOneLine(outcome, status: 66, naming: folder.file("booking.har"), "--mode record")
  }

  @Test("show and check report why a file can't be read", arguments: ["show", "check"])
  func unreadable(_ verb: String) async throws {
    try FileManager.default.createDirectory(atPath: folder.file("folder.har"), withIntermediateDirectories: false)
    expectOneLine(
      try await Diorama.run("cassette", verb, folder.file("folder")), status: 65, naming: "is a folder, not a HAR")
    try folder.write(#"{"log": {"entries": []}}"#, to: "booking.har")
    try FileManager.default.createDirectory(
      atPath: folder.file("booking.strings.json"), withIntermediateDirectories: false)
    expectOneLine(
      try await Diorama.run("cassette", verb, folder.file("booking")), status: 74,
      naming: "cannot read \(folder.file("booking.strings.json")): it is a folder, not a regular file; fix it")
  }

  @Test("check --json includes the problem, and exits with its status")
  func problem() async throws {
    try folder.write("{", to: "booking.har")
    let outcome = try await Diorama.run("cassette", "check", "--json", folder.file("booking"))
    #expect(outcome.status == 65)
    let results = try #require(try JSONSerialization.jsonObject(with: Data(outcome.output)) as? [[String: Any]])
    #expect((results.first?["problem"] as? String)?.contains("booking.har") == true)
  }

  /// Kinds of damage to a cassette's files.
  enum Damage: String, CaseIterable {
    case truncated, notJSON, empty, noHAR, newer, otherIDs, brokenStrings, newerStrings
  }

  @Test("a broken cassette exits with 65 and one line, for run, show and check", arguments: Damage.allCases)
  func broken(damage: Damage) async throws {
    try await record("booking", "/a")
    let har = try folder.read("booking.har")
    let strings = try folder.read("booking.strings.json")
    var file = "booking.har"
    switch damage {
    case .truncated: try folder.write(String(har.dropLast(20)), to: "booking.har")
    case .notJSON: try folder.write("<html>", to: "booking.har")
    case .empty: try folder.write("", to: "booking.har")
    case .noHAR: try folder.write("{\"name\": \"something else\"}", to: "booking.har")
    case .newer:
      let newer = har.replacing(/"format": ?1\b/) { _ in "\"format\": 99" }
      #expect(newer != har)
      try folder.write(newer, to: "booking.har")
    case .otherIDs:
      let other = strings.replacing(/"recording": ?"[^"]*"/) { _ in "\"recording\": \"another\"" }
      #expect(other != strings)
      try folder.write(other, to: "booking.strings.json")
    case .brokenStrings:
      file = "booking.strings.json"
      try folder.write(String(strings.prefix(20)), to: file)
    case .newerStrings:
      file = "booking.strings.json"
      let newer = strings.replacing(/"format": ?1\b/) { _ in "\"format\": 99" }
      #expect(newer != strings)
      try folder.write(newer, to: file)
    }
    let before = folder.names
    let commands = [
      ["run", "--mode", "replay", "--cassette", folder.file("booking"), "--", "touch", folder.file("ran")],
      ["run", "--cassette", folder.file("booking"), "--", "touch", folder.file("ran")],
      ["cassette", "show", folder.file("booking")], ["cassette", "check", folder.file("booking")],
      [
        "run", "--mode", "extend", "--upstream", "api=http://127.0.0.1:1", "--cassette", folder.file("booking"), "--",
        "touch", folder.file("ran"),
      ],
    ]
    for command in commands {
      expectOneLine(try await Diorama.run(command), status: 65, naming: folder.file(file))
      #expect(folder.names == before)
    }
  }
}
