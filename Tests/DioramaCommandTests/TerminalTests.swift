import Foundation
import TestSupport
import Testing

@Suite("diorama run in a terminal", .timeLimit(.minutes(5)))
struct TerminalTests {
  private static let colour = "\u{1B}["

  /// Runs diorama in a terminal, typing each text once another text has appeared. Returns all output.
  private func show(
    _ arguments: [String], variables: [String: String?] = ["TERM": "xterm"],
    typing: [(after: String, text: String)] = []
  ) async throws -> Child.Outcome {
    try await onThread {
      let child = try Diorama.start(arguments, variables: variables, terminal: PseudoTerminal())
      var seen = ""
      for (text, typed) in typing {
        seen += try child.wait(for: text)
        child.type(typed)
      }
      var outcome = child.finish()
      outcome.output = Array(seen.utf8) + outcome.output
      return outcome
    }
  }

  @Test("messages are colored in a terminal")
  func colours() async throws {
    let outcome = try await show(["run", "--mode", "mock", "--", "true"])
    #expect(outcome.status == 0)
    #expect(outcome.text.contains(Self.colour))
    let error = try await show(["rum"])
    #expect(error.text.contains(Self.colour))
  }

  @Test(
    "messages are plain if NO_COLOR is set, or the terminal is dumb or unknown",
    arguments: [["NO_COLOR": "1", "TERM": "xterm"], ["TERM": "dumb"], [:]])
  func plain(variables: [String: String]) async throws {
    let outcome = try await show(["run", "--mode", "mock", "--", "true"], variables: variables)
    #expect(outcome.text.contains("diorama: mock ok"))
    #expect(!outcome.text.contains(Self.colour))
  }

  @Test("messages are plain in a pipe")
  func pipe() async throws {
    let outcome = try await Diorama.run("run", "--mode", "mock", "--", "true", variables: ["TERM": "xterm"])
    #expect(!outcome.words.contains(Self.colour))
  }

