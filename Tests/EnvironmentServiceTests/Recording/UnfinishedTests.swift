import ControlAPI
import Basics
import Cassettes
import Foundation
import HTTPMessages
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A recording that was killed")
struct UnfinishedTests {
  /// Leaves what a killed recording of `target` leaves: the acknowledged lines, and an incomplete line after them.
  private static func kill(
    _ fixture: ServiceFixture, _ upstream: TestUpstream, mode: Mode = .record, _ targets: [String]
  ) async throws {
    let environment = try fixture.provision(mode, ["api": upstream.origin])
    for target in targets { _ = try await environment.get(target) }
    _ = try await environment.control("/strings", #"{"key": "\#(targets[0].dropFirst())"}"#)
    let left = try fixture.read("c.har.partial")
    let cassette = try? fixture.read("c.har")
    let strings = try? fixture.read("c.strings.json")
    _ = await environment.end()
    for name in ["c.har", "c.strings.json"] { try? FileManager.default.removeItem(atPath: "\(fixture.folder)/\(name)") }
    if let cassette { try fixture.write(cassette, to: "c.har") }
    if let strings { try fixture.write(strings, to: "c.strings.json") }
    try fixture.write(left + #"{"number":9,"entry":{"star"#, to: "c.har.partial")
  }

  private static func targets(_ fixture: ServiceFixture, _ name: String = "c") throws -> [String] {
    try CassetteReader.read(fixture.location(name)).cassette.interactions
      .map { "/" + ($0.request.url.split(separator: "/").last.map(String.init) ?? "") }
  }

  private static func keys(_ fixture: ServiceFixture, _ name: String = "c") throws -> [String] {
    try CassetteReader.read(fixture.location(name)).strings.entries.keys.sorted()
  }

  @Test("is reported as recoverable if it contains anything, and only then")
  func advice() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await Self.kill(fixture, upstream, ["/new"])
      func advice() -> String {
        let error = #expect(throws: CodedError.self) { try fixture.provision(.replay) }
        return error?.message ?? ""
      }
      #expect(advice().contains("diorama cassette check --recover"))
      try fixture.write("", to: "c.har.partial")
      #expect(!advice().contains("--recover"))
      #expect(advice().contains("--mode record"))
    }
  }

