import DioramaTesting
import Foundation
import Testing

@Suite("Test run")
struct TestRunTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
  }

  /// An empty cassette.
  private func emptyCassette() throws -> String {
    let cassette = folder.file("empty.har")
    let upstreams = #"[{"name":"clinic","origin":"https://clinic.example"}]"#
    let header = #"{"format":1,"recordedAt":"2018-10-08T09:00:00Z","seed":"s","upstreams":\#(upstreams)}"#
    let har = #"{"log":{"version":"1.2","creator":{"name":"t","version":"1"},"entries":[],"_diorama":\#(header)}}"#
    try Data(har.utf8).write(to: URL(fileURLWithPath: cassette))
    return cassette
  }

  @Test("shows a failed replay at the test's line with instructions, and attaches the application's output")
  func missing() async throws {
    let cassette = try emptyCassette()
    let (text, passed) = try await NestedRun.run("Samples/missing", values: ["CASSETTE": cassette])
    #expect(!passed)
    #expect(text.contains("Samples.swift:\(Samples.missingLine):"), "\(text)")
    #expect(text.contains("replay failed"), "\(text)")
  }

  @Test("shows a crashed application with its last output")
  func crash() async throws {
    let (text, passed) = try await NestedRun.run("Samples/crashing")
    #expect(!passed)
    #expect(text.contains("sh ended unexpectedly: it was killed by signal 6 (SIGABRT)"), "\(text)")
    #expect(text.contains("last output"), "\(text)")
  }

  @Test("attaches an application's output to a test that fails for another reason")
  func attachments() async throws {
    let app = try await NestedRun.start("Samples/hanging", options: ["--attachments-path", folder.path])
    try await app.wait(for: .notRunning, timeout: .seconds(120))
    #expect(app.state == .exited(1))
    let text = app.standardOutput + app.standardError
    #expect(text.contains("sh did not write 'done' within 0.01 seconds; it is running"), "\(text)")
    #expect(text.contains("    loading"), "\(text)")
    #expect(try folder.read("sh.output.txt") == "loading\n")
    #expect(try folder.read("report.json").contains("\"ok\" : true"))
  }

  @Test("ends its applications and removes their contracts if it is killed")
  func killed() async throws {
    let run = try await NestedRun.start("Samples/killed")
    let words = try await run.wait(forOutput: /application .*\n/).split(separator: " ")
    let pid = try #require(Int32(words[1]))
    let contract = String(words[2].dropLast())
    #expect(FileManager.default.fileExists(atPath: contract))
    let process = try #require(run.processIdentifier)
    kill(process, SIGKILL)
    try await run.wait(for: .killed(signal: SIGKILL))
    // Its guard process does it after the end, and there is no notification to wait for.
    let patience = ContinuousClock.now + .seconds(60)
    while isRunning(pid) || FileManager.default.fileExists(atPath: contract), ContinuousClock.now < patience {
      try await Task.sleep(for: .milliseconds(5))
    }
    #expect(!isRunning(pid))
    #expect(!FileManager.default.fileExists(atPath: contract))
  }

  @Test("records if DIORAMA_MODE is record, whatever the mode in the code")
  func recordMode() async throws {
    let cassette = folder.file("booking")
    let backend = try await Backend(now: ISO8601DateFormatter().string(from: Date()))
    let values = ["CASSETTE": cassette, "URL": backend.url]
    let refused = try await NestedRun.run("Samples/booking", values: values)
    #expect(!refused.passed && refused.text.contains("there is no cassette"), "\(refused.text)")
    let recorded = try await NestedRun.run("Samples/booking", values: values, variables: ["DIORAMA_MODE": "record"])
    #expect(recorded.passed, "\(recorded.text)")
    #expect(recorded.text.contains("written with"), "\(recorded.text)")
    await backend.app.terminate()
    let replayed = try await NestedRun.run("Samples/booking", values: values, variables: ["CI": "true"])
    #expect(replayed.passed, "\(replayed.text)")
    let wrong = try await NestedRun.run("Samples/booking", values: values, variables: ["DIORAMA_MODE": "recrod"])
    #expect(
      !wrong.passed && wrong.text.contains("DIORAMA_MODE: 'recrod' is not valid; did you mean 'record'?"))
  }

  @Test("never records in mode once if CI is set")
  func once() async throws {
    let values = ["CASSETTE": folder.file("once"), "URL": "http://127.0.0.1:1"]
    let (text, passed) = try await NestedRun.run("Samples/once", values: values, variables: ["CI": "true"])
    #expect(!passed)
    #expect(text.contains("there is no cassette \(folder.file("once.har"))"), "\(text)")
  }

  @Test("fails a test that does not end its provisioned environment")
  func unended() async throws {
    let (text, passed) = try await NestedRun.run("Samples/unended")
    #expect(!passed)
    #expect(text.contains("the environment was never ended"), "\(text)")
  }

  @Test("shows a failed replay in XCTest at the line that provisioned the environment")
  func xctest() async throws {
    let cassette = try emptyCassette()
    let (text, passed) = try await NestedRun.run("XCTestSamples/testMissing", values: ["CASSETTE": cassette])
    #expect(!passed)
    #expect(
      text.contains(
        "Samples.swift:\(XCTestSamples.line): error: XCTestSamples.testMissing : failed - replay failed"),
      "\(text)")
  }
}
