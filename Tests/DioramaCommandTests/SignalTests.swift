import Foundation
import TestSupport
import Testing

@Suite("Signals", .timeLimit(.minutes(5)))
struct SignalTests {
  /// Records signals. On SIGUSR1, prints the received ones.
  static let counter = """
    import os, signal, sys
    seen = []
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"):
        def handler(number, frame):
            seen.append(signal.Signals(number).name)
            os.write(1, b"seen\\n")
        signal.signal(getattr(signal, name), handler)
    signal.signal(signal.SIGUSR1, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
    os.write(1, b"ready\\n")
    while signal.sigtimedwait([signal.SIGUSR1], 0.05) is None: pass
    os.write(1, (" ".join(seen) + "\\n").encode())
    sys.exit(4)
    """

  @Test(
    "reach the command exactly once, and the report and the recording are written",
    arguments: [("SIGINT", SIGINT), ("SIGTERM", SIGTERM), ("SIGHUP", SIGHUP), ("SIGQUIT", SIGQUIT)])
  func once(name: String, signal: Int32) async throws {
    let folder = try Folder()
    let upstream = try Upstream()
    let script = """
      import http.client, os
      connection = http.client.HTTPConnection(os.environ["DIORAMA_ENDPOINT_API"].split("//")[1])
      connection.request("GET", "/recorded")
      connection.getresponse().read()
      """
    let outcome = try await onThread {
      let child = try Diorama.start(
        [
          "run", "--mode", "record", "--cassette", folder.file("booking"), "--upstream", "api=\(upstream.url)",
          "--report", folder.file("report"), "--",
        ] + Program.python + ["-c", script + "\n" + Self.counter])
      try child.wait(for: "ready\n")
      child.send(signal)
      try child.wait(for: "seen\n")
      child.send(SIGUSR1)
      return child.finish()
    }
    await upstream.stop()
    #expect(outcome.text == "\(name)\n")
    #expect(outcome.status == 4, "\(outcome.words)")
    #expect(try folder.read("booking.failed.har").contains("/recorded"))
    #expect((try folder.json("report")["requests"] as? [String: Int])?["recorded"] == 1)
    #expect(!folder.has("booking.har.partial"))
  }

  @Test("reach children of the command, too")
  func group() async throws {
    let outcome = try await onThread {
      let child = try Diorama.start([
        "run", "--mode", "mock", "--", "sh", "-c",
        "trap 'wait; exit 6' TERM; (trap 'echo child; exit 0' TERM; echo ready; while :; do sleep 0.05; done) & wait",
      ])
      try child.wait(for: "ready\n")
      child.send(SIGTERM)
      return child.finish()
    }
    #expect(outcome.text == "child\n")
    #expect(outcome.status == 6)
  }

  @Test("a command killed by a signal exits with 128 plus its number")
  func killed() async throws {
    let outcome = try await onThread {
      let child = try Diorama.start(["run", "--mode", "mock", "--", "sh", "-c", "echo ready; exec sleep 30"])
      try child.wait(for: "ready\n")
      child.send(SIGTERM)
      return child.finish()
    }
    #expect(outcome.status == 143)
    #expect(outcome.words.contains("mock ok"))
  }

  @Test(
    "a second one kills a command that ignores them", arguments: [SIGINT, SIGTERM],
    [[], ["--isolate=proxy"], ["--isolate"]])
  func ignoring(signal: Int32, isolation: [String]) async throws {
    let script = "trap '' INT TERM; echo ready; sleep 60; sleep 60; sleep 60"
    let outcome = try await onThread {
      // The message is on standard error.
      let child = try Child(
        ["sh", "-c", "exec \"$@\" 2>&1", "sh"].map { Array($0.utf8) }
          + Diorama.words(["run", "--mode", "mock"] + isolation + ["--", "sh", "-c", script]),
        environment: Diorama.environment())
      try child.wait(for: "ready\n")
      child.send(signal)
      try child.wait(for: "diorama: waiting for the command to end; press Ctrl-C again to kill it\n")
      child.send(signal)
      return child.finish()
    }
    #expect(outcome.status == 137 && outcome.text.contains("mock ok"), "\(outcome.text)")
  }

  @Test("ignored signals stay ignored, as with nohup")
  func ignored() async throws {
    let outcome = try await onThread {
      let child = try Child(
        ["sh", "-c", "trap '' HUP; exec \"$@\"", "sh"].map { Array($0.utf8) }
          + Diorama.words([
            "run", "--mode", "mock", "--", "sh", "-c", "grep SigIgn /proc/self/status; echo ready; exec sleep 30",
          ]), environment: Diorama.environment())
      let text = try child.wait(for: "ready\n")
      child.send(SIGHUP)
      child.send(SIGTERM)
      var outcome = child.finish()
      outcome.output = Array(text.utf8)
      return outcome
    }
    #expect(outcome.text.hasSuffix("0001\nready\n"), "\(outcome.text)")
    #expect(outcome.status == 143)
  }

  @Test("stopping the command stops diorama, and both continue together")
  func stopped() async throws {
    let (stopped, outcome) = try await onThread {
      let child = try Diorama.start([
        "run", "--mode", "mock", "--", "sh", "-c", "kill -STOP $$; echo continued; exit 2",
      ])
      let stopped = child.waitUntilStopped()
      child.send(SIGCONT)
      return (stopped, child.finish())
    }
    #expect(stopped)
    #expect(outcome.text == "continued\n")
    #expect(outcome.status == 2)
  }
}

@Suite("Time limit", .timeLimit(.minutes(5)))
struct TimeoutTests {
  @Test("terminates the command, fails the environment, and reports it")
  func timeout() async throws {
    let folder = try Folder()
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--timeout", "0.2", "--report", folder.file("report"), "--", "sleep", "30")
    #expect(outcome.status == 143)
    #expect(outcome.words.contains("0.2 s"))
    #expect(try folder.json("report")["ok"] as? Bool == false)
  }

  @Test("exits with 3 if the command handles SIGTERM and succeeds")
  func endsWell() async throws {
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--timeout", "0.5", "--", "sh", "-c", "trap 'exit 0' TERM; sleep 30 & wait")
    #expect(outcome.status == 3, "\(outcome.words)")
  }

  @Test("kills a command that ignores SIGTERM")
  func ignoring() async throws {
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--timeout", "0.2", "--", "sh", "-c", "trap '' TERM; sleep 30; sleep 30")
    #expect(outcome.status == 137)
  }

  @Test("may be shorter than the clock's resolution")
  func tiny() async throws {
    let outcome = try await Diorama.run("run", "--mode", "mock", "--timeout", "0.000000001", "--", "sleep", "30")
    #expect(outcome.status == 143)
  }

  @Test("ends a stopped command")
  func stoppedChild() async throws {
    let outcome = try await Diorama.run(
      "run", "--mode", "mock", "--timeout", "0.3", "--", "sh", "-c", "sleep 30 & kill -STOP $!; wait")
    #expect(outcome.status == 143)
  }

  @Test("doesn't affect a command that ends in time")
  func inTime() async throws {
    let outcome = try await Diorama.run("run", "--mode", "mock", "--timeout", "30", "--", "true")
    #expect(outcome.status == 0)
  }
}
