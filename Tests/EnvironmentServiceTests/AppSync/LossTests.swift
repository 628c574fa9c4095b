import Basics
import Diorama
import Foundation
import HTTPMessages
import HTTPServer
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

/// Uses a scripted environment.
@Suite("An app that loses its environment")
struct LossTests {
  private static func contract(_ origin: Origin) -> LaunchContract {
    var contract = LaunchContract(
      environment: .init(id: "e", name: "a test"), mode: "mock",
      clock: .init(kind: .manual, start: "2018-10-08T09:00:00Z"), seed: "")
    contract.control = .init(url: "\(origin)/__diorama", token: "t0ken", revision: 0)
    return contract
  }

  private static func json(_ text: String, status: Int = 200) -> Response {
    Response(status: status, headers: ["Content-Type": "application/json"], body: .bytes(Array(text.utf8)))
  }

  private static let nothing = json(#"{"revision": 0, "over": false, "steps": []}"#)

  /// Does not wait for an environment that has never responded.
  private static var onlyAgain: Patience {
    var patience = Patience()
    patience.first = .zero
    patience.again = .seconds(3600)
    return patience
  }

  @Test(
    "ends its waits with the reason, and warns once",
    arguments: [
      (401, #"{"title": "The token is missing or wrong"}"#, "status 401: The token is missing or wrong"),
      (500, "oops", "status 500: oops"), (200, "what?", "not valid JSON"),
      (200, #"{"revision": 2, "over": false, "steps": [{"revision": 2}]}"#, "revision 2 after 0"),
    ])
  func refused(status: Int, body: String, reason: String) async throws {
    let goOn = Event()
    let count = Counter()
    let upstream = try TestUpstream { _ in
      if count.increment() == 0 { return Self.nothing }
      try await goOn.wait()
      return Self.json(body, status: status)
    }
    let warned = Event()
    let app = try await FollowingFixture(Self.contract(upstream.origin), warned: warned)
    let sleep = Task { try await app.controls.clock.sleep(for: .seconds(1)) }
    try await app.controls.clock.waitForSleepers(1)
    goOn.happen()
    let error = await #expect(throws: DioramaError.self) { try await sleep.value }
    #expect(error?.kind == .control)
    #expect(error?.description.contains(reason) == true, "\(error?.description ?? "")")
    try await warned.wait()
    #expect(app.warnings.count == 1)
    #expect(app.warnings.first?.contains(reason) == true)
    await #expect(throws: DioramaError.self) { try await app.controls.clock.sleep(for: .seconds(1)) }
    await upstream.stop()
  }

  @Test("for longer than a restart takes ends its waits")
  func gone() async throws {
    let upstream = try TestUpstream { request in
      if request.target.contains("wait=0") { return Self.nothing }
      try await waitForCancellation()
      return Self.nothing
    }
    var patience = Patience()
    patience.again = .milliseconds(100)
    let app = try await FollowingFixture(Self.contract(upstream.origin), patience: patience)
    let sleep = Task { try await app.controls.clock.sleep(for: .seconds(1)) }
    try await app.controls.clock.waitForSleepers(1)
    await upstream.stop()
    let error = await #expect(throws: DioramaError.self) { try await sleep.value }
    #expect(error?.description.contains("the app has lost its environment at \(upstream.origin)/__diorama") == true)
  }

  @Test("at launch does not start")
  func launch() async throws {
    let upstream = try TestUpstream { _ in Self.json(#"{"detail": "no such environment"}"#, status: 503) }
    let error = await #expect(throws: DioramaError.self) { try await FollowingFixture(Self.contract(upstream.origin)) }
    #expect(error?.kind == .control)
    #expect(error?.description.contains("no such environment") == true)
    await upstream.stop()
  }

  @Test("for a moment polls again, and misses nothing")
  func interrupted() async throws {
    let count = Counter()
    let acknowledged = Event()
    let upstream = try TestUpstream { request in
      if request.target.hasSuffix("/acknowledge") {
        let message = try JSONDecoder().decode(
          Acknowledgement.self, from: Data(try await request.body.collect(upTo: 4_096)))
        if message.revision == 2 { acknowledged.happen() }
        return Response(status: 204)
      }
      let number = count.increment()
      // Cut off every second answer.
      if number % 2 == 1 { return Response(status: 200, headers: [:], body: .stream(Self.broken(), length: 100)) }
      if request.target.contains("after=0&") {
        return number == 0
          ? Self.nothing
          : Self.json(#"{"revision":1,"over":false,"steps":[{"revision":1,"advance":{"seconds":5,"attoseconds":0}}]}"#)
      }
      if request.target.contains("after=1&") {
        return Self.json(
          #"{"revision":2,"over":false,"steps":[{"revision":2,"advance":{"seconds":7,"attoseconds":0}}]}"#)
      }
      try await waitForCancellation()
      return Self.nothing
    }
    let app = try await FollowingFixture(Self.contract(upstream.origin))
    try await acknowledged.wait()
    #expect(app.controls.clock.now == beginning + 12)
    #expect(app.warnings == [])
    await upstream.stop()
  }

  @Test("during a restart continues as if nothing had happened, without a warning")
  func restarted() async throws {
    let before = Guarded<FollowingFixture?>(nil)
    try await withService { fixture in
      try await fixture.twoLives(.mock) {
        $0.clock.kind = "manual"
        $0.clock.start = beginning
      } before: { environment in
        let app = try await FollowingFixture(environment.contract, patience: Self.onlyAgain)
        before.withLock { $0 = app }
        _ = try await environment.moveClock(.advance(.seconds(5)), afterSleepers: nil, timeout: .seconds(60))
      } after: { environment in
        let app = try #require(before.withLock { $0 })
        // It was cut off, and there was no environment until now.
        try await environment.until { !$0.followers.isEmpty }
        async let slept: Void = app.controls.clock.sleep(for: .seconds(7))
        let moved = try await environment.moveClock(.advance(.seconds(7)), afterSleepers: 1, timeout: .seconds(60))
        try await slept
        #expect(moved.woken == 1)
        #expect(app.controls.clock.now == beginning + 12)
        #expect(app.warnings == [])
      }
    }
  }

  @Test("at launch is not waited for")
  func neverThere() async throws {
    let upstream = try TestUpstream { _ in Self.nothing }
    let contract = Self.contract(upstream.origin)
    await upstream.stop()
    let error = await #expect(throws: DioramaError.self) {
      try await FollowingFixture(contract, patience: Self.onlyAgain)
    }
    #expect(error?.description.contains("Connection refused") == true)
  }

  private static func broken() -> BytePipe {
    let pipe = BytePipe()
    pipe.fail(CancellationError())
    return pipe
  }
}
