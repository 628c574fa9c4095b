import Basics
import EnvironmentConfiguration
import GRPCSchemas
import Transforms
import Cassettes
import HTTPMessages

/// An opened cassette, ready to answer for some upstreams. It does not change during playback, and is shared by all
/// environments that replay the cassette in the same way.
final class Replay: Sendable {
  let cassette: OpenCassette
  let requests: RecordedRequests
  /// Whether any response has a content coding.
  let isCodedAnywhere: Bool
  /// Whether any interaction is a WebSocket handshake.
  let hasWebSockets: Bool
  /// Whether matching rules are in use.
  let hasRules: Bool
  /// Whether any recorded response depends on a range or a condition in its request.
  let hasVariants: Bool
  /// Moves dates from the recording's time to an environment's; nil if they stay as recorded.
  let shifter: DateShifter?
  private let setCookies = Guarded<[RecordedSetCookies]?>(nil)
  private let contested = Guarded<Set<String>?>(nil)
  /// The unshifted replay, retained so that other environments can share its index.
  private let original: Replay?
  /// Responses that are sent unchanged, and are therefore the same on any endpoint.
  let common = Guarded(PreparedResponses())

  /// Use ``OpenCassette/replay(_:rules:order:redactor:)`` instead, which shares replays.
  init(
    _ cassette: OpenCassette, _ sought: SoughtInteractions, upstreams: [CassetteHeader.Upstream],
    rules: MatchingRules, order: PlaybackOrder, schemas: GRPCSchemaSet? = nil
  ) throws(CodedError) {
    self.cassette = cassette
    requests = try RecordedRequests(
      sought, of: cassette.location, upstreams: upstreams, rules: rules, order: order, schemas: schemas)
    let interactions = sought.interactions
    // Accessed in place: a copy would retain all of its texts.
    hasWebSockets = interactions.indices.contains { interactions[$0].asksForWebSocket }
    isCodedAnywhere = interactions.indices.contains {
      interactions[$0].response.headers["Content-Encoding"] != nil
    }
    hasRules = requests.maker.book != nil
    hasVariants = requests.index.hasVariants
    shifter = nil
    original = nil
  }

  private init(_ other: Replay, _ shifter: DateShifter) {
    cassette = other.cassette
    requests = other.requests
    isCodedAnywhere = other.isCodedAnywhere
    hasWebSockets = other.hasWebSockets
    hasRules = other.hasRules
    hasVariants = other.hasVariants
    self.shifter = shifter
    original = other
  }

  /// This replay with dates moved by a shifter, for a single environment; unchanged if the shifter is nil.
  func shifted(by shifter: DateShifter?) -> Replay { shifter.map { Replay(self, $0) } ?? self }

  var header: CassetteHeader { cassette.cassette.header }
  var location: CassetteLocation { cassette.location }
  /// The cassette's interactions, with their requests as they would be recorded now.
  var interactions: [Interaction] { requests.interactions }
  var index: CassetteIndex { requests.index }
  var maker: MatchKeyMaker { requests.maker }
  /// The upstreams it answers for.
  var upstreams: [CassetteHeader.Upstream] { requests.upstreams }
  /// The matching rules used to make the keys.
  var rules: MatchingRules { requests.rules }
  /// A note for the user about rules that do not apply; nil if all do.
  var note: String? { requests.comparison.note(interactions, assigned: requests.assigned) }
  /// For each upstream, its recorded origins if they differ from the current one.
  var formerOrigins: [[Origin]] { requests.formerOrigins }

  /// The upstream that answered an interaction.
  func upstream(of index: Int) -> Int { Int(requests.assigned[index]) }

  /// All `Set-Cookie` fields in the recording, in order. Computed on first use.
  var recordedSetCookies: [RecordedSetCookies] {
    setCookies.withLock { known in
      if let known { return known }
      let found = interactions.indices.compactMap { number -> RecordedSetCookies? in
        guard upstream(of: number) >= 0, interactions[number].response.headers["Set-Cookie"] != nil else { return nil }
        return RecordedSetCookies(
          upstream: upstream(of: number), target: RecordedURL(interactions[number].request.url).target,
          fields: interactions[number].response.headers.all("Set-Cookie"))
      }
      known = found
      return found
    }
  }

  /// Names of cookies that one upstream removes and another one sets in the recording. A response with one of them
  /// depends on what the app received before. Computed on first use.
  private var contestedCookies: Set<String> {
    contested.withLock { known in
      if let known { return known }
      let all = recordedSetCookies.flatMap { one in
        one.fields.compactMap { SetCookie($0) }.map { (set: $0, upstream: one.upstream) }
      }
      let gone = Dictionary(grouping: all.filter(\.set.isGone), by: \.set.name).mapValues { Set($0.map(\.upstream)) }
      let found = Set(
        all.compactMap { one in
          gone[one.set.name].flatMap { !one.set.isGone && $0 != [one.upstream] ? one.set.name : nil }
        })
      known = found
      return found
    }
  }

  /// Whether a response does not depend on earlier responses, and its body is in memory.
  func isPreparable(_ index: Int) -> Bool {
    guard isInline(index) else { return false }
    guard upstreams.count > 1, interactions[index].response.headers["Set-Cookie"] != nil else { return true }
    let contested = contestedCookies
    return contested.isEmpty
      || !interactions[index].response.headers.all("Set-Cookie").contains { field in
        SetCookie(field).map { contested.contains($0.name) } ?? false
      }
  }
}
