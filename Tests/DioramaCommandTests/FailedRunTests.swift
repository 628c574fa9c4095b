import Foundation
import TestSupport
import Testing

@Suite("A run that failed is never reported as ok", .timeLimit(.minutes(5)))
struct FailedRunTests {
  private let folder: Folder
  private let upstream: Upstream

  init() throws {
    folder = try Folder()
    upstream = try Upstream()
  }

  private func run(
    _ command: [String], options: [String] = [], upstreams: [String]? = nil, variables: [String: String?] = [:]
  ) async throws -> Child.Outcome {
    let upstreams = (upstreams ?? ["api=\(upstream.url)"]).flatMap { ["--upstream", $0] }
    let words = ["run", "--cassette", folder.file("c"), "--report", folder.file("report")]
    return try await Diorama.run(words + upstreams + options + ["--"] + command, variables: variables)
  }

  private var isOK: Bool { get throws { try folder.json("report")["ok"] as? Bool == true } }

  @Test("if the command ignored its endpoint", arguments: ["record", "replay", "extend", "proxy"])
  func ignored(mode: String) async throws {
    if mode == "replay" || mode == "extend" { #expect(try await run(Program.get("/a")).status == 0) }
    let before = folder.names.filter { $0 != "report" }
    let outcome = try await run(["true"], options: ["--mode", mode])
    #expect(outcome.status == 3)
    #expect(outcome.words.contains("no request reached the environment"), "\(outcome.words)")
    for advice in ["DIORAMA_ENDPOINT_API", "--env VARIABLE=api", "--proxy", "--isolate", "--allow-no-requests"] {
      #expect(outcome.words.contains(advice), "\(outcome.words)")
    }
    #expect(try !isOK)
    #expect(folder.names.filter { $0 != "report" } == before)
    let failing = try await run(["false"], options: ["--mode", mode])
    #expect(failing.status == 1 && failing.words.contains("no request reached the environment"), "\(failing.words)")
    #expect(try !isOK)
    #expect(try await run(["true"], options: ["--mode", mode, "--allow-no-requests"]).status == 0)
    #expect(folder.names.filter { $0 != "report" } == before)
  }

  @Test("if some upstreams fail while recording, with how to save that only if the command succeeded")
  func halfDown() async throws {
    for status in ["0", "1"] {
      let command = ["sh", "-c", "\"$@\"; curl -s -o \"$0\" \"$DIORAMA_ENDPOINT_DOWN/\"; exit \(status)", "/dev/null"]
      let outcome = try await run(
        command + Program.get("/a"), upstreams: ["api=\(upstream.url)", "down=http://127.0.0.1:1"])
      #expect(outcome.status == (status == "0" ? 3 : 1))
      let advice = "to save a recording that lacks these responses: --allow-upstream-failures"
      #expect(outcome.words.contains(advice) == (status == "0"), "\(outcome.words)")
    }
  }

  @Test("if CI is set and there is no cassette, also where no requests are needed")
  func noCassette() async throws {
    let outcome = try await run(["true"], options: ["--allow-no-requests"], variables: ["CI": "1"])
    #expect(outcome.status == 66)
    #expect(outcome.words.contains("if it needs no requests, use --mode mock instead"), "\(outcome.words)")
    let mock = try await run(["true"], options: ["--mode", "mock"], upstreams: [], variables: ["CI": "1"])
    #expect(mock.status == 0 && mock.words.contains("mock ok") && !mock.words.contains(", from"), "\(mock.words)")
  }

  @Test("if an upstream fails while recording")
  func upstreamDown() async throws {
    let closed = ["api=\(upstream.url)"]
    await upstream.stop()
    let outcome = try await run(Program.get("/a"), upstreams: closed)
    #expect(outcome.status == 3)
    #expect(outcome.words.contains("failed upstream: GET \(upstream.url)/a: "), "\(outcome.words)")
    #expect(!outcome.words.contains("--allow-upstream-failures"), "there is nothing to save")
    #expect(try !isOK)
    #expect(folder.names == ["report"])
    #expect(try await run(Program.get("/a"), options: ["--allow-upstream-failures"], upstreams: closed).status == 0)
    #expect(try await run(Program.get("/a"), options: ["--mode", "proxy"], upstreams: closed).status == 0)
  }

  @Test("if the command failed: the cassette stays as it was, and the new recording is kept beside it")
  func half() async throws {
    #expect(try await run(Program.get("/good")).status == 0)
    let good = try folder.read("c.har")
    let half = ["sh", "-c", "\"$@\"; exit 7", "sh"] + Program.get("/half")
    let failed = try await run(half, options: ["--mode", "record"])
    #expect(failed.status == 7)
    #expect(try folder.read("c.har") == good)
    let take = "diorama cassette check --recover \(folder.file("c"))"
    #expect(failed.lines.last?.hasSuffix(take) == true, "\(failed.words)")
    #expect(failed.words.contains(folder.file("c.failed.har")))

    let check = try await Diorama.run("cassette", "check", folder.file("c"))
    #expect(check.status == 0 && check.words.contains("c.failed.har"), "\(check.words)")
    let recovered = try await Diorama.run("cassette", "check", "--recover", folder.file("c"))
    #expect(recovered.status == 0)
    let kept = "recovered 1 interaction; the old cassette is kept as \(folder.file("c.previous.har"))"
    #expect(recovered.text.contains(kept), "\(recovered.text)")
    #expect(try folder.read("c.har").contains("/half") && !folder.has("c.failed.har"))
    #expect(try folder.read("c.previous.har").contains("/good"))
    #expect(try await run(half, options: ["--mode", "record", "--failed-recording", "replace"]).status == 7)
    #expect(!folder.has("c.failed.har"))
  }

  @Test("and a first recording that failed is not replayed by the corrected command")
  func first() async throws {
    #expect(try await run(["sh", "-c", "\"$@\"; exit 1", "sh"] + Program.get("/wrong")).status == 1)
    #expect(!folder.has("c.har"))
    let missing = try await run(Program.get("/right"), variables: ["CI": "1"])
    #expect(missing.words.contains("c.failed.har has the recording of a failed run"), "\(missing.words)")
    let corrected = try await run(Program.get("/right"))
    #expect(corrected.status == 0 && corrected.words.contains("record ok"), "\(corrected.words)")
    #expect(!folder.has("c.failed.har"))
  }

  @Test("DIORAMA_MODE chooses the mode, an option outranks it, and a wrong one is an error")
  func modeVariable() async throws {
    let proxied = try await run(Program.get("/a"), variables: ["DIORAMA_MODE": "proxy"])
    #expect(proxied.status == 0 && proxied.words.contains("proxy ok"), "\(proxied.words)")
    let recorded = try await run(
      Program.get("/a"), options: ["--mode", "record"], variables: ["DIORAMA_MODE": "proxy"])
    #expect(recorded.words.contains("record ok"), "\(recorded.words)")
    let wrong = try await run(["true"], variables: ["DIORAMA_MODE": "recrd"])
    expectOneLine(wrong, status: 64, naming: "DIORAMA_MODE", "did you mean 'record'?")
  }

  @Test("says what is missing where nothing has been recorded yet")
  func nothingYet() async throws {
    let continuous = try await run(["true"], variables: ["CI": "1"])
    expectOneLine(continuous, status: 66, naming: "CI is set", "--upstream api=\(upstream.url)")
    let noUpstream = try await run(["true"], upstreams: [])
    expectOneLine(noUpstream, status: 69, naming: "yet, so this run would record")
  }
}
