import DioramaTesting
import Foundation
import TestSupport
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("Application")
struct ApplicationTests {
  @Test("is found by its name beside the tests and in PATH")
  func found() async throws {
    let clinic = TestApplication(executable: "clinic", in: .outside)
    clinic.launchArguments = ["cook"]
    try await clinic.launch()
    try await clinic.wait(for: .exited(64))
    let echo = TestApplication(executable: "true", in: .outside)
    try await echo.launch()
    try await echo.wait(for: .exited(0))
  }

  @Test("reports a missing program with similar names")
  func unknown() async throws {
    let app = TestApplication(executable: "clinci", in: .outside)
    let error = await #expect(throws: DioramaTestingError.self) { try await app.launch() }
    #expect(error?.kind == .notStarted)
    #expect(error?.description.contains("no program 'clinci'") == true)
    #expect(error?.description.contains("'clinic'") == true)
    #expect(app.state == .notRunning)
    let path = TestApplication(executable: "/nowhere/clinic", in: .outside)
    let other = await #expect(throws: DioramaTestingError.self) { try await path.launch() }
    #expect(other?.description.hasPrefix("cannot run '/nowhere/clinic'") == true)
  }

  @Test("requires an explicit context outside an environment")
  func noEnvironment() async throws {
    let error = await #expect(throws: DioramaTestingError.self) {
      try await TestApplication(executable: "true").launch()
    }
    #expect(error?.kind == .usage)
    #expect(error?.description.contains(".environment") == true)
  }

  @Test("receives its arguments and variables")
  func arguments() async throws {
    let app = shell(#"echo "$1|$2|$WORD|$HOME""#, "a b", "")
    app.launchEnvironment = ["WORD": "x=y"]
    try await app.launch()
    try await app.wait(for: .exited(0))
    #expect(app.standardOutput == "a b||x=y|\(ProcessInfo.processInfo.environment["HOME"] ?? "")\n")
  }

  @Test("inherits only the standard descriptors of the test process")
  func descriptors() async throws {
    let open = open("/dev/null", O_RDONLY)
    defer { close(open) }
    let app = shell("ls /dev/fd/ | sort -n | tr '\\n' ' '")
    try await app.launch()
    try await app.wait(for: .exited(0))
    // The fourth is the folder that ls lists.
    #expect(app.standardOutput == "0 1 2 3 ")
  }

  @Test("reads what the test writes, up to the end of the input")
  func input() async throws {
    let app = TestApplication(executable: "cat", in: .outside)
    try await app.launch()
    try await app.write("one\n")
    try await app.wait(forOutput: "one\n")
    try await app.write(String(repeating: "x", count: 300_000))
    app.closeInput()
    try await app.wait(for: .exited(0))
    #expect(app.standardOutput.utf8.count == 300_004)
    await #expect(throws: DioramaTestingError.self) { try await app.write("more") }
  }

  @Test("reports its exit status or signal")
  func states() async throws {
    let app = shell("exit 7")
    #expect(app.state == .notRunning)
    try await app.launch()
    try await app.wait(for: .exited(7))
    #expect(app.state == .exited(7))
    let killed = shell("kill -s SEGV $$")
    try await killed.launch()
    try await killed.wait(for: .killed(signal: SIGSEGV))
    #expect(killed.state == .killed(signal: 11))
  }

  @Test("provides all of its output when it has ended")
  func output() async throws {
    for _ in 0..<20 {
      let app = shell("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; echo last >&2")
      try await app.launch()
      try await app.wait(for: .notRunning)
      #expect(app.standardOutput.hasSuffix("line 499\n"))
      #expect(app.standardError == "last\n")
    }
  }

  @Test("is read on both streams during a flood, and ends even if a child keeps writing")
  func endless() async throws {
    // In a session of its own, outside the process group that ends with the application.
    let app = shell("setsid yes & echo heard >&2; exec 2>&-; read -r _; exit 5")
    try await app.launch()
    try await app.wait(forOutput: "y\n", timeout: .seconds(60))
    try await app.wait(forOutput: "heard", on: .error, timeout: .seconds(60))
    try await app.write("\n")
    try await app.wait(for: .exited(5), timeout: .seconds(60))
  }

  @Test("is terminated at once, with its child processes")
  func terminated() async throws {
    let app = shell("sleep 1000 & echo $!; wait")
    try await app.launch()
    let child = try #require(Int32(try await app.wait(forOutput: /\d+\n/).dropLast()))
    #expect(app.state == .running)
    await app.terminate()
    #expect(app.state == .killed(signal: SIGTERM))
    #expect(ends(child))
  }

  @Test("is killed if it ignores SIGTERM")
  func stubborn() async throws {
    let app = shell("trap '' TERM; echo ready; while :; do sleep 1; done")
    try await app.launch()
    try await app.wait(forOutput: "ready")
    await app.terminate()
    #expect(app.state == .killed(signal: SIGKILL))
  }

  @Test("leaves no child process when it exits")
  func orphan() async throws {
    let app = shell("sleep 1000 & echo $!")
    try await app.launch()
    let child = try #require(Int32(try await app.wait(forOutput: /\d+\n/).dropLast()))
    try await app.wait(for: .exited(0))
    #expect(ends(child))
  }

  @Test("has a new process and new output after another launch")
  func again() async throws {
    let app = shell("echo $$; sleep 1000")
    try await app.launch()
    let first = try await app.wait(forOutput: /\d+\n/)
    try await app.launch()
    let second = try await app.wait(forOutput: /\d+\n/)
    #expect(first != second)
    #expect(app.standardOutput == second)
    #expect(ends(try #require(Int32(first.dropLast()))))
    await app.terminate()
  }
}

