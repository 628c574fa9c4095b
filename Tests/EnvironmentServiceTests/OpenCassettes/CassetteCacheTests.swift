import Basics
@testable import Transforms
import Cassettes
import Foundation
import TestSupport
import Testing

@testable import EnvironmentService

@Suite("A cassette that is open")
struct CassetteCacheTests {
  private static let hour = 3_600_000_000_000

  /// A cassette of one interaction with the body `old`, which lies in a file.
  private static func withCassette(_ body: (ServiceFixture) throws -> Void) async throws {
    try await withService { fixture in
      try FileManager.default.createDirectory(
        atPath: "\(fixture.folder)/c.bodies", withIntermediateDirectories: false)
      try fixture.write("old", to: "c.bodies/a.txt")
      try fixture.writeCassette(url: "http://a.test/a", file: "c.bodies/a.txt")
      try body(fixture)
    }
  }

  @Test("is read once, as long as its files are what they were")
  func shared() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      let first = try cache.open(fixture.location())
      #expect(try cache.open(fixture.location()) === first)
      #expect(try cache.open(CassetteLocation("\(fixture.folder)/c.har")) === first)
    }
  }

  @Test("is read anew once one of its files has changed, and whoever has it keeps what he has")
  func changed() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      let first = try cache.open(fixture.location())
      // Another length, in the same file.
      try fixture.writeCassette(url: "http://a.test/longer", file: "c.bodies/a.txt")
      let second = try cache.open(fixture.location())
      #expect(second !== first)
      #expect(second.cassette.interactions[0].request.url == "http://a.test/longer")
      #expect(first.cassette.interactions[0].request.url == "http://a.test/a")
      // Another file of the same length in its place.
      try Data("new".utf8).write(to: URL(fileURLWithPath: "\(fixture.folder)/c.bodies/a.txt"), options: .atomic)
      #expect(try cache.open(fixture.location()) !== second)
    }
  }

  @Test("is read anew once it has a string store")
  func strings() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() + Self.hour }
      let first = try cache.open(fixture.location())
      try fixture.write(#"{"diorama":1,"seed":"s","strings":{}}"#, to: "c.strings.json")
      #expect((try? cache.open(fixture.location())) !== first)
    }
  }

  @Test("is not shared when it was written a moment ago: a second change in that moment could not be told")
  func young() async throws {
    try await Self.withCassette { fixture in
      let cache = CassetteCache { FileStamp.now() - Self.hour }
      let first = try cache.open(fixture.location())
      #expect(try cache.open(fixture.location()) !== first)
    }
  }

  @Test("is let go of when nobody replays it any more")
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

  @Test("says which body is missing, also when it was there for another environment")
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
