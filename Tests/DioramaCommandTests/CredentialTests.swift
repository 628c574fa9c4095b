import Foundation
import TestSupport
import Testing

@Suite("Credentials", .timeLimit(.minutes(5)))
struct CredentialTests {
  @Test("reach the app by a file that only its owner reads, never by a command line, a report or a journal")
  func secret() async throws {
    let folder = try Folder()
    try folder.write("from-the-file", to: "secret", mode: 0o600)
    let secret = "hunter-\(UUID().uuidString)"
    let script = """
      import base64, json, os, stat
      value = os.environ["DIORAMA_CONTRACT"]
      path = value.removeprefix("file:")
      print(value.startswith("file:/"))
      print(oct(stat.S_IMODE(os.stat(path).st_mode)), oct(stat.S_IMODE(os.stat(os.path.dirname(path)).st_mode)))
      for item in json.load(open(path))["credentials"]["items"]:
          print(item["service"], item["account"], base64.b64decode(item["secret"]).decode())
      print(path)
      for pid in filter(str.isdigit, os.listdir("/proc")):
          try: line = open(f"/proc/{pid}/cmdline", "rb").read()
          except OSError: continue
          if os.environ["TOKEN"].encode() in line: print("seen in", line)
      """
    let outcome = try await Diorama.run(
      [
        "run", "--mode", "mock", "--credential", "clinic/auth-token=env:TOKEN", "--credential",
        "mail/a=b/c=file:\(folder.file("secret"))", "--report", folder.file("report"), "--journal",
        folder.file("journal"), "--",
      ] + Program.python + ["-c", script], variables: ["TOKEN": secret, "TMPDIR": folder.path])
    #expect(outcome.status == 0, "\(outcome.words)")
    let lines = outcome.text.split(separator: "\n").map(String.init)
    try #require(lines.count == 5, "\(outcome.text)")
    #expect(lines[0] == "True")
    #expect(lines[1] == "0o600 0o700")
    #expect(lines[2] == "clinic auth-token \(secret)")
    #expect(lines[3] == "mail a=b/c from-the-file")
    #expect(!FileManager.default.fileExists(atPath: lines[4]))
    #expect(folder.names == ["journal", "report", "secret"])
    for text in [try folder.read("report"), try folder.read("journal"), outcome.words] {
      #expect(!text.contains(secret))
      #expect(!text.contains(Data(secret.utf8).base64EncodedString()))
    }
  }

  @Test("a contract above 32 KiB goes by file too")
  func large() async throws {
    let value = String(repeating: "x", count: 40_000)
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--value", "big=\(value)", "--", "sh", "-c",
      "wc -c < \"${DIORAMA_CONTRACT#file:}\"; echo \"$DIORAMA_CONTRACT\"")
    let lines = outcome.text.split(separator: "\n").map(String.init)
    try #require(lines.count == 2, "\(outcome.words)")
    #expect((Int(lines[0].trimmingCharacters(in: .whitespaces)) ?? 0) > 40_000)
    #expect(lines[1].hasPrefix("file:/"))
    #expect(!FileManager.default.fileExists(atPath: String(lines[1].dropFirst(5))))
  }
}
