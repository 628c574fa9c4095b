import Foundation
import TestSupport
import Testing

@Suite("A diorama run that is killed", .timeLimit(.minutes(5)))
struct KilledTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  /// Asks for some paths, starts a child, says so, and waits for ever.
  private static let app = """
    import http.client, os, signal, subprocess, sys
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1])
    for path in sys.argv[1:]:
        connection.request("GET", path)
        connection.getresponse().read()
    subprocess.Popen(["sleep", "1000"])
    print("ready")
    signal.pause()
    """

  private func arguments(_ mode: String, _ upstream: Upstream) -> [String] {
    ["run", "--mode", mode, "--cassette", folder.file("tape"), "--upstream", "api=\(upstream.url)"]
  }

  /// Kills a run once its app has received the paths. When this returns, all that it started is gone.
  private func kill(_ mode: String, _ paths: String...) async throws {
    let upstream = try Upstream()
    let place = try Folder()
    let words =
      arguments(mode, upstream) + ["--credential", "s/a=env:HOME", "--"] + Program.python + ["-c", Self.app] + paths
    try await onThread {
      // Everything that the run starts inherits one end: the other one ends with the last of them.
      var ends: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
      let child = try Diorama.start(
        words, variables: ["TMPDIR": place.path, "HOME": "secret"], extra: [(ends[1], 9)])
      close(ends[1])
      try child.wait(for: "ready")
      #expect(place.names.count == 1)
      child.send(SIGKILL)
      #expect(child.finish().status == 137)
      var byte: UInt8 = 0
      #expect(read(ends[0], &byte, 1) == 0)
      close(ends[0])
    }
    #expect(place.names == [])
    await upstream.stop()
  }

  private func record(_ mode: String, _ paths: String...) async throws -> Child.Outcome {
    let upstream = try Upstream()
    let app = Self.app.split(separator: "\n").dropLast(3).joined(separator: "\n")
    let outcome = try await Diorama.run(
      arguments(mode, upstream) + ["--"] + Program.python + ["-c", app] + paths)
    await upstream.stop()
    #expect(outcome.status == 0, "\(outcome.words)")
    return outcome
  }

  private func urls(_ name: String = "tape.har") throws -> [String] {
    let log = try #require(try folder.json(name)["log"] as? [String: Any])
    let entries = try #require(log["entries"] as? [[String: Any]])
    return entries.compactMap { ($0["request"] as? [String: Any])?["url"] as? String }
      .map { String($0.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }) }
  }

  @Test("takes its command with it and leaves the old cassette whole; show and check tell of the rest")
  func old() async throws {
    _ = try await record("record", "/old")
    let before = [try folder.read("tape.har"), try folder.read("tape.strings.json")]
    try await kill("record", "/new/1", "/new/2")
    #expect([try folder.read("tape.har"), try folder.read("tape.strings.json")] == before)
    #expect(folder.has("tape.har.partial"))
    for verb in ["show", "check"] {
      let outcome = try await Diorama.run("cassette", verb, folder.file("tape"))
      #expect(outcome.status == 0)
      #expect(outcome.words.contains("2 interactions"), "\(outcome.words)")
      #expect(outcome.words.contains("--recover"))
      let json = try await Diorama.run("cassette", verb, "--json", folder.file("tape"))
      #expect(json.text.contains("\"unfinished\" : 2"))
    }
    let recovered = try await Diorama.run("cassette", "check", "--recover", folder.file("tape"))
    #expect(recovered.status == 0)
    #expect(recovered.text.contains("recovered 2 interactions"))
    #expect(try urls() == ["/new/1", "/new/2"])
    #expect(try urls("tape.previous.har") == ["/old"])
    #expect(!folder.has("tape.har.partial"))
    #expect(try await Diorama.run("cassette", "check", folder.file("tape"), folder.file("tape.previous")).status == 0)
  }

  @Test("without an old cassette: show says so with 66, and recovering makes one")
  func fresh() async throws {
    try await kill("record", "/a")
    #expect(folder.names == ["tape.har.partial"])
    for words in [["cassette", "show"], ["cassette", "check"], ["run", "--mode", "replay", "--cassette"]] {
      let outcome = try await Diorama.run(words + [folder.file("tape")] + (words[0] == "run" ? ["--", "true"] : []))
      expectOneLine(outcome, status: 66, naming: "--recover", folder.file("tape"))
    }
    #expect(try await Diorama.run("cassette", "check", "--recover", folder.file("tape")).status == 0)
    #expect(try urls() == ["/a"])
  }

  @Test("the next recording keeps what was left beside the new cassette")
  func nextRecording() async throws {
    try await kill("record", "/a")
    let outcome = try await record("record", "/b")
    #expect(outcome.words.contains("tape.unfinished.har"))
    #expect(try urls() == ["/b"])
    #expect(try urls("tape.unfinished.har") == ["/a"])
  }

  @Test("the next extension takes up what was left")
  func nextExtension() async throws {
    _ = try await record("record", "/a")
    try await kill("extend", "/b")
    #expect(try urls() == ["/a"])
    let outcome = try await record("extend", "/c")
    #expect(outcome.words.contains("recovered"))
    #expect(try urls() == ["/a", "/b", "/c"])
  }

  @Test("leaves no folder behind when it had not come to its command yet")
  func early() async throws {
    let place = try Folder()
    let (report, journal) = (folder.file("report"), folder.file("journal"))
    try #require(mkfifo(journal, 0o600) == 0)
    try await onThread {
      var ends: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
      // It tries the report, which leaves nothing behind, and waits at the journal, which nobody reads.
      let tried = inotify_init1(Int32(O_CLOEXEC))
      defer { close(tried) }
      try #require(inotify_add_watch(tried, folder.path, UInt32(IN_DELETE)) >= 0)
      let child = try Diorama.start(
        ["run", "--mode", "mock", "--report", report, "--journal", journal, "--", "true"],
        variables: ["TMPDIR": place.path], extra: [(ends[1], 9)])
      close(ends[1])
      var opened = pollfd(fd: tried, events: Int16(POLLIN), revents: 0)
      #expect(poll(&opened, 1, 20_000) == 1)
      #expect(place.names.count == 1)
      child.send(SIGKILL)
      #expect(child.finish().status == 137)
      var byte: UInt8 = 0
      #expect(read(ends[0], &byte, 1) == 0)
      close(ends[0])
    }
    #expect(place.names == [])
  }

  @Test("while it runs, nobody else records or recovers the same cassette: 73")
  func locked() async throws {
    let upstream = try Upstream()
    let words = arguments("record", upstream)
    let running = words + ["--"] + Program.python + ["-c", Self.app, "/a"]
    let place = folder.file("tape")
    let (second, recovery) = try await onThread {
      let child = try Diorama.start(running)
      try child.wait(for: "ready")
      let second = try Diorama.start(words + ["--", "true"]).finish()
      let recovery = try Diorama.start(["cassette", "check", "--recover", place]).finish()
      child.send(SIGKILL)
      _ = child.finish()
      return (second, recovery)
    }
    expectOneLine(second, status: 73, naming: "another process", folder.file("tape.har"))
    expectOneLine(recovery, status: 73, naming: "another process", folder.file("tape.har"))
    #expect(try await Diorama.run("cassette", "check", "--recover", folder.file("tape")).status == 0)
    #expect(try urls() == ["/a"])
    await upstream.stop()
  }
}
