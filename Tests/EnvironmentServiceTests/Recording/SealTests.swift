import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("Saving a recording")
struct SealTests {
  @Test("keeps the old cassette complete until the new one replaces it")
  func wholeUntilRenamed() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      let (har, strings) = (try fixture.read("c.har"), try fixture.read("c.strings.json"))
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/new")
        #expect(try fixture.read("c.har") == har)
        #expect(try fixture.read("c.strings.json") == strings)
        #expect(fixture.files == ["c.har", "c.har.partial", "c.strings.json"])
      }
      #expect(try fixture.cassette().interactions.map(\.request.url) == ["\(upstream.origin)/new"])
      #expect(fixture.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("orders interactions by their requests, not their responses")
  func order() async throws {
    let hasAsked = Event()
    let mayAnswer = Event()
    let upstream = try TestUpstream { request in
      if request.target == "/slow" {
        hasAsked.happen()
        try await mayAnswer.wait()
      }
      return text(request.target)
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        async let slow = environment.get("/slow")
        try await hasAsked.wait()
        _ = try await environment.get("/fast")
        mayAnswer.happen()
        _ = try await slow
      }
      #expect(
        try fixture.cassette().interactions.map(\.request.url) == [
          "\(upstream.origin)/slow", "\(upstream.origin)/fast",
        ])
    }
  }

  @Test("names the files of bodies above 256 KiB by their digest, and removes unused ones next time")
  func bodies() async throws {
    let limit = 256 * 1024
    let upstream = try TestUpstream { request in
      let size = Int(request.target.dropFirst()) ?? 0
      return Response(status: 200, headers: ["Content-Type": "image/png"], body: .bytes(noise(size)))
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { environment async throws in
        // The same body twice is one file.
        for target in ["/\(limit)", "/\(limit + 1)", "/\(limit + 1)", "/\(limit + 2)"] {
          _ = try await environment.get(target)
        }
      }
      let first = fixture.bodies
      #expect(first.count == 2)
      #expect(first.allSatisfy { $0.count == 64 + 4 && $0.hasSuffix(".png") })
      #expect(try CassetteVerifier.verify(fixture.location()).interactions == 4)
      let interactions = try fixture.cassette().interactions
      #expect(interactions.map(\.response.body.length) == [limit, limit + 1, limit + 1, limit + 2])
      guard case .file(let name, _) = interactions[1].response.body else {
        throw RawClient.Failure(description: "inline")
      }
      #expect(name.hasPrefix("c.bodies/"))

      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/\(limit + 2)") }
      #expect(fixture.bodies.count == 1)
      #expect(first.contains(fixture.bodies[0]))
      let environment = try fixture.provision(.replay)
      #expect(try await environment.get("/\(limit + 2)").body == noise(limit + 2))
      _ = await environment.end()
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/1") }
      #expect(!fixture.exists("c.bodies"))
    }
  }

  @Test("without any interaction keeps the old cassette, and leaves nothing else", arguments: [Mode.record, .extend])
  func nothing(mode: Mode) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let har = try fixture.read("c.har")
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      let (report, sealed) = await environment.end()
      #expect(report.ok)
      #expect(try sealed.get()?.isWritten == false)
      #expect(try fixture.read("c.har") == har)
      #expect(fixture.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("gives HAR and string store the same recording id, a new one each time")
  func recordingID() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      var ids: [String?] = []
      for mode in [Mode.record, .extend, .record] {
        try await fixture.run(mode, ["api": upstream.origin]) { _ = try await $0.get("/\(ids.count)") }
        let stored = try CassetteReader.read(fixture.location())
        #expect(stored.cassette.header.recording == stored.strings.recording)
        ids.append(stored.strings.recording)
      }
      #expect(Set(ids).count == 3)
      #expect(!ids.contains(nil))
    }
  }

  @Test("fails to open files of different recordings, with what to do")
  func mixed() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let strings = try fixture.read("c.strings.json")
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      try fixture.write(strings, to: "c.strings.json")
      let error = #expect(throws: CodedError.self) { try fixture.provision(.replay) }
      #expect(error?.kind == .broken)
      #expect(error?.message.contains("different recordings") == true)
      #expect(error?.message.contains("\n") == false)
    }
  }

  @Test("treats a missing string store as an empty one")
  func noStore() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      try FileManager.default.removeItem(atPath: "\(fixture.folder)/c.strings.json")
      try await fixture.run(.replay) { environment async throws in
        #expect(environment.contract.strings?.entries == [:])
        #expect(try await environment.get("/a").text == "/a: 0")
      }
    }
  }

  @Test("refuses a corrupt file with one line that names it", arguments: ["c.har", "c.strings.json"])
  func broken(name: String) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      let content = try fixture.read(name)
      for damaged in ["", "{", String(content.dropLast(content.count / 2)), "[]", "\u{0}"] {
        try fixture.write(damaged, to: name)
        for mode in [Mode.replay, .extend, .once] {
          let error = #expect(throws: CodedError.self) { try fixture.provision(mode, ["api": upstream.origin]) }
          #expect(error?.kind == .broken)
          #expect(error?.message.contains(name) == true)
          #expect(error?.message.contains("\n") == false)
        }
      }
      #expect(!fixture.exists("c.har.partial"))
      // A new recording needs nothing of the old one.
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/b") }
      #expect(try fixture.cassette().interactions.count == 1)
    }
  }

  @Test("reports a missing or short body file when the cassette is opened", arguments: [true, false])
  func missingBody(isThere: Bool) async throws {
    try await withLargeBody { fixture, file in
      if isThere {
        try fixture.write("short", to: file)
      } else {
        try FileManager.default.removeItem(atPath: "\(fixture.folder)/\(file)")
      }
      let error = #expect(throws: CodedError.self) { try fixture.provision(.replay) }
      #expect(error?.kind == .broken)
      #expect(error?.message.contains(file) == true)
    }
  }

  @Test(
    "fails the environment and the request if a body file is removed or truncated meanwhile", arguments: [true, false])
  func vanishingBody(isThere: Bool) async throws {
    try await withLargeBody { fixture, file in
      let environment = try fixture.provision(.replay)
      if isThere {
        try fixture.write("short", to: file)
      } else {
        try FileManager.default.removeItem(atPath: "\(fixture.folder)/\(file)")
      }
      let answer = try await environment.get("/a")
      #expect(answer.status == 500)
      #expect(answer.text.contains(file))
      let (report, _) = await environment.end()
      #expect(!report.ok)
      #expect(report.failures.first?.contains(file) == true)
    }
  }

  /// A cassette of one interaction whose body is in a file. The closure gets the file's path in the cassette's folder.
  private func withLargeBody(_ body: (ServiceFixture, String) async throws -> Void) async throws {
    let upstream = try TestUpstream { _ in
      Response(status: 200, headers: ["Content-Type": "image/png"], body: .bytes(noise(300_000)))
    }
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/a") }
      try await body(fixture, "c.bodies/\(fixture.bodies[0])")
    }
  }

  @Test("refuses a folder that cannot be created, with one line")
  func noFolder() async throws {
    try await withService { fixture in
      try fixture.write("", to: "file")
      let error = #expect(throws: CodedError.self) {
        try fixture.provision(.record, ["api": try Origin(parsing: "http://a.test")]) {
          $0.cassette = CassetteLocation("\(fixture.folder)/file/c")
        }
      }
      #expect(error?.kind == .cannotWrite)
      #expect(error?.message.contains("\n") == false)
    }
  }

  @Test("creates the folders above a cassette")
  func folders() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.run(
        .record, ["api": upstream.origin], with: { $0.cassette = CassetteLocation("\(fixture.folder)/a/b/c.har") }
      ) { _ = try await $0.get("/a") }
      #expect(fixture.exists("a/b/c.har"))
      #expect(fixture.exists("a/b/c.strings.json"))
    }
  }

  @Test("can extend another tool's HAR, whose body files stay where they are")
  func foreign() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      // Its SHA-1, as in Playwright's file names.
      let name = "aaf4c61ddcc5e8a2dabede0f3b482cd9aea9434d.txt"
      let entry = """
        {"startedDateTime": "2020-01-01T00:00:00Z", "time": 1, "cache": {}, "timings": {"send": 0, "wait": 1, "receive": 0},
         "request": {"method": "GET", "url": "\(upstream.origin)/a", "httpVersion": "HTTP/1.1", "cookies": [], "headers": [],
           "queryString": [], "headersSize": -1, "bodySize": 0},
         "response": {"status": 200, "statusText": "OK", "httpVersion": "HTTP/1.1", "cookies": [], "redirectURL": "",
           "headers": [{"name": "Content-Type", "value": "text/plain"}], "headersSize": -1, "bodySize": 5,
           "content": {"size": 5, "mimeType": "text/plain", "_file": "\(name)"}}}
        """
      try fixture.write(
        #"{"log": {"version": "1.2", "creator": {"name": "x", "version": "1"}, "entries": [\#(entry)]}}"#, to: "c.har")
      try fixture.write("hello", to: name)
      for _ in 0..<2 {
        try await fixture.run(.extend, ["api": upstream.origin]) { environment async throws in
          #expect(try await environment.get("/a").text == "hello")
          _ = try await environment.get("/b")
        }
      }
      #expect(upstream.requestCount == 1)
      #expect(try fixture.cassette().interactions.count == 2)
      #expect(try fixture.cassette().header.recordedAt == "2020-01-01T00:00:00Z")
      #expect(fixture.exists(name))
    }
  }
}
