import Basics
@testable import Transforms
import Cassettes
import Foundation
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("An open cassette")
struct CassetteCacheTests {
  private static let hour = 3_600_000_000_000

  /// A cassette of one interaction with the body `old` in a file.
  private static func withCassette(_ body: (ServiceFixture) throws -> Void) async throws {
    try await withService { fixture in
      try FileManager.default.createDirectory(
        atPath: "\(fixture.folder)/c.bodies", withIntermediateDirectories: false)
      try fixture.write("old", to: "c.bodies/a.txt")
      try fixture.writeCassette(url: "http://a.test/a", file: "c.bodies/a.txt")
      try body(fixture)
    }
  }

  @Test("is read once, as long as its files are unchanged")
  func shared() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      let first = try cache.open(fixture.location())
      #expect(try cache.open(fixture.location()) === first)
      #expect(try cache.open(CassetteLocation("\(fixture.folder)/c.har")) === first)
    }
  }

  @Test("is read again after a file has changed, and its current users keep the old one")
  func changed() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      let first = try cache.open(fixture.location())
      // A different length, in the same file.
      try fixture.writeCassette(url: "http://a.test/longer", file: "c.bodies/a.txt")
      let second = try cache.open(fixture.location())
      #expect(second !== first)
      #expect(second.cassette.interactions[0].request.url == "http://a.test/longer")
      #expect(first.cassette.interactions[0].request.url == "http://a.test/a")
      // A new file of the same length.
      try Data("new".utf8).write(to: URL(fileURLWithPath: "\(fixture.folder)/c.bodies/a.txt"), options: .atomic)
      #expect(try cache.open(fixture.location()) !== second)
    }
  }

  @Test("is read again once it has a string store")
  func strings() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      let first = try cache.open(fixture.location())
      try fixture.write(#"{"diorama":1,"seed":"s","strings":{}}"#, to: "c.strings.json")
      #expect((try? cache.open(fixture.location())) !== first)
    }
  }

  @Test("is not shared if it was written just now, since another change at that time would not show")
  func young() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() - Self.hour }
      let first = try cache.open(fixture.location())
      #expect(try cache.open(fixture.location()) !== first)
    }
  }

  @Test("is released when no environment replays it any more")
  func released() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      var cassette: OpenCassette? = try cache.open(fixture.location())
      var replay = try cassette?.replay([], redactor: Redactor([], token: ""))
      weak let seen = cassette
      weak let seenReplay = replay
      cassette = nil
      #expect(seen != nil, "the replay needs it")
      #expect(try cache.open(fixture.location()).replay([], redactor: Redactor([], token: "")) === replay)
      replay = nil
      #expect(seenReplay == nil)
      #expect(seen == nil)
    }
  }

  @Test("reports a missing body, even if another environment has read it")
  func missing() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      let first = try cache.open(fixture.location())
      try FileManager.default.removeItem(atPath: "\(fixture.folder)/c.bodies/a.txt")
      let error = #expect(throws: CodedError.self) { try cache.open(fixture.location()) }
      #expect(error?.message.contains("c.bodies/a.txt is missing") == true)
      withExtendedLifetime(first) {}
    }
  }
}
