import HTTPMessages
import TestSupport
import Testing

@testable import Cassettes

@Suite("Playback")
struct PlaybackTests {
  private func index(_ interactions: [Interaction], _ upstreams: [String: String] = ["api": "https://a.test"]) throws
    -> CassetteIndex
  {
    let declared = try upstreams.sorted { $0.key < $1.key }
      .map { CassetteHeader.Upstream(name: $0.key, origin: try Origin(parsing: $0.value)) }
    return try CassetteIndex(interactions, upstreams: declared, maker: MatchKeyMaker(), body: noFiles)
  }

  private let interactions: [Interaction] = [
    .recorded("GET", "https://a.test/token", upstream: "api"),
    .recorded("GET", "https://a.test/other", upstream: "api"),
    .recorded("GET", "https://a.test/token", upstream: "api"),
    .recorded("POST", "https://a.test/x?b=1&a=2", upstream: "api", type: "application/json", body: #"{"a":1}"#),
    .recorded("GET", "https://a.test/token", upstream: "api"),
  ]
  private let token = Asked(target: "/token").key

  @Test("repeats play in recorded order, then the last one again")
  func repeats() throws {
    var playback = Playback(index: try index(interactions), uniquely: false)
    #expect((0..<5).map { _ in playback.next(for: token) } == [0, 2, 4, 4, 4])
  }

  @Test("with unique playback, each repeat plays once, then the request is a miss")
  func uniquely() throws {
    var playback = Playback(index: try index(interactions), uniquely: true)
    #expect((0..<5).map { _ in playback.next(for: token) } == [0, 2, 4, nil, nil])
    #expect(playback.contains(token))
    #expect(playback.next(for: Asked(target: "/other").key) == 1)
  }

  @Test("a request that is not recorded is a miss")
  func miss() throws {
    var playback = Playback(index: try index(interactions), uniquely: false)
    let key = Asked(target: "/none").key
    #expect(playback.next(for: key) == nil)
    #expect(!playback.contains(key))
  }

  @Test("a recorded request matches an equivalent notation")
  func spelling() throws {
    var playback = Playback(index: try index(interactions), uniquely: false)
    let asked = Asked(method: "POST", target: "/x?a=2&b=1", type: "application/json", body: #"{ "a": 1.0 }"#)
    #expect(playback.next(for: asked.key) == 3)
  }

  @Test("unused interactions are listed in recorded order")
  func unused() throws {
    var playback = Playback(index: try index(interactions), uniquely: false)
    #expect(playback.unused == [0, 1, 2, 3, 4])
    _ = playback.next(for: token)
    _ = playback.next(for: token)
    #expect(playback.unused == [1, 3, 4])
    for _ in 0..<3 { _ = playback.next(for: token) }
    #expect(playback.unused == [1, 3])
  }

  @Test("an interaction belongs to an upstream by name, otherwise by origin")
  func assignment() throws {
    let interactions: [Interaction] = [
      .recorded("GET", "http://127.0.0.1:5123/x", upstream: "api"), .recorded("GET", "https://B.test:443/x?y"),
      .recorded("GET", "https://user:pw@b.test/z", upstream: "renamed"), .recorded("GET", "https://c.test/x"),
      .recorded("GET", "http://b.test/x"), .recorded("GET", "https://b.test?q=1#top"), .recorded("GET", "nonsense"),
    ]
    let index = try index(interactions, ["api": "https://a.test", "b": "https://b.test"])
    #expect(index.unassigned == [3, 4, 6])
    var playback = Playback(index: index, uniquely: false)
    #expect(playback.next(for: Asked(upstream: 0, target: "/x").key) == 0)
    #expect(playback.next(for: Asked(upstream: 1, target: "/x?y").key) == 1)
    #expect(playback.next(for: Asked(upstream: 1, target: "/z").key) == 2)
    #expect(playback.next(for: Asked(upstream: 1, target: "/?q=1").key) == 5)
    #expect(playback.unused == [3, 4, 6])
  }

  @Test("the index throws if a body cannot be read")
  func unreadable() {
    var interaction = interactions[0]
    interaction.request.body = .file(name: "gone", length: 3)
    #expect(throws: NoSuchBody.self) { try index([interaction]) }
  }

  @Test("a random cassette plays the repeats of each request in order", arguments: [true, false])
  func random(_ uniquely: Bool) throws {
    var generator = SeededGenerator(6)
    let targets = (0..<2_000).map { _ in "/\(generator.upTo(300))" }
    var playback = Playback(
      index: try index(targets.map { .recorded("GET", "https://a.test\($0)") }), uniquely: uniquely)
    var rest = Dictionary(grouping: targets.indices, by: { targets[$0] })
    for _ in 0..<4_000 {
      let target = "/\(generator.upTo(310))"
      var expected = rest[target]?.first
      if let count = rest[target]?.count, count > 1 || uniquely, count > 0 { rest[target]?.removeFirst() }
      if rest[target] == nil { expected = nil }
      #expect(playback.next(for: Asked(target: target).key) == expected)
    }
  }
}
