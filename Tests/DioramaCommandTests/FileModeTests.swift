import Foundation
import TestSupport
import Testing

@Suite("Files of diorama run", .timeLimit(.minutes(5)))
struct FileModeTests {
  /// Sends a body that gets a file of its own, then prints the mode of each file and folder below its argument.
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

  @Test("can be written by their owner only, and recordings and journals read by nobody else, whatever the umask is")
  func umask() async throws {
    let folder = try Folder()
    let (status, modes) = try await record(in: folder, "new/tape")
    #expect(status == 0)
    #expect(modes["new"] == "755" && modes["new/tape.bodies"] == "755")
    #expect(modes["new/tape.har.partial"] == "600" && modes["journal"] == "600")
    #expect(modes.filter { $0.key.hasPrefix("new/tape.bodies/") }.map(\.value) == ["644"])
    for name in ["new/tape.har", "report"] { #expect(mode(folder, name) == "644") }
    #expect(mode(folder, "journal") == "600")
  }

  @Test("that were there before lose what their mode has too much, and gain nothing")
  func before() async throws {
    let folder = try Folder()
    try folder.write("", to: "report", mode: 0o666)
    try folder.write("", to: "journal", mode: 0o644)
    try folder.write("", to: "tape.har.partial", mode: 0o664)
    let (status, modes) = try await record(in: folder, "tape")
    #expect(status == 0)
    #expect(modes["tape.har.partial"] == "600" && modes["journal"] == "600")
    #expect(mode(folder, "report") == "644")
    try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: folder.file("report"))
    #expect(try await record(in: folder, "tape").status == 0)
    #expect(mode(folder, "report") == "600")
  }
}
