import Foundation
import TestSupport
import Testing

@Suite("Irregular input files")
struct InputFileTests {
  private let folder: Folder

  init() throws { folder = try Folder() }

  private static let har = #"""
    {"log": {"version": "1.2", "creator": {"name": "t", "version": "1"}, "entries": [
    {"startedDateTime": "2018-10-08T09:00:00Z", "time": 1, "request": {"method": "GET", "url": "http://h.test/a"},
    "response": {"status": 200, "content": {"size": 1, "mimeType": "text/plain", "text": "a"}}}]}}
    """#

  /// Creates a FIFO without a writer, an endless device, or a folder.
  private func put(_ kind: String, at name: String) throws {
    switch kind {
    case "pipe": try #require(mkfifo(folder.file(name), 0o600) == 0)
    case "device": try #require(symlink("/dev/zero", folder.file(name)) == 0)
    default: try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: false)
    }
  }

  @Test("are refused as a cassette without waiting", arguments: ["pipe", "device", "folder"])
  func cassette(kind: String) async throws {
    try put(kind, at: "c.har")
    try folder.write(Self.har, to: "good.har")
    let cassette = folder.file("c")
    for words in [
      ["run", "--mode", "replay", "--cassette", cassette, "--", "true"],
      ["run", "--mode", "extend", "--cassette", cassette, "--upstream", "h=http://127.0.0.1:1", "--", "true"],
      ["cassette", "check", cassette], ["cassette", "show", cassette],
      ["cassette", "diff", cassette, folder.file("good")],
      ["cassette", "export", cassette, "--as", "har", "--to", folder.file("out.har")],
    ] {
      let outcome = try await Diorama.run(words)
      #expect(outcome.status == 65, "\(words): \(outcome.words)")
      #expect(outcome.words.contains("is a \(kind), not a HAR"), "\(words): \(outcome.words)")
    }
  }

  @Test(
    "are refused beside a cassette", arguments: ["pipe", "device"],
    ["c.strings.json", "c.rules.json", "redact.json", "c.har.partial"])
  func beside(kind: String, name: String) async throws {
    try folder.write(Self.har, to: "c.har")
    try put(kind, at: name)
    let outcome = try await Diorama.run(
      "run", "--cassette", folder.file("c"), "--mode", "extend", "--upstream", "h=http://127.0.0.1:1", "--", "true")
    #expect(outcome.status != 0 && outcome.lines.count == 1, "\(outcome.words)")
    #expect(outcome.words.contains(name), "\(outcome.words)")
  }

  @Test(
    "sparse files of terabytes are refused", arguments: ["c.har", "c.strings.json", "diorama.json", "c.har.partial"])
  func sparse(name: String) async throws {
    try folder.write(Self.har, to: "c.har")
    try folder.write("", to: name)
    try #require(truncate(folder.file(name), 1 << 43) == 0)
    let outcome = try await Diorama.run(
      ["run", "--cassette", folder.file("c"), "--mode", "extend", "--upstream", "h=http://127.0.0.1:1"]
        + (name == "diorama.json" ? ["--config", folder.file(name)] : []) + ["--", "true"])
    #expect(outcome.status != 0 && outcome.lines.count == 1, "\(outcome.words)")
    #expect(outcome.words.contains(name) && outcome.words.contains("it is larger than"), "\(outcome.words)")
  }

  @Test("sparse files are refused by their first byte", arguments: ["c.har", "c.strings.json"])
  func allHole(name: String) async throws {
    try folder.write(Self.har, to: "c.har")
    try folder.write("", to: name)
    try #require(truncate(folder.file(name), 1 << 30) == 0)
    let outcome = try await Diorama.run(["run", "--mode", "replay", "--cassette", folder.file("c"), "--", "true"])
    #expect(outcome.status == 74)
    #expect(outcome.words.contains("it is not text: it begins with a zero byte"), "\(outcome.words)")
  }

  @Test("devices and folders are refused as arguments", arguments: ["device", "folder"])
  func named(kind: String) async throws {
    try folder.write(Self.har, to: "c.har")
    try put(kind, at: "x")
    let file = folder.file("x")
    let run = ["run", "--mode", "replay", "--cassette", folder.file("c")]
    for words in [
      ["cassette", "import", file, "--to", folder.file("out")],
      run + ["--config", file, "--", "true"], run + ["--credential", "s/a=file:\(file)", "--", "true"],
      ["run", "--mode", "proxy", "--upstream", "h=https://h.test", "--ca", "h=\(file)", "--", "true"],
      ["cassette", "prune", folder.file("c"), "--report", file],
      ["cassette", "check", folder.file("c"), "--openapi", file],
      ["contract", "show", file], ["serve", "--config", file],
    ] {
      let outcome = try await Diorama.run(words)
      #expect(outcome.status != 0 && outcome.lines.count == 1, "\(words): \(outcome.words)")
      #expect(outcome.words.contains("it is a \(kind), not a regular file"), "\(words): \(outcome.words)")
    }
  }

  @Test("pipes are accepted as arguments")
  func pipes() async throws {
    try folder.write(Self.har, to: "c.har")
    try folder.write(#"{"matching": {"rules": [{"ignore": {"query": ["x"]}}]}}"#, to: "rules")
    let diorama = String(decoding: try Diorama.words([])[0], as: UTF8.self)
    let script = """
      set -e; cat "$1/c.har" | "$0" cassette import /dev/stdin --to "$1/out"
      mkfifo "$1/fifo"; cat "$1/rules" >"$1/fifo" & "$0" run --mode replay --cassette "$1/out" --config "$1/fifo" -- true || test $? = 3
      """
    let outcome = try await onThread {
      try Child(
        ["sh", "-c", script, diorama, folder.path].map { Array($0.utf8) }, environment: Diorama.environment()
      ).finish()
    }
    #expect(outcome.status == 0, "\(outcome.words)")
    #expect(folder.has("out.har"))
  }

  @Test("SIGTERM ends the import of an endless pipe")
  func terminated() async throws {
    try put("pipe", at: "x")
    try await onThread {
      let child = try Diorama.start(["cassette", "import", folder.file("x"), "--to", folder.file("out")])
      // Returns once the import has opened the pipe, which it then waits on.
      let writer = open(folder.file("x"), O_WRONLY | O_CLOEXEC)
      #expect(writer >= 0)
      child.send(SIGTERM)
      #expect(child.finish().status == 128 + SIGTERM)
      close(writer)
    }
  }
}
