import Basics
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A program that follows its environment from another process")
struct ProcessTests {
  /// The number of steps: `DIORAMA_ROUNDS`, for a long run.
  private static let rounds = ProcessInfo.processInfo.environment["DIORAMA_ROUNDS"].flatMap { Int($0) } ?? 200

  private static func start(_ environment: Environment, _ seconds: Int = 60) async throws -> Child {
    let program = try #require(Bundle.main.executableURL).deletingLastPathComponent().appending(path: "FollowingApp")
      .path
    var variables = ProcessInfo.processInfo.environment
    variables["DIORAMA_CONTRACT"] = String(decoding: try environment.contract.encodedDocument(), as: UTF8.self)
    let arguments = [program, "\(seconds)"].map { Array($0.utf8) }
    return try await onThread { [variables] in
      let child = try Child(arguments, environment: variables)
      try child.wait(for: "ready\n")
      return child
    }
  }

  @Test("is advanced step by step while its toggles change, without losing a step")
  func steps() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await Self.start(environment)
      for round in 1...Self.rounds {
        let isOn = round % 3 == 0
        try await environment.update(toggles: ["flag": .bool(isOn)], timeout: .seconds(60))
        let moved = try await environment.moveClock(.advance(.seconds(60)), afterSleepers: 1, timeout: .seconds(60))
        #expect((moved.revision, moved.woken) == (2 * round, 1))
        let now = (beginning + Double(60 * round)).formatted(.iso8601)
        #expect(try await onThread { try app.line() } == "awake \(round) at \(now), \(isOn ? "on" : "off")")
      }
    }
  }

  @Test("is no longer waited for when it dies in the middle of a step")
  func dies() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await Self.start(environment)
      // It has received the step, and will not apply it.
      try await onThread { try app.suspend() }
      async let moved = environment.moveClock(.advance(.seconds(60)), afterSleepers: nil, timeout: .seconds(60))
      try await environment.until { $0.state.revision == 1 }
      app.send(SIGKILL)
      #expect(try await moved.woken == 0)
      try await environment.until { $0.followers.isEmpty }
      _ = await onThreadWithoutError { app.waitForEnd() }
    }
  }

  @Test("is named in the error if it is suspended")
  func stopped() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await Self.start(environment)
      _ = try await environment.moveClock(.advance(.zero), afterSleepers: 1, timeout: .seconds(60))
      try await environment.untilAsked()
      try await onThread { try app.suspend() }
      let error = await #expect(throws: CodedError.self) {
        try await environment.moveClock(.advance(.seconds(60)), afterSleepers: nil, timeout: .milliseconds(200))
      }
      #expect(error?.kind == .unanswered)
      #expect(error?.message.contains("FollowingApp-\(app.pid)-") == true)
      app.send(SIGCONT)
      // Late, but not lost.
      try await environment.until { $0.followers.values.allSatisfy { $0.revision == 2 } }
      #expect(try await onThread { try app.line() }.hasPrefix("awake 1 at 2018-10-08T09:01:00Z"))
    }
  }

  @Test("exits with a clear error when its environment ends")
  func end() async throws {
    try await withService { fixture in
      let environment = try fixture.manual()
      let app = try await Self.start(environment)
      try await environment.untilAsked()
      _ = await environment.end()
      let outcome = try await onThread { app.finish() }
      #expect(outcome.status == 1)
      #expect(outcome.lines == ["the environment has ended: nothing moves the app's clock any more"])
    }
  }

  @Test("may be written in another language: it polls, applies and acknowledges")
  func python() async throws {
    try await withService { fixture in
      let environment = try fixture.manual { $0.toggles = ["flag": .bool(false)] }
      let python = try await onThread {
        let child = try Child(
          ["python3", "-c", Self.script, environment.controlURL, environment.token].map { Array($0.utf8) },
          environment: ProcessInfo.processInfo.environment)
        try child.wait(for: "ready\n")
        return child
      }
      try await environment.untilAsked()
      try await environment.update(toggles: ["flag": .bool(true)], timeout: .seconds(60))
      #expect(try await onThread { try python.line() } == #"1 {"flag": true} 2018-10-08T09:00:00Z"#)
      let moved = try await environment.moveClock(.advance(.seconds(90)), afterSleepers: 2, timeout: .seconds(60))
      #expect(try await onThread { try python.line() } == #"2 {"flag": true} 2018-10-08T09:01:30Z"#)
      #expect((moved.revision, moved.woken) == (2, 2))
      try await environment.untilAsked()
      _ = await environment.end()
      #expect(try await onThread { python.finish() }.text == "over\n")
    }
  }

  private static let script = """
    import json, sys, urllib.request
    url, token = sys.argv[1:]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    def call(path, body=None):
        request = urllib.request.Request(url + path, body and json.dumps(body).encode())
        request.add_header("Authorization", "Bearer " + token)
        answer = opener.open(request).read()
        return json.loads(answer) if answer else None
    revision, watch = call("/state")["revision"], 0
    print("ready", flush=True)
    while True:
        state = call(f"/state?follower=python&after={revision}&watch={watch}&wait=30")
        if state["over"]:
            print("over", flush=True)
            break
        for step in state["steps"]:
            revision = step["revision"]
            print(revision, json.dumps(state["toggles"]), state["clock"]["now"], flush=True)
            call("/acknowledge", {"follower": "python", "revision": revision, "woken": 2 if "advance" in step else 0})
        watch = state.get("watch", {}).get("id", 0)
        if watch:
            call("/acknowledge", {"follower": "python", "watch": watch, "sleepers": 2})
    """
}

/// Runs blocking code on its own thread.
private func onThreadWithoutError<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value? {
  try? await onThread { body() }
}
