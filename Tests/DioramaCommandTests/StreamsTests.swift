import Foundation
import TestSupport
import Testing

@Suite("Streams, arguments and descriptors of the command", .timeLimit(.minutes(5)))
struct StreamsTests {
  private func run(
    _ command: [String], options: [String] = [], input: Child.Input = .nothing
  ) async throws -> Child.Outcome {
    try await Diorama.run(["run", "--mode", "mock"] + options + ["--"] + command, input: input)
  }

  @Test("standard input and output pass a megabyte of any bytes")
  func binary() async throws {
    let bytes = (0..<1_048_576).map { UInt8(truncatingIfNeeded: $0 &* 2_654_435_761 >> 7) }
    let outcome = try await run(["cat"], input: .bytes(bytes))
    #expect(outcome.status == 0)
    #expect(outcome.output == bytes)
  }

  @Test("standard error is shared with Diorama")
  func standardError() async throws {
    let outcome = try await run(["sh", "-c", "echo out; echo err >&2"])
    #expect(outcome.text == "out\n")
    #expect(outcome.lines.first == "err")
    #expect(outcome.lines.dropFirst().allSatisfy { $0.hasPrefix("diorama: ") || $0.hasPrefix("  ") })
    #expect(outcome.lines.count >= 2)
  }

  @Test("a closed standard input stays closed")
  func closedInput() async throws {
    let outcome = try await run(
      Program.python + ["-c", "import os\ntry: os.fstat(0); print('open')\nexcept OSError: print('closed')"],
      input: .closed)
    #expect(outcome.text == "closed\n")
  }

  @Test("arguments are passed unchanged")
  func arguments() async throws {
    let words = ["", "a b", "--", "--help", "-x", "'\"$`\\", "naïve 🙂", "new\nline", "*"]
    let outcome = try await run(["sh", "-c", "for word; do printf '%s\\0' \"$word\"; done", "sh"] + words)
    #expect(outcome.text == words.map { "\($0)\0" }.joined())
    let listening = try await run(
      ["sh", "-c", "for word; do printf '%s\\0' \"$word\"; done", "sh"] + words, options: ["--listen", "web"])
    #expect(listening.text == words.map { "\($0)\0" }.joined())
  }

  @Test("arguments and variables that aren't UTF-8 are passed unchanged")
  func bytes() async throws {
    let outcome = try await onThread {
      let words = try Diorama.words(["run", "--mode", "mock", "--", "printf", "%s."]) + [[0x61, 0xFF, 0xE9, 0x62]]
      return try Child(words, environment: Diorama.environment()).finish()
    }
    #expect(outcome.output == [0x61, 0xFF, 0xE9, 0x62, 0x2E])
    let variable = try await onThread {
      let script = "LATIN=$(printf 'a\\351b'); export LATIN; exec \"$@\""
      let words = try Diorama.words(["run", "--mode", "mock", "--", "sh", "-c", "printf %s \"$LATIN\""])
      return try Child(["sh", "-c", script, "sh"].map { Array($0.utf8) } + words, environment: Diorama.environment())
        .finish()
    }
    #expect(variable.output == [0x61, 0xE9, 0x62])
  }

  @Test("an option takes the next argument, even if it begins with a dash, or --name=value")
  func optionValues() async throws {
    let folder = try Folder()
    let report = folder.file("report")
    let outcome = try await Diorama.run(
      [
        "run", "--mode=mock", "--seed", "--mode", "--report=\(report)", "--toggle", "--x=1", "--value=a=b=c", "--",
        "sh", "-c",
        "printf %s \"$DIORAMA_CONTRACT\"",
      ])
    #expect(outcome.status == 0, "\(outcome.words)")
    let contract = try object(outcome.text)
    #expect(contract["seed"] as? String == "--mode")
    #expect((contract["toggles"] as? [String: Any])?["--x"] as? Int == 1)
    #expect((contract["values"] as? [String: Any])?["a"] as? String == "b=c")
    #expect(folder.has("report"))
    let dashes = try await Diorama.run(
      ["run", "--mode", "mock", "--seed", "--", "--", "sh", "-c", "printf %s \"$DIORAMA_CONTRACT\""])
    #expect(try object(dashes.text)["seed"] as? String == "--")
  }

  @Test("the command inherits the caller's descriptors, and none of Diorama's")
  func descriptors() async throws {
    // Closes the test runner's descriptors.
    let launcher = """
      import os, sys
      os.closerange(3, 1000)
      os.dup2(1, 9)
      os.execv(sys.argv[1], sys.argv[1:])
      """
    let list = """
      import os
      print([n for n in range(1000) if os.path.lexists(f"/proc/self/fd/{n}") and os.path.exists(f"/proc/self/fd/{n}")])
      """
    let outcome = try await onThread {
      let folder = try Folder()
      let words = try Diorama.words(
        [
          "run", "--mode", "proxy", "--upstream", "api=http://127.0.0.1:1", "--port", "p", "--journal",
          folder.file("journal"), "--",
        ] + Program.python + ["-c", list])
      return try Child(
        (Program.python + ["-c", launcher]).map { Array($0.utf8) } + words, environment: Diorama.environment()
      ).finish()
    }
    #expect(outcome.text == "[0, 1, 2, 9]\n", "\(outcome.words)")
  }

  @Test("the command has default signal handling and no blocked signals")
  func signalState() async throws {
    let outcome = try await run(["sh", "-c", "grep -E '^Sig(Blk|Ign)' /proc/self/status | tr -d '\\n\\t'"])
    // glibc's posix_spawn(3) ignores its internal signals 32 and 33.
    #expect(outcome.text.contains(/SigBlk:0{16}SigIgn:0{7}[01]80000000$|SigBlk:0{16}SigIgn:0{16}$/), "\(outcome.text)")
  }
}
