import Foundation
import TestSupport
import Testing

@Suite("Modes of diorama run", .timeLimit(.minutes(5)))
struct ModeTests {
  private let folder: Folder
  private let upstream: Upstream

  init() throws {
    folder = try Folder()
    upstream = try Upstream()
  }

  private func run(
    _ mode: String?, _ command: [String], cassette: String = "booking", upstreams: Bool = true, options: [String] = [],
    variables: [String: String?] = [:]
  ) async throws -> Child.Outcome {
    var arguments = ["run", "--cassette", folder.file(cassette)] + options
    if let mode { arguments += ["--mode", mode] }
    if upstreams { arguments += ["--upstream", "api=\(upstream.url)"] }
    return try await Diorama.run(arguments + ["--"] + command, variables: variables)
  }

  private func start(_ outcome: Child.Outcome) throws -> String? {
    try #require(object(String(outcome.text.split(separator: "\n").last ?? ""))["clock"] as? [String: Any])["start"]
      as? String
  }

  @Test("once records, then replays offline at the same time")
  func once() async throws {
    let command = ["sh", "-c", "\"$@\"; printf %s \"$DIORAMA_CONTRACT\"", "sh"] + Program.get("/a", "/b", "/a")
    let first = try await run(nil, command)
    #expect(first.status == 0, "\(first.words)")
    #expect(first.text.hasPrefix("200 /a 1\n200 /b 2\n200 /a 3\n"))
    #expect(upstream.calls == 3)
    let second = try await run(nil, command)
    #expect(second.status == 0, "\(second.words)")
    #expect(second.text.hasPrefix("200 /a 1\n200 /b 2\n200 /a 3\n"))
    #expect(upstream.calls == 3)
    #expect(try start(first) != nil)
    #expect(try start(first) == start(second))
    await upstream.stop()
    let third = try await run("replay", command, upstreams: false)
    #expect(third.status == 0, "\(third.words)")
    #expect(third.text.hasPrefix("200 /a 1\n200 /b 2\n200 /a 3\n"))
    #expect(upstream.calls == 3)
  }

  @Test("say which programs do not see the clock that was set")
  func clock() async throws {
    let set = ["run", "--mode", "mock", "--start", "2018-10-08T09:00:00Z"]
    let cases: [([String], String?)] = [
      (set, "only programs that use the library see the clock of --clock and --start; --isolate shows it"),
      (set + ["--isolate=proxy"], "the command's programs have the real clock"), (["run", "--mode", "mock"], nil),
      (set + ["--quiet"], nil),
    ]
    for (options, text) in cases {
      let outcome = try await Diorama.run(options + ["--", "true"])
      #expect(outcome.status == 0)
      let lines = outcome.lines.filter { $0.contains("programs") }
      if let text {
        #expect(lines.contains { $0.contains(text) }, "\(outcome.words)")
      } else {
        #expect(lines.isEmpty, "\(lines)")
      }
    }
  }

  @Test("name the alternatives if there is no cassette, or no upstream")
  func alternatives() async throws {
    let isolated = try await Diorama.run("run", "--isolate", "--no-config", "--", "true")
    expectOneLine(
      isolated, status: 64, naming: "name it with --cassette PATH, or use --mode mock if there is nothing to record")
    let direct = try await run(nil, ["true"], upstreams: false)
    expectOneLine(direct, status: 69, naming: "or intercept the command's connections with --isolate")
  }

  @Test("once never records if CI is set, but replays", arguments: ["true", "1", "false"])
  func continuousIntegration(value: String) async throws {
    let missing = try await run(nil, ["touch", folder.file("ran")], variables: ["CI": value])
    expectOneLine(missing, status: 66, naming: folder.file("booking.har"))
    #expect(folder.names == [])
    #expect(try await run(nil, Program.get("/a"), variables: ["CI": ""]).status == 0)
    let replayed = try await run(nil, Program.get("/a"), variables: ["CI": value])
    #expect(replayed.status == 0)
    #expect(upstream.calls == 1)
    let explicit = try await run("record", Program.get("/a"), variables: ["CI": value])
    #expect(explicit.status == 0)
    #expect(upstream.calls == 2)
    await upstream.stop()
  }

