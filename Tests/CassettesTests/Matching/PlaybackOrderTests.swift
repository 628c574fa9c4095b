import EnvironmentConfiguration
import HTTPMessages
import Testing

@testable import Cassettes

@Suite("Playback orders")
struct PlaybackOrderTests {
  /// A request that starts at a millisecond and takes some.
  private func at(_ start: Int, _ length: Double, _ method: String, _ path: String) -> Interaction {
    var interaction = Interaction.recorded(method, "https://a.test\(path)", upstream: "api")
    let fraction = String(start * 1000 + 1_000_001).dropFirst()
    interaction.startedAt = "2018-10-08T09:00:00.\(fraction)Z"
    interaction.milliseconds = length
    return interaction
  }

  private func playback(
    _ interactions: [Interaction], _ order: PlaybackOrder, rules json: String? = nil, uniquely: Bool = false
  ) throws -> Playback {
    let book = try json.map { try RuleBook(try rules($0), upstreams: Sent.upstreams) }
    let index = try CassetteIndex(
      interactions, upstreams: Sent.upstreams, maker: MatchKeyMaker(book), order: order, body: noFiles)
    return Playback(index: index, uniquely: uniquely)
  }

  private func key(_ method: String, _ target: String) -> MatchKey { Asked(method: method, target: target).key }

  // MARK: strict

  @Test("strict: plays only the next interaction, each once")
  func strict() throws {
    var playback = try playback(
      [at(0, 1, "GET", "/a"), at(2, 1, "GET", "/b"), at(4, 1, "GET", "/a")], .strict)
    #expect(playback.expected == 0)
    #expect(playback.next(for: key("GET", "/b")) == nil)
    #expect(playback.awaited(by: 1) == 0)
    #expect(playback.next(for: key("GET", "/a")) == 0)
    #expect(playback.next(for: key("GET", "/a")) == nil)
    #expect(playback.awaited(by: 2) == 1)
    #expect(playback.next(for: key("GET", "/b")) == 1)
    #expect(playback.next(for: key("GET", "/a")) == 2)
    #expect(playback.next(for: key("GET", "/a")) == nil)
    #expect(playback.expected == nil)
    #expect(playback.unused.isEmpty)
  }

  @Test("strict: overlapping interactions come in any order")
  func overlaps() throws {
    let interactions = [at(0, 10, "GET", "/a"), at(2, 10, "GET", "/b"), at(11, 1, "GET", "/c"), at(20, 1, "GET", "/d")]
    var playback = try playback(interactions, .strict)
    #expect(playback.next(for: key("GET", "/c")) == nil)
    #expect(playback.next(for: key("GET", "/b")) == 1)
    #expect(playback.next(for: key("GET", "/c")) == nil)
    #expect(playback.expected == 0)
    #expect(playback.next(for: key("GET", "/d")) == nil)
    #expect(playback.next(for: key("GET", "/a")) == 0)
    #expect(playback.next(for: key("GET", "/c")) == 2)
    #expect(playback.next(for: key("GET", "/d")) == 3)
    var other = try self.playback(interactions, .strict)
    #expect(["/a", "/c", "/b", "/d"].map { other.next(for: key("GET", $0)) } == [0, 2, 1, 3])
  }

  @Test(
    "strict: interactions with equal coarse times stay in order",
    arguments: ["2018-10-08T09:00:00.001Z", "2018-10-08T09:00:00Z", "2018-10-08T09:00:00+00:00", "", "yesterday"])
  func coarse(time: String) throws {
    var interactions = [at(0, 0.9, "GET", "/a"), at(0, 0.9, "GET", "/b")]
    for number in interactions.indices { interactions[number].startedAt = time }
    var playback = try playback(interactions, .strict)
    #expect(playback.next(for: key("GET", "/b")) == nil)
    #expect(playback.next(for: key("GET", "/a")) == 0)
    #expect(playback.next(for: key("GET", "/b")) == 1)
  }

  @Test("strict: interactions of undeclared upstreams are not waited for")
  func unassigned() throws {
    var playback = try playback(
      [.recorded("GET", "https://elsewhere.test/"), at(5, 1, "GET", "/a")], .strict)
    #expect(playback.next(for: key("GET", "/a")) == 1)
    #expect(playback.unused == [0])
  }

