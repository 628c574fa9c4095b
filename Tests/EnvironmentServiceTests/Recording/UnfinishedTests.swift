import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A recording that was killed")
struct UnfinishedTests {
  /// Leaves what a killed recording of `target` leaves: the acknowledged lines, and half a line after them.
  private static func kill(
    _ world: World, _ upstream: TestUpstream, mode: Mode = .record, _ targets: [String]
  ) async throws {
    let environment = try world.provision(mode, ["api": upstream.origin])
    for target in targets { _ = try await environment.get(target) }
    _ = try await environment.control("/strings", #"{"key": "\#(targets[0].dropFirst())"}"#)
    let left = try world.read("c.har.partial")
    let cassette = try? world.read("c.har")
    let strings = try? world.read("c.strings.json")
    _ = await environment.end()
    for name in ["c.har", "c.strings.json"] { try? FileManager.default.removeItem(atPath: "\(world.folder)/\(name)") }
    if let cassette { try world.write(cassette, to: "c.har") }
    if let strings { try world.write(strings, to: "c.strings.json") }
    try world.write(left + #"{"number":9,"entry":{"star"#, to: "c.har.partial")
  }

  private static func targets(_ world: World, _ name: String = "c") throws -> [String] {
    try CassetteReader.read(world.location(name)).cassette.interactions
      .map { "/" + ($0.request.url.split(separator: "/").last.map(String.init) ?? "") }
  }

  private static func keys(_ world: World, _ name: String = "c") throws -> [String] {
    try CassetteReader.read(world.location(name)).strings.entries.keys.sorted()
  }

  @Test("is to be recovered where it holds something, and only there")
  func advice() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try await Self.kill(world, upstream, ["/new"])
      func advice() -> String {
        let error = #expect(throws: EnvironmentError.self) { try world.provision(.replay) }
        return error?.message ?? ""
      }
      #expect(advice().contains("diorama cassette check --recover"))
      try world.write("", to: "c.har.partial")
      #expect(!advice().contains("--recover"))
      #expect(advice().contains("--mode record"))
    }
  }

