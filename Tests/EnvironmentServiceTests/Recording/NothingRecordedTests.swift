import ControlAPI
import Basics
import Cassettes
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("An empty or incomplete recording")
struct NothingRecordedTests {
  @Test("becomes no cassette if requests were made and none could be recorded", arguments: [true, false])
  func upstreamDown(keepingEmpty: Bool) async throws {
    let closed = try ScriptedUpstream { _ in }
    let origin = closed.origin
    closed.stop()
    try await withService { fixture in
      let environment = try fixture.provision(.record, ["api": origin])
      #expect(try await environment.get("/").status == 502)
      let (_, sealed) = await environment.end(keepingEmptyRecording: keepingEmpty)
      let outcome = try sealed.get()
      #expect(outcome?.isWritten == false)
      #expect(fixture.files == [])
    }
  }

  @Test("becomes a cassette only if the app succeeded without a request", arguments: [true, false])
  func nothingAsked(keepingEmpty: Bool) async throws {
    try await withService { fixture in
      let environment = try fixture.provision(.once, ["api": Origin(parsing: "http://127.0.0.1:9")])
      let (_, sealed) = await environment.end(keepingEmptyRecording: keepingEmpty)
      let outcome = try sealed.get()
      #expect(outcome?.isWritten == keepingEmpty)
      #expect(fixture.location().exists == keepingEmpty)
    }
  }

  @Test("does not replace a complete cassette if a body could not be stored")
  func lostBody() async throws {
    let upstream = try TestUpstream { request in
      Response(
        status: 200, headers: ["Content-Type": "image/png"],
        body: .bytes([UInt8](repeating: 7, count: request.target == "/large" ? 400_000 : 10)))
    }
    try await withService { fixture in
      try await fixture.record(["api": upstream.origin]) { environment in
        for path in ["/a", "/b"] {
          let answer = try await environment.get(path)
          #expect(answer.status == 200)
        }
      }
      // A file in place of the folder of large bodies.
      try fixture.write("", to: "c.bodies")
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      #expect(try await environment.get("/a").status == 200)
      _ = try? await environment.get("/large")
      let (report, sealed) = await environment.end()
      #expect(throws: CodedError.self) { _ = try sealed.get() }
      #expect(!report.ok)
      #expect(environment.recordingFailure?.kind == .cannotWrite)
      #expect(try fixture.cassette().interactions.count == 2)
    }
    await upstream.stop()
  }
}