  @Test("extend replays recorded requests, records missing ones, and keeps the recording date")
  func extend() async throws {
    #expect(try await run("record", Program.get("/a"), options: ["--start", "2018-10-08T09:00:00Z"]).status == 0)
    let extended = try await run("extend", Program.get("/a", "/b"))
    #expect(extended.text == "200 /a 1\n200 /b 2\n", "\(extended.words)")
    #expect(upstream.calls == 2)
    let replayed = try await run(
      "replay", ["sh", "-c", "\"$@\"; printf %s \"$DIORAMA_CONTRACT\"", "sh"] + Program.get("/a", "/b"))
    #expect(replayed.text.hasPrefix("200 /a 1\n200 /b 2\n"), "\(replayed.words)")
    #expect(try start(replayed)?.hasPrefix("2018-10-08T09:00:00") == true)
    await upstream.stop()
  }

  @Test("proxy forwards every request and writes nothing")
  func proxy() async throws {
    let outcome = try await Diorama.run(
      ["run", "--mode", "proxy", "--upstream", "api=\(upstream.url)", "--"] + Program.get("/a", "/a"),
      folder: folder.path)
    #expect(outcome.text == "200 /a 1\n200 /a 2\n")
    #expect(outcome.status == 0)
    #expect(folder.names == [])
    await upstream.stop()
  }

  @Test("a cassette's path may be relative, in a new folder, and end in .har")
  func paths() async throws {
    let recorded = try await Diorama.run(
      ["run", "--cassette", "deep/er/booking.har", "--upstream", "api=\(upstream.url)", "--"] + Program.get("/a"),
      folder: folder.path)
    #expect(recorded.status == 0, "\(recorded.words)")
    await upstream.stop()
    #expect(folder.has("deep/er/booking.har"))
    let replayed = try await Diorama.run(
      ["run", "--mode", "replay", "--cassette", "deep/er/booking", "--"] + Program.get("/a"), folder: folder.path)
    #expect(replayed.text == "200 /a 1\n")
  }

  @Test("a string missing from the store fails a replay with 3, and the report names it")
  func missingString() async throws {
    let draw = """
      import http.client, json, os, sys
      url = os.environ["DIORAMA_CONTROL"]
      host, path = url.split("//")[1].split("/", 1)
      connection = http.client.HTTPConnection(host)
      connection.request("POST", f"/{path}/strings", json.dumps({"key": sys.argv[1], "length": 12}),
                         {"Authorization": "Bearer " + os.environ["DIORAMA_TOKEN"]})
      response = connection.getresponse()
      print(response.status, json.loads(response.read()).get("value"))
      """
    let command = Program.python + ["-c", draw]
    let recorded = try await run(
      "record", command + ["email"], options: ["--seed", "recording-2018", "--allow-no-requests"])
    #expect(recorded.text == "200 z0r1lpyugt7o\n", "\(recorded.words)")
    let replayed = try await run("replay", command + ["email"], options: ["--allow-no-requests"])
    #expect(replayed.text == "200 z0r1lpyugt7o\n")
    #expect(replayed.status == 0)
    let missed = try await run("replay", command + ["e-mail"], options: ["--report", folder.file("report")])
    #expect(missed.text.hasPrefix("409"))
    #expect(missed.status == 3)
    #expect(missed.words.contains("'e-mail'"))
    let strings = try #require(try folder.json("report")["strings"] as? [String: Any])
    #expect((strings["missing"] as? [[String: Any]])?.first?["key"] as? String == "e-mail")
    #expect((strings["unused"] as? [[String: Any]])?.first?["key"] as? String == "email")
    await upstream.stop()
  }

  @Test("mode mock says that it has no stubs, to the user and to the app")
  func mock() async throws {
    let outcome = try await Diorama.run(
      ["run", "--mode", "mock", "--upstream", "api=http://127.0.0.1:1", "--"] + Program.get("/a"))
    #expect(outcome.status == 3)
    #expect(outcome.text == "501 {\n")
    let lines = outcome.lines
    let none = "; to answer from a recording, use mode once"
    #expect(
      lines.first
        == "diorama: mode mock answers from stubs, and there are none, so every request gets status 501; "
        + "name a folder of stubs with --stubs DIR\(none)")
    #expect(lines.contains("  no stub: GET http://127.0.0.1:1/a"), "\(outcome.words)")
    #expect(lines.last == "  mode mock answers from stubs, and there are none\(none)")
    // Without an upstream there is nothing to answer.
    #expect(try await Diorama.run("run", "--mode", "mock", "--", "true").lines.count == 1)
  }
}