  @Test("leaves the old cassette as it was")
  func oldCassette() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try await world.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      try await Self.kill(world, upstream, ["/new"])
      try await world.run(.replay) { environment async throws in
        #expect(try await environment.get("/old").status == 200)
        #expect(try await environment.get("/new").status == 501)
      }
      #expect(world.exists("c.har.partial"))
      #expect(try CassetteSealer.unfinished(world.location()) == 1)
    }
  }

  @Test("is kept beside the next recording, and so is the one after that")
  func keptBeside() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try await Self.kill(world, upstream, ["/one", "/two"])
      let environment = try world.provision(.record, ["api": upstream.origin])
      #expect(environment.notes.count == 1)
      #expect(environment.notes.first?.contains("c.unfinished.har") == true)
      _ = try await environment.get("/three")
      _ = await environment.end()
      #expect(try Self.targets(world) == ["/three"])
      #expect(try Self.targets(world, "c.unfinished") == ["/one", "/two"])
      #expect(try Self.keys(world, "c.unfinished") == ["one"])

      try await Self.kill(world, upstream, ["/four"])
      try await world.record(["api": upstream.origin]) { _ = try await $0.get("/five") }
      #expect(try Self.targets(world, "c.unfinished") == ["/one", "/two"])
      #expect(try Self.targets(world, "c.unfinished-2") == ["/four"])
    }
  }

  @Test("is taken up by extend where there was no cassette")
  func takenUp() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try await Self.kill(world, upstream, ["/one", "/two"])
      let report = try await world.run(.extend, ["api": upstream.origin]) { environment async throws in
        #expect(environment.notes.first?.contains("recovered") == true)
        #expect(try await environment.get("/one").text == "/one: 0")
        _ = try await environment.get("/three")
      }
      #expect(report.requests.replayed == 1)
      #expect(report.requests.recorded == 1)
      #expect(try Self.targets(world) == ["/one", "/two", "/three"])
      #expect(try Self.keys(world) == ["one"])
    }
  }

  @Test("that was extending is taken up by whatever records next", arguments: [Mode.record, .extend])
  func extending(mode: Mode) async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try await world.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      try await Self.kill(world, upstream, mode: .extend, ["/new"])
      let environment = try world.provision(mode, ["api": upstream.origin])
      #expect(environment.notes.first?.contains("recovered") == true)
      #expect(try Self.targets(world) == ["/old", "/new"])
      #expect(try Self.keys(world) == ["new"])
      _ = await environment.end()
      #expect(try Self.targets(world) == ["/old", "/new"])
    }
  }

  @Test("with nothing acknowledged leaves nothing")
  func nothing() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      let header = String(decoding: PartialLine.header(CassetteHeader(), purpose: .extend), as: UTF8.self)
      for content in ["", #"{"purpose":"re"#, header] {
        try? FileManager.default.removeItem(atPath: "\(world.folder)/c.har")
        try world.write(content, to: "c.har.partial")
        let environment = try world.provision(.record, ["api": upstream.origin])
        #expect(environment.notes.isEmpty)
        #expect(!world.exists("c.har"))
        _ = try await environment.get("/a")
        _ = await environment.end()
        #expect(try Self.targets(world) == ["/a"])
        #expect(!world.exists("c.unfinished.har"))
        #expect(!world.exists("c.har.partial"))
      }
    }
  }

  @Test(
    "with a damaged line is not touched, and the error says where",
    arguments: [
      "{\"number\":1,\"entry\":{}}\n", "{\"purpose\":\"merge\",\"header\":{}}\n", "garbage\n",
      "{\"string\":\"a\",\"ordinal\":-1,\"entry\":{\"value\":\"a\",\"length\":1,\"alphabet\":\"ab\"}}\n",
    ])
  func damaged(line: String) async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      try world.write(line, to: "c.har.partial")
      for mode in [Mode.record, .extend] {
        let error = #expect(throws: EnvironmentError.self) { try world.provision(mode, ["api": upstream.origin]) }
        #expect(error?.kind == .broken)
        #expect(error?.message.contains("c.har.partial") == true)
        #expect(error?.message.contains("\n") == false)
      }
      #expect(try world.read("c.har.partial") == line)
    }
  }

  @Test("is made the cassette on request, and the old one is kept as previous, with its bodies")
  func recovered() async throws {
    let upstream = try TestUpstream { request in
      Response(
        status: 200, headers: ["Content-Type": "image/png"],
        body: .bytes(noise(request.target == "/old" ? 300_000 : 10)))
    }
    try await withWorld(upstream) { world in
      #expect(try CassetteRecovery.recover(world.location()) == nil)
      try await world.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      let environment = try world.provision(.record, ["api": upstream.origin])
      _ = try await environment.get("/new")
      // While it runs, nobody takes it up.
      let error = #expect(throws: EnvironmentError.self) { try CassetteRecovery.recover(world.location()) }
      #expect(error?.kind == .cannotWrite)
      let left = try world.read("c.har.partial")
      environment.recorder?.discard()
      _ = await environment.end()
      for target in ["/old"] { try await world.record(["api": upstream.origin]) { _ = try await $0.get(target) } }
      try world.write(left, to: "c.har.partial")
      let outcome = try #require(try CassetteRecovery.recover(world.location()))
      #expect(outcome.added == 1)
      #expect(try Self.targets(world) == ["/new"])
      #expect(try Self.targets(world, "c.previous") == ["/old"])
      #expect(try CassetteVerifier.verify(world.location("c.previous")).interactions == 1)
      #expect(!world.exists("c.bodies"))
      #expect(!world.exists("c.har.partial"))
      // Another time the whole old one must not be lost either.
      try world.write(left, to: "c.har.partial")
      _ = try CassetteRecovery.recover(world.location())
      #expect(try Self.targets(world, "c.previous") == ["/old"])
      #expect(try Self.targets(world, "c.previous-2") == ["/new"])
    }
  }

  @Test("a second recorder of one cassette is refused by name, and the first goes on")
  func secondRecorder() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      let first = try world.provision(.record, ["api": upstream.origin])
      _ = try await first.get("/a")
      for mode in [Mode.record, .extend] {
        let error = #expect(throws: EnvironmentError.self) { try world.provision(mode, ["api": upstream.origin]) }
        #expect(error?.kind == .cannotWrite)
        #expect(error?.message.contains("\(world.folder)/c.har") == true)
      }
      _ = try await first.get("/b")
      _ = await first.end()
      #expect(try Self.targets(world) == ["/a", "/b"])
      let next = try world.provision(.record, ["api": upstream.origin])
      _ = await next.end()
    }
  }

  @Test("many recorders, one after the other has ended, lose nothing to each other")
  func recordersInTurn() async throws {
    let upstream = try numbered()
    try await withWorld(upstream) { world in
      // Each tries until the one before it has let go; whatever it then acknowledges must be in the cassette.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask {
            while true {
              do {
                let environment = try world.provision(.extend, ["api": upstream.origin])
                _ = try await environment.get("/\(number)")
                _ = try await environment.end().sealed.get()
                return
              } catch let error as EnvironmentError where error.kind == .cannotWrite {
                await Task.yield()
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try Self.targets(world).sorted() == (0..<8).map { "/\($0)" })
    }
  }
}
