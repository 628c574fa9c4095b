import Cassettes
import Foundation
import HTTPMessages
import LaunchContract
import TestSupport
import Testing

@testable import EnvironmentService

/// Each test puts the files into the state that a kill between two steps of a seal leaves.
@Suite("A seal that was killed half-way")
struct TornSealTests {
  private struct Files {
    var har: String
    var strings: String

    init(_ world: World) throws {
      har = try world.read("c.har")
      strings = try world.read("c.strings.json")
    }
  }

  private struct State {
    var old: Files
    var new: Files
    /// As it is once the seal has announced itself.
    var partial: String
  }

  /// Records `/old` with the string `old`, then `/new` with the string `new`, and keeps all files of both.
  private static func make(_ world: World, _ upstream: TestUpstream, _ mode: Mode) async throws -> State {
    let use: (String) -> (Environment) async throws -> Void = { name in
      { environment async throws in
        _ = try await environment.get("/\(name)")
        _ = try await environment.control("/strings", #"{"key": "\#(name)"}"#)
      }
    }
    try await world.record(["api": upstream.origin], use("old"))
    let old = try Files(world)
    let environment = try world.provision(mode, ["api": upstream.origin])
    try await use("new")(environment)
    let partial = try world.read("c.har.partial")
    _ = await environment.end()
    let id = try #require(try world.cassette().header.recording)
    let announced = partial + String(decoding: PartialLine.sealing(id), as: UTF8.self)
    return State(old: old, new: try Files(world), partial: announced)
  }

  private static func content(_ world: World, _ name: String = "c") throws -> ([String], [String]) {
    let stored = try CassetteReader.read(world.location(name))
    let targets = stored.cassette.interactions.map { $0.request.url.split(separator: "/").last.map(String.init) ?? "" }
    return (targets, stored.strings.entries.keys.sorted())
  }

  /// The string store is the new one, the HAR still the old one.
  private static func tear(_ world: World, _ state: State) throws {
    try world.write(state.old.har, to: "c.har")
    try world.write(state.new.strings, to: "c.strings.json")
    try world.write(state.old.strings, to: "c.strings.json.before")
    try world.write(state.partial, to: "c.har.partial")
  }

  @Test("between the two files leaves the old cassette whole, with its own strings", arguments: [Mode.record, .extend])
  func oldIsWhole(mode: Mode) async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try Self.tear(world, try await Self.make(world, upstream, mode))
      #expect(try Self.content(world) == (["old"], ["old"]))
      try await world.run(.replay) { environment async throws in
        #expect(try await environment.get("/old").status == 200)
        #expect(environment.contract.strings?.entries?.keys.sorted() == ["old"])
      }
    }
  }

  @Test(
    "between the two files of an addition is finished by what comes next", arguments: ["recover", "extend", "record"])
  func extendIsFinished(next: String) async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try Self.tear(world, try await Self.make(world, upstream, .extend))
      if next == "recover" {
        #expect(try CassetteRecovery.recover(world.location())?.added == 1)
      } else {
        try await world.run(try #require(Mode(rawValue: next)), ["api": upstream.origin]) { _ in }
      }
      #expect(try Self.content(world) == (["old", "new"], ["new", "old"]))
      #expect(world.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("between the two files of a new recording loses neither the old nor the new")
  func recordIsRecovered() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      let state = try await Self.make(world, upstream, .record)
      try Self.tear(world, state)
      _ = try CassetteRecovery.recover(world.location())
      #expect(try Self.content(world) == (["new"], ["new"]))
      #expect(try Self.content(world, "c.previous") == (["old"], ["old"]))

      try Self.tear(world, state)
      try await world.run(.record, ["api": upstream.origin]) { _ in }
      #expect(try Self.content(world) == (["old"], ["old"]))
      #expect(try Self.content(world, "c.unfinished") == (["new"], ["new"]))
    }
  }

  @Test(
    "after both files is not done a second time", arguments: [Mode.record, .extend], ["recover", "extend", "record"])
  func notTwice(mode: Mode, next: String) async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      let state = try await Self.make(world, upstream, mode)
      try world.write(state.old.strings, to: "c.strings.json.before")
      try world.write(state.partial, to: "c.har.partial")
      if next == "recover" {
        #expect(try CassetteRecovery.recover(world.location()) != nil)
      } else {
        try await world.run(try #require(Mode(rawValue: next)), ["api": upstream.origin]) { environment async throws in
          #expect(environment.notes.isEmpty)
        }
      }
      let targets = mode == .record ? ["new"] : ["old", "new"]
      #expect(try Self.content(world) == (targets, mode == .record ? ["new"] : ["new", "old"]))
      #expect(world.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("before it replaced anything is begun anew, with the torn line dropped")
  func notBegun() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      let state = try await Self.make(world, upstream, .extend)
      try world.write(state.old.har, to: "c.har")
      try world.write(state.old.strings, to: "c.strings.json")
      try world.write(state.partial + "{\"sealing\":\"to", to: "c.har.partial")
      _ = try CassetteRecovery.recover(world.location())
      #expect(try Self.content(world) == (["old", "new"], ["new", "old"]))
      #expect(world.files == ["c.har", "c.strings.json"])
    }
  }

  @Test("that cannot replace the HAR puts the old strings back")
  func rollBack() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      let environment = try world.provision(.record, ["api": upstream.origin])
      _ = try await environment.get("/a")
      // A folder in the HAR's place cannot be renamed over.
      try FileManager.default.createDirectory(atPath: "\(world.folder)/c.har", withIntermediateDirectories: false)
      try world.write("the old ones", to: "c.strings.json")
      let (report, sealed) = await environment.end()
      #expect(throws: EnvironmentError.self) { try sealed.get() }
      #expect(!report.ok)
      #expect(try world.read("c.strings.json") == "the old ones")
      #expect(world.files == ["c.har", "c.har.partial", "c.strings.json"])
    }
  }
}