  @Test("leaves the old cassette unchanged")
  func oldCassette() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      try await Self.kill(fixture, upstream, ["/new"])
      try await fixture.run(.replay) { environment async throws in
        #expect(try await environment.get("/old").status == 200)
        #expect(try await environment.get("/new").status == 501)
      }
      #expect(fixture.exists("c.har.partial"))
      #expect(try CassetteSealer.unfinished(fixture.location())?.interactions == 1)
    }
  }

  @Test("is kept beside the next recording, and so is another one")
  func keptBeside() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await Self.kill(fixture, upstream, ["/one", "/two"])
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      #expect(environment.notes.count == 1)
      #expect(environment.notes.first?.contains("c.unfinished.har") == true)
      _ = try await environment.get("/three")
      _ = await environment.end()
      #expect(try Self.targets(fixture) == ["/three"])
      #expect(try Self.targets(fixture, "c.unfinished") == ["/one", "/two"])
      #expect(try Self.keys(fixture, "c.unfinished") == ["one"])

      try await Self.kill(fixture, upstream, ["/four"])
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/five") }
      #expect(try Self.targets(fixture, "c.unfinished") == ["/one", "/two"])
      #expect(try Self.targets(fixture, "c.unfinished-2") == ["/four"])
      #expect(fixture.location().recoverable.map(\.name) == ["c.unfinished-2", "c.unfinished"])
      #expect(CassetteLocation.all(inFolder: fixture.folder).map(\.name) == ["c"])
    }
  }

  @Test("is recovered by extend if there was no cassette")
  func takenUp() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await Self.kill(fixture, upstream, ["/one", "/two"])
      let report = try await fixture.run(.extend, ["api": upstream.origin]) { environment async throws in
        #expect(environment.notes.first?.contains("recovered") == true)
        #expect(try await environment.get("/one").text == "/one: 0")
        _ = try await environment.get("/three")
      }
      #expect(report.requests.replayed == 1)
      #expect(report.requests.recorded == 1)
      #expect(try Self.targets(fixture) == ["/one", "/two", "/three"])
      #expect(try Self.keys(fixture) == ["one"])
    }
  }

  @Test("is recovered by the next recording if it was extending the cassette", arguments: [Mode.record, .extend])
  func extending(mode: Mode) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      try await Self.kill(fixture, upstream, mode: .extend, ["/new"])
      let environment = try fixture.provision(mode, ["api": upstream.origin])
      #expect(environment.notes.first?.contains("recovered") == true)
      #expect(try Self.targets(fixture) == ["/old", "/new"])
      #expect(try Self.keys(fixture) == ["new"])
      _ = await environment.end()
      #expect(try Self.targets(fixture) == ["/old", "/new"])
    }
  }

  @Test("without anything acknowledged leaves nothing behind")
  func nothing() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let header = String(decoding: PartialLine.header(CassetteHeader(), purpose: .extend), as: UTF8.self)
      for content in ["", #"{"purpose":"re"#, header] {
        try? FileManager.default.removeItem(atPath: "\(fixture.folder)/c.har")
        try fixture.write(content, to: "c.har.partial")
        let environment = try fixture.provision(.record, ["api": upstream.origin])
        #expect(environment.notes.isEmpty)
        #expect(!fixture.exists("c.har"))
        _ = try await environment.get("/a")
        _ = await environment.end()
        #expect(try Self.targets(fixture) == ["/a"])
        #expect(!fixture.exists("c.unfinished.har"))
        #expect(!fixture.exists("c.har.partial"))
      }
    }
  }

  @Test(
    "with a corrupt line is not touched, and the error names the line",
    arguments: [
      "{\"number\":1,\"entry\":{}}\n", "{\"purpose\":\"merge\",\"header\":{}}\n", "garbage\n",
      "{\"string\":\"a\",\"ordinal\":-1,\"entry\":{\"value\":\"a\",\"length\":1,\"alphabet\":\"ab\"}}\n",
    ])
  func damaged(line: String) async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      try fixture.write(line, to: "c.har.partial")
      for mode in [Mode.record, .extend] {
        let error = #expect(throws: CodedError.self) { try fixture.provision(mode, ["api": upstream.origin]) }
        #expect(error?.kind == .broken)
        #expect(error?.message.contains("c.har.partial") == true)
        #expect(error?.message.contains("\n") == false)
      }
      #expect(try fixture.read("c.har.partial") == line)
    }
  }

  @Test("is saved as the cassette on request, and the old one is kept as previous, with its bodies")
  func recovered() async throws {
    let upstream = try TestUpstream { request in
      Response(
        status: 200, headers: ["Content-Type": "image/png"],
        body: .bytes(noise(request.target == "/old" ? 300_000 : 10)))
    }
    try await withService(upstream) { fixture in
      #expect(try CassetteRecovery.recover(fixture.location()) == nil)
      try await fixture.record(["api": upstream.origin]) { _ = try await $0.get("/old") }
      let environment = try fixture.provision(.record, ["api": upstream.origin])
      _ = try await environment.get("/new")
      // It cannot be recovered while it is running.
      let error = #expect(throws: CodedError.self) { try CassetteRecovery.recover(fixture.location()) }
      #expect(error?.kind == .cannotWrite)
      let left = try fixture.read("c.har.partial")
      environment.recorder?.discard()
      _ = await environment.end()
      for target in ["/old"] { try await fixture.record(["api": upstream.origin]) { _ = try await $0.get(target) } }
      try fixture.write(left, to: "c.har.partial")
      let outcome = try #require(try CassetteRecovery.recover(fixture.location()))
      #expect(outcome.added == 1)
      #expect(try Self.targets(fixture) == ["/new"])
      #expect(try Self.targets(fixture, "c.previous") == ["/old"])
      #expect(try CassetteVerifier.verify(fixture.location("c.previous")).interactions == 1)
      #expect(!fixture.exists("c.bodies"))
      #expect(!fixture.exists("c.har.partial"))
      // Recovering a second recording must keep the whole old cassette too.
      try fixture.write(left, to: "c.har.partial")
      _ = try CassetteRecovery.recover(fixture.location())
      #expect(try Self.targets(fixture, "c.previous") == ["/old"])
      #expect(try Self.targets(fixture, "c.previous-2") == ["/new"])
    }
  }

  @Test("is not replaced by a second recorder of the same cassette, which is refused by name")
  func secondRecorder() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      let first = try fixture.provision(.record, ["api": upstream.origin])
      _ = try await first.get("/a")
      for mode in [Mode.record, .extend] {
        let error = #expect(throws: CodedError.self) { try fixture.provision(mode, ["api": upstream.origin]) }
        #expect(error?.kind == .cannotWrite)
        #expect(error?.message.contains("\(fixture.folder)/c.har") == true)
      }
      _ = try await first.get("/b")
      _ = await first.end()
      #expect(try Self.targets(fixture) == ["/a", "/b"])
      let next = try fixture.provision(.record, ["api": upstream.origin])
      _ = await next.end()
    }
  }

  @Test("of many recorders in turn loses nothing of the others'")
  func recordersInTurn() async throws {
    let upstream = try numbered()
    try await withService(upstream) { fixture in
      // Each retries until the previous one has released the file. Everything acknowledged must be in the cassette.
      try await withThrowingTaskGroup(of: Void.self) { group in
        for number in 0..<8 {
          group.addTask {
            while true {
              do {
                let environment = try fixture.provision(.extend, ["api": upstream.origin])
                _ = try await environment.get("/\(number)")
                _ = try await environment.end().sealed.get()
                return
              } catch let error as CodedError where error.kind == .cannotWrite {
                await Task.yield()
              }
            }
          }
        }
        try await group.waitForAll()
      }
      #expect(try Self.targets(fixture).sorted() == (0..<8).map { "/\($0)" })
    }
  }

  @Test("can be looked at without keeping a recording from starting")
  func looks() async throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("diorama-\(UUID())").path
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    let location = CassetteLocation("\(folder)/c")
    #expect(PartialLock.isHeld(location) == nil)
    let isOver = Guarded(false)
    async let looking: Void = onThread {
      while !isOver.withLock({ $0 }) { _ = PartialLock.isHeld(location) }
    }
    defer { isOver.withLock { $0 = true } }
    try await onThread {
      for _ in 0..<2_000 { _ = try PartialLock.making(location) }
    }
    let lock = try PartialLock.making(location)
    #expect(PartialLock.isHeld(location) == true)
    #expect(throws: CodedError.self) { try PartialLock.existing(location) }
    withExtendedLifetime(lock) {}
    isOver.withLock { $0 = true }
    try await looking
  }
}