/// Whether a process has ended or ends soon: a killed process closes its pipes a moment before it has ended.
func ends(_ pid: Int32) -> Bool { soon { isRunning(pid) ? nil : true } == true }

/// Whether a process is running; a zombie is not.
func isRunning(_ pid: Int32) -> Bool {
  guard kill(pid, 0) == 0 else { return false }
  guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
  return text.split(separator: ") ").last?.hasPrefix("Z") != true
}

@Suite("Waits for an application")
struct WaitingTests {
  @Test("find each text once, in order, also across writes")
  func text() async throws {
    let app = shell("printf 'one two o'; read -r _; printf 'ne three'; read -r _")
    try await app.launch()
    try await app.wait(forOutput: "one")
    try await app.write("\n")
    try await app.wait(forOutput: "one")
    try await app.wait(forOutput: "three")
    await #expect(throws: DioramaTestingError.self) {
      try await app.wait(forOutput: "two", timeout: .milliseconds(1))
    }
    await app.terminate()
  }

  @Test("find patterns and return the match")
  func pattern() async throws {
    let app = shell("echo port 8080; echo port 9090; echo oops 42 >&2; read -r _")
    try await app.launch()
    #expect(try await app.wait(forOutput: /port \d+/) == "port 8080")
    #expect(try await app.wait(forOutput: /\d+\n/) == "9090\n")
    #expect(try await app.wait(forOutput: /\d+/, on: .error) == "42")
    await app.terminate()
  }

  @Test("fail at the time limit with the application's last output")
  func timeout() async throws {
    let app = shell("echo getting ready; echo a warning >&2; sleep 1000")
    try await app.launch()
    try await app.wait(forOutput: "ready")
    try await app.wait(forOutput: "warning", on: .error)
    let error = await #expect(throws: DioramaTestingError.self) {
      try await app.wait(forOutput: "done", timeout: .milliseconds(20))
    }
    #expect(error?.kind == .timedOut)
    #expect(
      error?.description == """
        sh did not write 'done' within 0.02 seconds; it is running
          the end of its standard output:
            getting ready
          the end of its standard error:
            a warning
        """)
    let hanging = await #expect(throws: DioramaTestingError.self) {
      try await app.wait(for: .exited(0), timeout: .milliseconds(20))
    }
    #expect(hanging?.kind == .timedOut)
    #expect(hanging?.description.contains("within 0.02 seconds; it is running") == true)
    await app.terminate()
  }

  @Test("fail at once when the application ends")
  func ended() async throws {
    let app = shell("echo no; exit 3")
    try await app.launch()
    let error = await #expect(throws: DioramaTestingError.self) {
      try await app.wait(forOutput: "yes", timeout: .seconds(600))
    }
    #expect(error?.kind == .ended)
    #expect(error?.description.contains("it exited with status 3") == true)
    #expect(error?.description.contains("    no") == true)
    let other = await #expect(throws: DioramaTestingError.self) { try await app.wait(for: .exited(0)) }
    #expect(other?.kind == .ended)
  }

  @Test("end when the test is cancelled")
  func cancelled() async throws {
    let app = shell("echo ready; sleep 1000")
    try await app.launch()
    try await app.wait(forOutput: "ready")
    let waiting = Task { try await app.wait(forOutput: "never", timeout: .seconds(600)) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    await app.terminate()
  }

  @Test("fail before the launch")
  func notLaunched() async throws {
    let app = shell("")
    try await app.wait(for: .notRunning)
    let error = await #expect(throws: DioramaTestingError.self) { try await app.wait(for: .running) }
    #expect(error?.kind == .usage)
  }
}
