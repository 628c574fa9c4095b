import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

/// Each test puts the files into the state that a kill between two steps of saving leaves.
@Suite("A kill while a cassette is being saved")
struct TornSealTests {
  private struct Files {
    var har: String
    var strings: String

    init(_ fixture: ServiceFixture) throws {
      har = try fixture.read("c.har")
      strings = try fixture.read("c.strings.json")
    }
  }

  private struct State {
    var old: Files
    var new: Files
    /// The partial file, once it has the new recording id.
    var partial: String
  }

  /// Records `/old` with the string `old`, then `/new` with the string `new`, and keeps all files of both.
  private static func make(_ fixture: ServiceFixture, _ upstream: TestUpstream, _ mode: Mode) async throws -> State {
    let use: (String) -> (Environment) async throws -> Void = { name in
      { environment async throws in
        _ = try await environment.get("/\(name)")
        _ = try await environment.control("/strings", #"{"key": "\#(name)"}"#)
      }
    }
    try await fixture.record(["api": upstream.origin], use("old"))
    let old = try Files(fixture)
    let environment = try fixture.provision(mode, ["api": upstream.origin])
    try await use("new")(environment)
    let partial = try fixture.read("c.har.partial")
    _ = await environment.end()
    let id = try #require(try fixture.cassette().header.recording)
    let announced = partial + String(decoding: PartialLine.sealing(id), as: UTF8.self)
    return State(old: old, new: try Files(fixture), partial: announced)
  }

  private static func content(_ fixture: ServiceFixture, _ name: String = "c") throws -> ([String], [String]) {
    let stored = try CassetteReader.read(fixture.location(name))
    let targets = stored.cassette.interactions.map { $0.request.url.split(separator: "/").last.map(String.init) ?? "" }
    return (targets, stored.strings.entries.keys.sorted())
  }

  /// Combines the new string store with the old HAR.
  private static func tear(_ fixture: ServiceFixture, _ state: State) throws {
    try fixture.write(state.old.har, to: "c.har")
    try fixture.write(state.new.strings, to: "c.strings.json")
    try fixture.write(state.old.strings, to: "c.strings.json.before")
    try fixture.write(state.partial, to: "c.har.partial")
  }

  @Test(
    "between the two files leaves the old cassette complete, with its own strings", arguments: [Mode.record, .extend])
  func oldIsWhole(mode: Mode) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try Self.tear(fixture, try await Self.make(fixture, upstream, mode))
      #expect(try Self.content(fixture) == (["old"], ["old"]))
      try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/old").status == 200)
        #expect(environment.contract.strings?.entries?.keys.sorted() == ["old"])
      }
    }
  }

  @Test(
    "between the files of an extension is completed by the next command", arguments: ["recover", "extend", "record"])
  func extendIsFinished(next: String) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try Self.tear(fixture, try await Self.make(fixture, upstream, .extend))
      if next == "recover" {
        #expect(try CassetteRecovery.recover(fixture.location())?.added == 1)
      } else {
        try await fixture.run(try #require(Mode(rawValue: next)), ["api": upstream.origin]) { _ in }
      }
      #expect(try Self.content(fixture) == (["old", "new"], ["new", "old"]))
      #expect(fixture.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("between the two files of a new recording loses neither the old nor the new one")
  func recordIsRecovered() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let state = try await Self.make(fixture, upstream, .record)
      try Self.tear(fixture, state)
      _ = try CassetteRecovery.recover(fixture.location())
      #expect(try Self.content(fixture) == (["new"], ["new"]))
      #expect(try Self.content(fixture, "c.previous") == (["old"], ["old"]))

      try Self.tear(fixture, state)
      try await fixture.run(.record, ["api": upstream.origin]) { _ in }
      #expect(try Self.content(fixture) == (["old"], ["old"]))
      #expect(try Self.content(fixture, "c.unfinished") == (["new"], ["new"]))
    }
  }

  @Test(
    "after both files does not save again", arguments: [Mode.record, .extend], ["recover", "extend", "record"])
  func notTwice(mode: Mode, next: String) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let state = try await Self.make(fixture, upstream, mode)
      try fixture.write(state.old.strings, to: "c.strings.json.before")
      try fixture.write(state.partial, to: "c.har.partial")
      if next == "recover" {
        #expect(try CassetteRecovery.recover(fixture.location()) != nil)
      } else {
        try await fixture.run(try #require(Mode(rawValue: next)), ["api": upstream.origin]) {
          environment async throws in
          #expect(environment.notes.isEmpty)
        }
      }
      let targets = mode == .record ? ["new"] : ["old", "new"]
      #expect(try Self.content(fixture) == (targets, mode == .record ? ["new"] : ["new", "old"]))
      #expect(fixture.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("before any file was replaced starts saving again, without the incomplete line")
  func notBegun() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let state = try await Self.make(fixture, upstream, .extend)
      try fixture.write(state.old.har, to: "c.har")
      try fixture.write(state.old.strings, to: "c.strings.json")
      try fixture.write(state.partial + "{\"sealing\":\"to", to: "c.har.partial")
      _ = try CassetteRecovery.recover(fixture.location())
      #expect(try Self.content(fixture) == (["old", "new"], ["new", "old"]))
      #expect(fixture.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("or a HAR that cannot be replaced restores the old strings")
  func rollBack() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      _ = try await environment.get("/a")
      // A rename cannot replace a folder.
      try FileManager.default.createDirectory(atPath: "\(fixture.folder)/c.har", withIntermediateDirectories: false)
      try fixture.write("the old ones", to: "c.strings.json")
      let (report, sealed) = await environment.end()
      #expect(throws: CodedError.self) { try sealed.get() }
      #expect(!report.ok)
      #expect(try fixture.read("c.strings.json") == "the old ones")
      #expect(fixture.files == ["c.har", "c.har.partial", "c.strings.json"])
    }
  }
}
