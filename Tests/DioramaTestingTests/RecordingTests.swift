@testable import DioramaTesting
import Foundation
import Testing

@Suite("Clinic app in a test's environment")
struct RecordingTests {
  private let folder: Folder

  init() throws {
    folder = try Folder()
  }

  private func provision(
    _ mode: TestEnvironment.Mode, _ upstreams: [String: String] = [:],
    toggles: [String: TestEnvironment.Value] = ["skip-onboarding": true],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> TestEnvironment {
    try await TestEnvironment.provision(
      mode: mode, upstreams: upstreams, toggles: toggles,
      clock: mode == .record ? .frozen(at: "2018-10-08T09:00:00Z") : nil,
      cassette: folder.file("booking"), sourceLocation: sourceLocation)
  }

  private func record() async throws -> String {
    let backend = try await Backend()
    let environment = try await provision(.record, ["clinic": backend.url])
    let app = try await book(in: .environment(environment))
    await environment.end()
    await backend.app.terminate()
    return app.standardOutput
  }

  @Test("is recorded, then replayed without its backend by many tests at once")
  func replay() async throws {
    let recorded = try await record()
    #expect(recorded.hasPrefix("registered "))
    #expect(folder.has("booking.har") && folder.has("booking.strings.json"))
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<4 {
        group.addTask {
          let environment = try await provision(.replay)
          let app = try await book(in: .environment(environment))
          await environment.end()
          return app.standardOutput
        }
      }
      for try await output in group { #expect(output == recorded) }
    }
  }

  @Test("fails the test if it ignores its endpoint, unless that is permitted", arguments: [false, true])
  func ignored(isPermitted: Bool) async throws {
    let environment = try await TestEnvironment.provision(
      mode: .record, upstreams: ["clinic": "http://127.0.0.1:1"], cassette: folder.file("booking"),
      policies: .init(allowNoRequests: isPermitted))
    let app = shell("exit 0", in: .environment(environment))
    try await app.launch()
    try await app.wait(for: .exited(0))
    if isPermitted {
      await environment.end()
    } else {
      await withKnownIssue {
        await environment.end()
      } matching: { issue in
        issue.comments.contains { $0.rawValue.contains("no request reached the environment") }
      }
    }
    #expect(!folder.has("booking.har"))
  }

  @Test("that failed is kept beside the cassette, which the corrected test doesn't replay")
  func failed() async throws {
    for hasFailed in [true, false] {
      // In mode once, too, there is no cassette to replay.
      await #expect(throws: DioramaTestingError.self) { try await provision(.replay) }
      let backend = try await Backend()
      let environment = try await provision(.record, ["clinic": backend.url])
      _ = try await book(in: .environment(environment))
      _ = await environment.finish(hasFailed: hasFailed)
      await backend.app.terminate()
      #expect(folder.has("booking.failed.har") == hasFailed && folder.has("booking.har") != hasFailed)
    }
  }

  @Test("fails the test at its line if it sends a request that is not recorded")
  func unmatched() async throws {
    _ = try await record()
    let environment = try await provision(.replay)
    let line = #line - 1
    // Not the recorded user.
    let url = try environment.endpoint("clinic").appending(path: "v1/users")
    let app = TestApplication(executable: "curl", in: .environment(environment))
    // It rejects unknown options.
    app.passesArgumentPairs = false
    app.launchArguments = [
      "-s", "-X", "POST", "-H", "Content-Type: application/json", "-d", #"{"age":1}"#, url.absoluteString,
    ]
    app.passesArgumentPairs = false
    try await app.launch()
    try await app.wait(for: .exited(0))
    await withKnownIssue {
      await environment.end()
    } matching: { issue in
      let text = issue.comments.map(\.rawValue).joined()
      return issue.sourceLocation?.line == line && issue.sourceLocation?.fileName == "RecordingTests.swift"
        && text.hasPrefix("replay failed: 1 request (1 unmatched)") && text.contains("not recorded: POST")
        && text.contains("nearest: interaction 0")
        && text.contains("DIORAMA_MODE=extend swift test --filter 'DioramaTestingTests.RecordingTests/unmatched'")
        && text.contains("curl: it exited with status 0")
    }
  }

  @Test("explains how to record a missing cassette")
  func missing() async throws {
    let error = await #expect(throws: DioramaTestingError.self) { try await provision(.replay) }
    #expect(error?.kind == .environment)
    #expect(
      error?.description == "there is no cassette \(folder.file("booking.har")); record it with "
        + "DIORAMA_MODE=record swift test --filter 'DioramaTestingTests.RecordingTests/missing'")
    let upstream = await #expect(throws: DioramaTestingError.self) { try await provision(.record) }
    #expect(upstream?.description.contains(#"add one with upstreams: ["NAME": "URL"]"#) == true)
    #expect(!FileManager.default.fileExists(atPath: folder.file("booking.har.partial")))
  }

  @Test("reports an invalid setting in one line with its name")
  func refused() async throws {
    let origin = await #expect(throws: DioramaTestingError.self) { try await provision(.mock, ["api": "ftp://x"]) }
    #expect(origin?.description.hasPrefix("upstreams.api: ") == true)
    let clock = await #expect(throws: DioramaTestingError.self) {
      try await TestEnvironment.provision(mode: .mock, clock: .frozen(at: "yesterday"))
    }
    #expect(clock?.description.contains("clock.start: 'yesterday' is not a time") == true)
    let rate = await #expect(throws: DioramaTestingError.self) {
      try await TestEnvironment.provision(mode: .mock, clock: .scaled(by: 0))
    }
    #expect(rate?.description.contains("clock.rate: 0 is not between 1e-06 and 1000000") == true)
    #expect([origin, clock, rate].allSatisfy { $0?.kind == .usage })
  }

  @Test("ends with its environment")
  func ends() async throws {
    let environment = try await TestEnvironment.provision(mode: .mock)
    let app = shell("sleep 1000", in: .environment(environment))
    try await app.launch()
    await environment.end()
    #expect(app.state == .killed(signal: 15))
    await environment.end()
    let error = await #expect(throws: DioramaTestingError.self) { try await app.launch() }
    #expect(error?.description.contains("has ended") == true)
  }

  @Test("can be launched without TestApplication")
  func variables() async throws {
    let environment = try await TestEnvironment.provision(
      mode: .mock, upstreams: ["a-b": "https://a.example"],
      credentials: [.init(service: "clinic", account: "token", secret: "hush")])
    let variables = try environment.launchEnvironment()
    #expect(variables["DIORAMA_ENDPOINT_A_B"] == (try environment.endpoint("a-b").absoluteString))
    let path = try #require(variables["DIORAMA_CONTRACT"]?.dropFirst(5)).description
    #expect(FileManager.default.fileExists(atPath: path))
    await environment.end()
    #expect(!FileManager.default.fileExists(atPath: (path as NSString).deletingLastPathComponent))
  }
}
