import Foundation
import TestSupport
import Testing

@Suite("A standard error that is closed, or that nobody reads", .timeLimit(.minutes(5)))
struct StandardErrorTests {
  @Test("stops neither the sealing nor the report", arguments: [true, false])
  func sealing(isClosed: Bool) async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    let outcome = try await Diorama.run(
      [
        "run", "--mode", "record", "--cassette", folder.file("tape"), "--upstream", "api=\(upstream.url)", "--report",
        folder.file("report"), "--",
      ] + Program.get("/a"), errors: isClosed ? .closed : .unread)
    await upstream.stop()
    #expect(outcome.status == 0)
    #expect(outcome.text == "200 /a 1\n")
    #expect(folder.names == ["report", "tape.har", "tape.strings.json"])
    let log = try #require(try folder.json("tape.har")["log"] as? [String: Any])
    #expect((log["entries"] as? [Any])?.count == 1)
    #expect(try folder.json("report")["ok"] as? Bool == true)
    #expect(!(try folder.read("tape.har")).contains("diorama: "))
  }

  @Test("our words go into no file or socket that is opened next: nothing else gets the descriptor")
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
