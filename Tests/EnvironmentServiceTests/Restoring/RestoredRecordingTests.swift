import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A recording that continues after its process was killed")
struct RestoredRecordingTests {
  @Test("has everything acknowledged before and after, in order, with its strings")
  func goesOn() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.twoLives(.record, ["api": upstream.origin]) { environment async throws in
        for target in ["/a", "/b"] { _ = try await environment.get(target) }
        _ = try await environment.control("/strings", #"{"key": "k"}"#)
        // The line that was being written at the kill.
        let path = "\(fixture.folder)/c.har.partial"
        let half = try fixture.read("c.har.partial") + #"{"number":3,"entry":{"star"#
        let file = try #require(FileHandle(forWritingAtPath: path))
        try file.seekToEnd()
        try file.write(contentsOf: Data(#"{"number":3,"entry":{"star"#.utf8))
        try file.close()
        #expect(try fixture.read("c.har.partial") == half)
      } after: { environment async throws in
        #expect(try await environment.get("/c").text == "/c: 2")
        // The same value, and no second entry for it.
        let again = try await environment.control("/strings", #"{"key": "k", "ordinal": 0}"#)
        let next = try await environment.control("/strings", #"{"key": "k"}"#)
        #expect(again.text != next.text)
        #expect(try next.json["ordinal"]?.int == 1)
        #expect(environment.report().strings.recorded == 2)
      }
      let stored = try CassetteReader.read(fixture.location())
      #expect(stored.cassette.interactions.map { $0.request.url.suffix(2) } == ["/a", "/b", "/c"])
      #expect(stored.strings.entries["k"]?.count == 2)
      #expect(fixture.files == ["c.har", "c.strings.json"])
      #expect(try fixture.cassette().header.seed == stored.strings.seed)
    }
  }

  @Test("adds to the cassette in mode extend")
  func extending() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      try await fixture.twoLives(.extend, ["api": upstream.origin]) { environment async throws in
        #expect(try await environment.get("/old").text == "/old: 0")
        _ = try await environment.get("/new")
      } after: { environment async throws in
        _ = try await environment.get("/newer")
        #expect(try await environment.get("/old").text == "/old: 0")
      }
      #expect(
        try fixture.cassette().interactions.map { $0.request.url.split(separator: "/").last } == [
          "old", "new", "newer",
        ])
    }
  }

  @Test("leaves no incomplete body behind")
  func leftovers() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.twoLives(.record, ["api": upstream.origin]) { environment async throws in
        _ = try await environment.get("/a")
        try FileManager.default.createDirectory(atPath: "\(fixture.folder)/c.bodies", withIntermediateDirectories: true)
        try fixture.write("half", to: "c.bodies/.incoming-1-1")
      } after: { _ async throws in
        #expect(fixture.bodies == [])
      }
    }
  }

  @Test("is refused if it was ended meanwhile, and takes nothing from the cassette")
  func ended() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      _ = try await environment.get("/a")
      let snapshot = environment.snapshot()
      let partial = try fixture.read("c.har.partial")
      _ = await environment.end()
      let cassette = try fixture.read("c.har")
      func refusal() -> String {
        let error = #expect(throws: CodedError.self) {
          try fixture.service.provision(snapshot.specification, restoring: snapshot)
        }
        #expect(error?.kind == .noCassette)
        return error?.message ?? ""
      }
      #expect(refusal().contains("has been ended"))
      // Killed while the cassette was being saved.
      let recording = try #require(try fixture.cassette().header.recording)
      try fixture.write(partial + "{\"sealing\":\"\(recording)\"}\n", to: "c.har.partial")
      #expect(refusal().contains("it is in \(fixture.folder)/c.har now"))
      #expect(try fixture.read("c.har") == cassette)
      #expect(!fixture.exists("c.har.partial"))
      // Another recording of the same cassette has begun.
      let other = try fixture.provision(.record, ["api": upstream.origin])
      let left = try fixture.read("c.har.partial")
      _ = await other.end()
      try fixture.write(left, to: "c.har.partial")
      #expect(refusal().contains("is of another recording"))
      #expect(try fixture.read("c.har.partial") == left)
    }
  }
}
