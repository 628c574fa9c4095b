import DioramaTesting
import Testing

@Suite("Waiting for an application")
struct WaitingTests {
  @Test("finds each text once, in order, and across writes")
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

  @Test("finds patterns, and answers what matched")
  func pattern() async throws {
    let app = shell("echo port 8080; echo port 9090; echo oops 42 >&2; read -r _")
    try await app.launch()
    #expect(try await app.wait(forOutput: /port \d+/) == "port 8080")
    #expect(try await app.wait(forOutput: /\d+\n/) == "9090\n")
    #expect(try await app.wait(forOutput: /\d+/, on: .error) == "42")
    await app.terminate()
  }

  @Test("ends in time with what the application said last")
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
        sh did not say 'done' within 0.02 seconds; it is running
          its standard output ends:
            getting ready
          its standard error ends:
            a warning
        """)
    let hanging = await #expect(throws: DioramaTestingError.self) {
      try await app.wait(for: .exited(0), timeout: .milliseconds(20))
    }
    #expect(hanging?.kind == .timedOut)
    #expect(hanging?.description.contains("within 0.02 seconds; it is running") == true)
    await app.terminate()
  }

  @Test("ends at once when the application does")
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

  @Test("ends when the test is cancelled")
  func cancelled() async throws {
    let app = shell("echo ready; sleep 1000")
    try await app.launch()
    try await app.wait(forOutput: "ready")
    let waiting = Task { try await app.wait(forOutput: "never", timeout: .seconds(600)) }
    waiting.cancel()
    await #expect(throws: CancellationError.self) { try await waiting.value }
    await app.terminate()
  }

  @Test("before the launch is an error")
  func notLaunched() async throws {
    let app = shell("")
    try await app.wait(for: .notRunning)
    let error = await #expect(throws: DioramaTestingError.self) { try await app.wait(for: .running) }
    #expect(error?.kind == .usage)
  }
}
