import Foundation
import TestSupport
import Testing

@Suite("Killed diorama run", .timeLimit(.minutes(5)))
struct KilledTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  /// Sends requests, starts a child process, prints "ready", and waits.
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
    ["run", "--mode", mode, "--cassette", folder.file("booking"), "--upstream", "api=\(upstream.url)"]
  }

  /// Kills a run once its app has received the responses. Returns when all processes of the run have ended.
  private func kill(_ mode: String, _ paths: String...) async throws {
    let upstream = try Upstream()
    let place = try Folder()
    let words =
      arguments(mode, upstream) + ["--credential", "s/a=env:HOME", "--"] + Program.python + ["-c", Self.app] + paths
    try await onThread {
      // All processes of the run inherit one end; the other end is closed with the last of them.
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

  private func urls(_ name: String = "booking.har") throws -> [String] {
    let log = try #require(try folder.json(name)["log"] as? [String: Any])
    let entries = try #require(log["entries"] as? [[String: Any]])
    return entries.compactMap { ($0["request"] as? [String: Any])?["url"] as? String }
      .map { String($0.drop { $0 != ":" }.dropFirst(3).drop { $0 != "/" }) }
  }

  @Test("ends its command and keeps the old cassette; show and check report the unfinished recording")
  func old() async throws {
    _ = try await record("record", "/old")
    let before = [try folder.read("booking.har"), try folder.read("booking.strings.json")]
    try await kill("record", "/new/1", "/new/2")
    #expect([try folder.read("booking.har"), try folder.read("booking.strings.json")] == before)
    #expect(folder.has("booking.har.partial"))
    for verb in ["show", "check"] {
      let outcome = try await Diorama.run("cassette", verb, folder.file("booking"))
      #expect(outcome.status == 0)
      #expect(outcome.words.contains("2 interactions"), "\(outcome.words)")
      #expect(outcome.words.contains("--recover"))
      let json = try await Diorama.run("cassette", verb, "--json", folder.file("booking"))
      #expect(json.text.contains("\"unfinished\" : 2"))
    }
    let recovered = try await Diorama.run("cassette", "check", "--recover", folder.file("booking"))
    #expect(recovered.status == 0)
    let previous = folder.file("booking.previous.har")
    #expect(recovered.text.contains("recovered 2 interactions; the old cassette is kept as \(previous)"))
    #expect(try urls() == ["/new/1", "/new/2"])
    #expect(try urls("booking.previous.har") == ["/old"])
    #expect(!folder.has("booking.har.partial"))
    #expect(
      try await Diorama.run("cassette", "check", folder.file("booking"), folder.file("booking.previous")).status == 0)
  }

  @Test("without an old cassette, show exits with 66, and --recover creates the cassette")
  func fresh() async throws {
    try await kill("record", "/a")
    #expect(folder.names == ["booking.har.partial"])
    for words in [["cassette", "show"], ["cassette", "check"], ["run", "--mode", "replay", "--cassette"]] {
      let outcome = try await Diorama.run(words + [folder.file("booking")] + (words[0] == "run" ? ["--", "true"] : []))
      expectOneLine(outcome, status: 66, naming: "--recover", folder.file("booking"))
    }
    #expect(try await Diorama.run("cassette", "check", "--recover", folder.file("booking")).status == 0)
    #expect(try urls() == ["/a"])
  }

  @Test("keeps the unfinished recording beside the next one, and says how to make it the cassette")
  func nextRecording() async throws {
    try await kill("record", "/a")
    let outcome = try await record("record", "/b")
    #expect(outcome.words.contains("booking.unfinished.har"))
    #expect(try urls() == ["/b"])
    #expect(try urls("booking.unfinished.har") == ["/a"])
    #expect(
      outcome.words.contains(
        "booking.unfinished.har; to make it the cassette: diorama cassette check --recover \(folder.file("booking"))"))
    let checked = try await Diorama.run("cassette", "check", folder.path)
    #expect(
      checked.words.contains("booking.unfinished.har; a newer one exists; remove this one"), "\(checked.words)")
    let recovered = try await Diorama.run("cassette", "check", "--recover", folder.file("booking"))
    #expect(recovered.status == 0, "\(recovered.words)")
    #expect(try urls() == ["/a"])
    #expect(try urls("booking.previous.har") == ["/b"])
    #expect(!folder.has("booking.unfinished.har"))
  }

  @Test("is recovered by the next extension")
  func nextExtension() async throws {
    _ = try await record("record", "/a")
    try await kill("extend", "/b")
    #expect(try urls() == ["/a"])
    let outcome = try await record("extend", "/c")
    #expect(outcome.words.contains("recovered"))
    #expect(try urls() == ["/a", "/b", "/c"])
  }

  @Test("leaves no folder behind if its command hasn't started")
  func early() async throws {
    let place = try Folder()
    let (report, journal) = (folder.file("report"), folder.file("journal"))
    try #require(mkfifo(journal, 0o600) == 0)
    try await onThread {
      var ends: [Int32] = [0, 0]
      try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0, &ends) == 0)
      // The run creates and deletes the report, then blocks opening the journal, which has no reader.
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

  @Test("a second recording or recovery of the same cassette exits with 73")
  func locked() async throws {
    let upstream = try Upstream()
    let words = arguments("record", upstream)
    let running = words + ["--"] + Program.python + ["-c", Self.app, "/a"]
    let place = folder.file("booking")
    let (second, recovery, shown, checked) = try await onThread {
      let child = try Diorama.start(running)
      try child.wait(for: "ready")
      let second = try Diorama.start(words + ["--", "true"]).finish()
      let recovery = try Diorama.start(["cassette", "check", "--recover", place]).finish()
      let shown = try Diorama.start(["cassette", "show", place]).finish()
      let checked = try Diorama.start(["cassette", "check", place]).finish()
      child.send(SIGKILL)
      _ = child.finish()
      return (second, recovery, shown, checked)
    }
    expectOneLine(second, status: 73, naming: "another process", folder.file("booking.har"))
    expectOneLine(recovery, status: 73, naming: "another process", folder.file("booking.har"))
    for outcome in [shown, checked] {
      expectOneLine(outcome, status: 66, naming: "another process is still recording it; wait until it finishes")
    }
    #expect(try await Diorama.run("cassette", "check", "--recover", folder.file("booking")).status == 0)
    #expect(try urls() == ["/a"])
    await upstream.stop()
  }
}
