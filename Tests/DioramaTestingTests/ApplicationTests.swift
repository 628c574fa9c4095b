import DioramaTesting
import Foundation
import Testing

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

@Suite("An application")
struct ApplicationTests {
  @Test("is found by its name beside the tests, and in PATH")
  func found() async throws {
    let clinic = TestApplication(executable: "clinic", in: .outside)
    clinic.launchArguments = ["cook"]
    try await clinic.launch()
    try await clinic.wait(for: .exited(64))
    let echo = TestApplication(executable: "true", in: .outside)
    try await echo.launch()
    try await echo.wait(for: .exited(0))
  }

  @Test("that is not there is one clear error, with what is")
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

  @Test("outside of any environment has to say so")
  func noEnvironment() async throws {
    let error = await #expect(throws: DioramaTestingError.self) {
      try await TestApplication(executable: "true").launch()
    }
    #expect(error?.kind == .usage)
    #expect(error?.description.contains(".environment") == true)
  }

  @Test("gets its arguments and variables")
  func arguments() async throws {
    let app = shell(#"echo "$1|$2|$WORD|$HOME""#, "a b", "")
    app.launchEnvironment = ["WORD": "x=y"]
    try await app.launch()
    try await app.wait(for: .exited(0))
    #expect(app.standardOutput == "a b||x=y|\(ProcessInfo.processInfo.environment["HOME"] ?? "")\n")
  }

  @Test("inherits no descriptor of the test process but the standard ones")
  func descriptors() async throws {
    let open = open("/dev/null", O_RDONLY)
    defer { close(open) }
    let app = shell("ls /dev/fd/ | sort -n | tr '\\n' ' '")
    try await app.launch()
    try await app.wait(for: .exited(0))
    // The fourth is the folder that ls reads.
    #expect(app.standardOutput == "0 1 2 3 ")
  }

  @Test("reads what the test writes, up to the end of it")
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

  @Test("says how it ended: a status or a signal")
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

  @Test("has all its output there when it has ended")
  func output() async throws {
    for _ in 0..<20 {
      let app = shell("i=0; while [ $i -lt 500 ]; do echo line $i; i=$((i+1)); done; echo last >&2")
      try await app.launch()
      try await app.wait(for: .notRunning)
      #expect(app.standardOutput.hasSuffix("line 499\n"))
      #expect(app.standardError == "last\n")
    }
  }

  @Test("is heard on one stream while the other floods, and has ended when it has, whoever goes on speaking")
  func endless() async throws {
    // In a session of its own: not in the group that ends with the application.
    let app = shell("setsid yes & echo heard >&2; exec 2>&-; read -r _; exit 5")
    try await app.launch()
    try await app.wait(forOutput: "y\n", timeout: .seconds(60))
    try await app.wait(forOutput: "heard", on: .error, timeout: .seconds(60))
    try await app.write("\n")
    try await app.wait(for: .exited(5), timeout: .seconds(60))
  }

  @Test("is terminated with what it started, and at once")
  func terminated() async throws {
    let app = shell("sleep 1000 & echo $!; wait")
    try await app.launch()
    let child = try #require(Int32(try await app.wait(forOutput: /\d+\n/).dropLast()))
    #expect(app.state == .running)
    await app.terminate()
    #expect(app.state == .killed(signal: SIGTERM))
    #expect(!isRunning(child))
  }

  @Test("that does not end when asked is made to")
  func stubborn() async throws {
    let app = shell("trap '' TERM; echo ready; while :; do sleep 1; done")
    try await app.launch()
    try await app.wait(forOutput: "ready")
    await app.terminate()
    #expect(app.state == .killed(signal: SIGKILL))
  }

  @Test("leaves nobody behind when it ends by itself")
  func orphan() async throws {
    let app = shell("sleep 1000 & echo $!")
    try await app.launch()
    let child = try #require(Int32(try await app.wait(forOutput: /\d+\n/).dropLast()))
    try await app.wait(for: .exited(0))
    #expect(!isRunning(child))
  }

  @Test("that is launched again is a new process with new output")
  func again() async throws {
    let app = shell("echo $$; sleep 1000")
    try await app.launch()
    let first = try await app.wait(forOutput: /\d+\n/)
    try await app.launch()
    let second = try await app.wait(forOutput: /\d+\n/)
    #expect(first != second)
    #expect(app.standardOutput == second)
    #expect(!isRunning(try #require(Int32(first.dropLast()))))
    await app.terminate()
  }
}

/// Whether a process runs; one that has ended and that nobody has asked about yet does not.
func isRunning(_ pid: Int32) -> Bool {
  guard kill(pid, 0) == 0 else { return false }
  guard let text = try? String(contentsOfFile: "/proc/\(pid)/stat", encoding: .utf8) else { return false }
  return text.split(separator: ") ").last?.hasPrefix("Z") != true
}