  // MARK: state

  private var shop: [Interaction] {
    [
      at(0, 1, "GET", "/cart"), at(2, 1, "POST", "/cart"), at(4, 1, "GET", "/cart"), at(6, 1, "DELETE", "/cart"),
      at(8, 1, "GET", "/cart"),
    ]
  }

  @Test("state: a GET gets the response from before the POST until the POST has been made")
  func state() throws {
    var playback = try playback(shop, .state)
    let get = key("GET", "/cart")
    #expect((0..<3).map { _ in playback.next(for: get) } == [0, 0, 0])
    #expect(playback.next(for: key("POST", "/cart")) == 1)
    #expect((0..<2).map { _ in playback.next(for: get) } == [2, 2])
    #expect(playback.next(for: key("DELETE", "/cart")) == 3)
    #expect((0..<2).map { _ in playback.next(for: get) } == [4, 4])
    // The default order, in which only repeats count:
    var plain = try self.playback(shop, .request)
    #expect((0..<4).map { _ in plain.next(for: get) } == [0, 2, 4, 4])
  }

  @Test("state: responses of a past state are no longer played, even if never requested")
  func passed() throws {
    var interactions = shop
    interactions.insert(at(1, 0.5, "GET", "/cart"), at: 1)
    var playback = try playback(interactions, .state)
    let get = key("GET", "/cart")
    #expect(playback.next(for: get) == 0)
    #expect(playback.next(for: key("POST", "/cart")) == 2)
    #expect(playback.next(for: get) == 3)
    #expect(playback.unused == [1, 4, 5])
  }

  @Test("state: repeats within a state play in order, then the last one again, or once with unique playback")
  func repeats() throws {
    let interactions = [at(0, 1, "GET", "/x"), at(2, 1, "GET", "/x"), at(4, 1, "PUT", "/y"), at(6, 1, "GET", "/x")]
    var playback = try playback(interactions, .state)
    #expect((0..<3).map { _ in playback.next(for: key("GET", "/x")) } == [0, 1, 1])
    var unique = try self.playback(interactions, .state, uniquely: true)
    #expect((0..<3).map { _ in unique.next(for: key("GET", "/x")) } == [0, 1, nil])
  }

  @Test("state: a request recorded only after a change is a miss before it, which names the change")
  func early() throws {
    var playback = try playback([at(0, 1, "POST", "/orders"), at(2, 1, "GET", "/orders/1")], .state)
    #expect(playback.next(for: key("GET", "/orders/1")) == nil)
    #expect(playback.awaited(by: 1) == 0)
    #expect(playback.expected == nil)
    #expect(playback.next(for: key("POST", "/orders")) == 0)
    #expect(playback.next(for: key("GET", "/orders/1")) == 1)
  }

  @Test("state: overlapping changes come in any order, others wait for their turn")
  func concurrentChanges() throws {
    let interactions = [
      at(0, 10, "POST", "/a"), at(2, 10, "POST", "/b"), at(20, 1, "POST", "/c"), at(30, 1, "GET", "/d"),
    ]
    for first in ["/a", "/b"] {
      var playback = try playback(interactions, .state)
      #expect(playback.next(for: key("POST", "/c")) == nil)
      #expect(playback.isEarly(key("POST", "/c")) && playback.isEarly(key("GET", "/d")))
      for path in [first, first == "/a" ? "/b" : "/a", "/c"] {
        #expect(playback.next(for: key("POST", path)) == interactions.firstIndex { $0.request.url.hasSuffix(path) })
      }
      #expect(playback.next(for: key("GET", "/d")) == 3)
      #expect(playback.unused.isEmpty && !playback.isEarly(key("GET", "/d")))
    }
  }

