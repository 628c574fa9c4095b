import Foundation
import TestSupport
import Testing

@Suite("File modes of diorama run", .timeLimit(.minutes(5)))
struct FileModeTests {
  /// Sends a body that is stored as a file, then prints the mode of each file and folder below its argument.
  private static let client = """
    import http.client, os, sys
    connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1], timeout=240)
    connection.request("POST", "/a", b"x" * 300000)
    connection.getresponse().read()
    for folder, folders, files in os.walk(sys.argv[1]):
        for name in folders + files:
            path = os.path.join(folder, name)
            print(os.path.relpath(path, sys.argv[1]), oct(os.stat(path).st_mode)[-3:])
    """

  private func record(in folder: Folder, _ cassette: String) async throws -> (status: Int32, modes: [String: String]) {
    let upstream = try Upstream()
    let options = [
      "--cassette", folder.file(cassette), "--report", folder.file("report"), "--journal", folder.file("journal"),
    ]
    let words = try Diorama.words(
      ["run", "--mode", "record", "--upstream", "api=\(upstream.url)"] + options + ["--"] + Program.python
        + ["-c", Self.client, folder.path])
    let outcome = try await onThread {
      try Child(
        ["sh", "-c", "umask 0; exec \"$@\"", "sh"].map { Array($0.utf8) } + words, environment: Diorama.environment()
      ).finish()
    }
    await upstream.stop()
    let pairs = outcome.text.split(separator: "\n").map { $0.split(separator: " ") }
    return (outcome.status, Dictionary(uniqueKeysWithValues: pairs.map { (String($0[0]), String($0[1])) }))
  }

  private func mode(_ folder: Folder, _ name: String) -> String {
    let mode = try? FileManager.default.attributesOfItem(atPath: folder.file(name))[.posixPermissions] as? Int
    return mode.map { String($0, radix: 8) } ?? "none"
  }

  @Test("restrict writing to the owner, and reading of partial recordings and journals, whatever the umask is")
  func umask() async throws {
    let folder = try Folder()
    let (status, modes) = try await record(in: folder, "new/booking")
    #expect(status == 0)
    #expect(modes["new"] == "755" && modes["new/booking.bodies"] == "755")
    #expect(modes["new/booking.har.partial"] == "600" && modes["journal"] == "600")
    #expect(modes.filter { $0.key.hasPrefix("new/booking.bodies/") }.map(\.value) == ["644"])
    for name in ["new/booking.har", "report"] { #expect(mode(folder, name) == "644") }
    #expect(mode(folder, "journal") == "600")
  }

  @Test("are reduced for existing files, and never extended")
  func before() async throws {
    let folder = try Folder()
    try folder.write("", to: "report", mode: 0o666)
    try folder.write("", to: "journal", mode: 0o644)
    try folder.write("", to: "booking.har.partial", mode: 0o664)
    let (status, modes) = try await record(in: folder, "booking")
    #expect(status == 0)
    #expect(modes["booking.har.partial"] == "600" && modes["journal"] == "600")
    #expect(mode(folder, "report") == "644")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file("report"))
    #expect(try await record(in: folder, "booking").status == 0)
    #expect(mode(folder, "report") == "600")
  }
}

@Suite("Closed or unread standard error", .timeLimit(.minutes(5)))
struct StandardErrorTests {
  @Test("doesn't prevent the cassette and the report", arguments: [true, false])
  func sealing(isClosed: Bool) async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    let outcome = try await Diorama.run(
      [
        "run", "--mode", "record", "--cassette", folder.file("booking"), "--upstream", "api=\(upstream.url)",
        "--report",
        folder.file("report"), "--",
      ] + Program.get("/a"), errors: isClosed ? .closed : .unread)
    await upstream.stop()
    #expect(outcome.status == 0)
    #expect(outcome.text == "200 /a 1\n")
    #expect(folder.names == ["booking.har", "booking.strings.json", "report"])
    let log = try #require(try folder.json("booking.har")["log"] as? [String: Any])
    #expect((log["entries"] as? [Any])?.count == 1)
    #expect(try folder.json("report")["ok"] as? Bool == true)
    #expect(!(try folder.read("booking.har")).contains("diorama: "))
  }

  @Test("is replaced by /dev/null, so no other file gets the descriptor")
  func notElsewhere() async throws {
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--", "sh", "-c", "readlink /proc/$PPID/fd/2", errors: .closed)
    #expect(outcome.status == 0)
    #expect(outcome.text == "/dev/null\n")
  }

  @Test("stays closed for the command")
  func command() async throws {
    let outcome = try await Diorama.run(
      ["run", "--mode", "mock", "--"] + Program.python
        + ["-c", "import os\ntry: os.fstat(2); print('open')\nexcept OSError: print('closed')"], errors: .closed)
    #expect(outcome.text == "closed\n")
  }
}

@Suite("Open files limit", .timeLimit(.minutes(5)))
struct OpenFilesTests {
  @Test("is raised to the hard limit for diorama run, but not for its command")
  func limits() async throws {
    // Prints the command's soft limit, then waits until its parent has the raised limit.
    let script = "ulimit -Sn; until grep '^Max open files  *300 ' /proc/$PPID/limits; do :; done"
    let words = try Diorama.words(["run", "--mode", "mock", "--", "sh", "-c", script])
    let outcome = try await onThread {
      try Child(
        ["sh", "-c", "ulimit -Sn 100; ulimit -Hn 300; exec \"$@\"", "sh"].map { Array($0.utf8) } + words,
        environment: Diorama.environment()
      ).finish()
    }
    #expect(outcome.text.hasPrefix("100\nMax open files"))
  }
}