  @Test("CLICOLOR_FORCE enables colors unless NO_COLOR is set")
  func forced() async throws {
    let words = ["run", "--mode", "mock", "--", "true"]
    let forced = try await Diorama.run(words, variables: ["CLICOLOR_FORCE": "1"])
    #expect(forced.words.contains(Self.colour))
    let both = try await Diorama.run(words, variables: ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"])
    #expect(!both.words.contains(Self.colour))
  }

  @Test("Ctrl-C reaches the command once, and the report follows")
  func interrupt() async throws {
    let outcome = try await onThread {
      let child = try Diorama.start(
        ["run", "--mode", "mock", "--"] + Program.python + ["-c", SignalTests.counter], terminal: PseudoTerminal())
      try child.wait(for: "ready")
      child.type("\u{3}")
      try child.wait(for: "seen")
      child.send(SIGUSR1)
      return child.finish()
    }
    #expect(outcome.status == 4)
    #expect(outcome.text.components(separatedBy: "SIGINT").count == 2, "\(outcome.text)")
    #expect(outcome.text.contains("mock"))
  }

  @Test("an interactive command reads the terminal")
  func interactive() async throws {
    let outcome = try await show(
      ["run", "--mode", "mock", "--", "sh", "-c", "echo ready; read x; echo \"got $x\"; exit 3"],
      typing: [("ready", "hello\n")])
    #expect(outcome.text.contains("got hello"))
    #expect(outcome.status == 3)
  }

  @Test("the command owns the terminal from the start")
  func atOnce() async throws {
    // Its process group, and the terminal's foreground group.
    let script = "read -r _ _ _ _ group _ _ owner _ </proc/$$/stat; test $group = $owner && echo mine || echo not mine"
    for _ in 0..<10 {
      let outcome = try await show(["run", "--mode", "mock", "--", "sh", "-c", script], typing: [])
      #expect(outcome.text.contains("mine") && !outcome.text.contains("not mine"), "\(outcome.text)")
    }
  }

  @Test("a command that can't be started returns the terminal to the caller")
  func notStarted() async throws {
    let folder = try Folder()
    try folder.write("#!/nowhere/interpreter\n", to: "broken", mode: 0o755)
    let outcome = try await shell(
      "\"$@\"; echo then; read x; echo \"got $x\"", ["run", "--mode", "mock", "--", folder.file("broken")],
      folder: folder, typing: [("then", "hello\n")])
    #expect(outcome.text.contains("got hello"), "\(outcome.text)")
  }

  @Test("Ctrl-Z stops it, and it owns the terminal again when continued")
  func suspend() async throws {
    let (stopped, outcome) = try await onThread {
      let child = try Diorama.start(
        ["run", "--mode", "mock", "--", "sh", "-c", "echo ready; read x; echo \"got $x\""], terminal: PseudoTerminal())
      try child.wait(for: "ready")
      child.type("\u{1A}")
      let stopped = child.waitUntilStopped()
      child.send(SIGCONT)
      child.type("again\n")
      return (stopped, child.finish())
    }
    #expect(stopped)
    #expect(outcome.text.contains("got again"))
    #expect(outcome.status == 0)
  }

  /// Runs a shell line in a terminal; `$@` is diorama.
  private func shell(
    _ line: String, _ arguments: [String], folder: Folder, typing: [(after: String, text: String)]
  ) async throws -> Child.Outcome {
    try await onThread {
      let words = ["sh", "-c", line, folder.path].map { Array($0.utf8) }
      let child = try Child(
        words + Diorama.words(arguments), environment: Diorama.environment(), terminal: PseudoTerminal())
      var seen = ""
      for (text, typed) in typing {
        seen += try child.wait(for: text)
        child.type(typed)
      }
      var outcome = child.finish()
      outcome.output = Array(seen.utf8) + outcome.output
      return outcome
    }
  }

  @Test("a pager keeps the keyboard while the command runs")
  func pager() async throws {
    let folder = try Folder()
    try folder.write(
      """
      import os, sys
      sys.stdin.readline()
      print("asks", flush=True)
      print("pager got " + open("/dev/tty").readline(), flush=True)
      open(sys.argv[1], "w").write("continue\\n")
      """, to: "pager.py")
    let outcome = try await shell(
      "mkfifo \"$0/fifo\"; \"$@\" | \(Program.python.joined(separator: " ")) \"$0/pager.py\" \"$0/fifo\"",
      ["run", "--mode", "mock", "--", "sh", "-c", "echo started; read x <'\(folder.file("fifo"))'"], folder: folder,
      typing: [("asks", "q\n")])
    #expect(outcome.text.contains("pager got q"), "\(outcome.text)")
    #expect(outcome.text.contains("mock ok"), "\(outcome.text)")
  }

  @Test("Ctrl-C reaches the command once if its output is redirected")
  func interruptInBackground() async throws {
    let folder = try Folder()
    let script = """
      import os, signal
      signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
      os.write(1, b"ready\\n")
      signal.sigwait([signal.SIGINT])
      count = 1
      os.write(1, b"seen\\n")
      with open("/dev/tty") as terminal: terminal.readline()
      while signal.sigtimedwait([signal.SIGINT], 0): count += 1
      os.write(1, b"came %d times\\n" % count)
      """
    let outcome = try await shell(
      "trap : INT; \"$@\" >\"$0/output\"",
      ["run", "--mode", "mock", "--", "sh", "-c", "exec \"$@\" >/dev/tty", "sh"] + Program.python + ["-c", script],
      folder: folder, typing: [("ready", "\u{3}"), ("seen", "continue\n")])
    #expect(outcome.text.contains("came 1 times"), "\(outcome.text)")
  }

  @Test("a command with piped input gets the terminal on request")
  func asking() async throws {
    let folder = try Folder()
    let outcome = try await shell(
      "echo data | \"$@\"",
      ["run", "--mode", "mock", "--", "sh", "-c", "read x; echo ready; read y </dev/tty; echo \"got $x $y\""],
      folder: folder, typing: [("ready", "typed\n")])
    #expect(outcome.text.contains("got data typed"), "\(outcome.text)")
  }
}