  @Test("state: equal changes each play in recorded order, and do not repeat before their turn")
  func equalChanges() throws {
    // The second /a overlapped with the first one and began after /b ended; the third began after all others ended.
    let interactions = [
      at(0, 10, "POST", "/a"), at(1, 1, "POST", "/b"), at(4, 10, "POST", "/a"), at(20, 1, "POST", "/c"),
      at(30, 1, "POST", "/a"),
    ]
    var playback = try playback(interactions, .state)
    #expect(playback.next(for: key("POST", "/b")) == 1)
    #expect((0..<3).map { _ in playback.next(for: key("POST", "/a")) } == [0, 2, nil])
    #expect(playback.isEarly(key("POST", "/a")))
    #expect(playback.next(for: key("POST", "/c")) == 3)
    #expect((0..<2).map { _ in playback.next(for: key("POST", "/a")) } == [4, 4])
    #expect(playback.unused.isEmpty)
  }

  @Test("state: a rule sets which requests change the state")
  func changesState() throws {
    let interactions = [
      at(0, 1, "GET", "/x"), at(2, 1, "POST", "/search"), at(4, 1, "GET", "/x"), at(6, 1, "GET", "/next"),
      at(8, 1, "GET", "/x"),
    ]
    let rules =
      #"{"rules": [{"path": "/search", "changesState": false}, {"path": "/next", "changesState": true}]}"#
    var playback = try playback(interactions, .state, rules: rules)
    #expect((0..<3).map { _ in playback.next(for: key("GET", "/x")) } == [0, 2, 2])
    // A rule that ignores nothing changes only the keys of requests that it applies to.
    #expect(playback.next(for: try Sent("GET", "/next").keys(rules).key) == 3)
    #expect(playback.next(for: key("GET", "/x")) == 4)
  }

  // MARK: free

  @Test("free: of recordings that are equal by rules, the exactly equal one plays first")
  func free() throws {
    let rules = #"{"rules": [{"ignore": {"query": ["n"]}}]}"#
    let interactions = (0..<3).map { at($0, 1, "GET", "/a?n=\($0)") }
    var playback = try playback(interactions, .free, rules: rules)
    func ask(_ target: String) throws -> Int? {
      let keys = try Sent("GET", target).keys(rules)
      return playback.next(for: keys.key, plain: keys.plain)
    }
    #expect(try ask("/a?n=2") == 2)
    #expect(try ask("/a?n=7") == 0)
    #expect(try ask("/a?n=2") == 1)
    #expect(try ask("/a?n=0") == 0)
    #expect(try ask("/a?n=7") == 2)
    #expect(playback.unused.isEmpty)
  }

  @Test("free: without rules, repeats play in recorded order")
  func freePlain() throws {
    var playback = try playback([at(0, 1, "GET", "/a"), at(1, 1, "GET", "/a")], .free)
    #expect((0..<3).map { _ in playback.next(for: key("GET", "/a")) } == [0, 1, 1])
    var unique = try self.playback([at(0, 1, "GET", "/a")], .free, uniquely: true)
    #expect((0..<2).map { _ in unique.next(for: key("GET", "/a")) } == [0, nil])
  }

  // MARK: all

  @Test("an interaction that the caller cannot play remains the next one", arguments: PlaybackOrder.allCases)
  func unplayable(order: PlaybackOrder) throws {
    var playback = try playback([at(0, 1, "GET", "/a")], order)
    #expect(playback.next(for: key("GET", "/a")) { _ in false } == nil)
    #expect(playback.unused == [0])
    #expect(playback.next(for: key("GET", "/a")) == 0)
  }

  @Test("playback resumes at saved positions", arguments: PlaybackOrder.allCases)
  func resumes(order: PlaybackOrder) throws {
    let interactions = shop + (0..<20).map { at(10 + 2 * $0, 1, "GET", "/\($0)") }
    var playback = try playback(interactions, order)
    for (method, target) in [("GET", "/cart"), ("POST", "/cart"), ("GET", "/cart"), ("DELETE", "/cart")] {
      #expect(playback.next(for: key(method, target)) != nil)
    }
    var resumed = try self.playback(interactions, order)
    let isResumed = resumed.resume(at: playback.positions)
    #expect(isResumed)
    #expect(resumed.unused == playback.unused)
    #expect(resumed.positions == playback.positions)
    #expect(resumed.next(for: key("GET", "/cart")) == 4)
    let isForeign = resumed.resume(at: [UInt8](repeating: 0xFF, count: 40))
    #expect(!isForeign)
  }
}
