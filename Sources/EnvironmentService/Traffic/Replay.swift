import Basics
import EnvironmentConfiguration
import Transforms
import Cassettes
import HTTPMessages

/// An opened cassette, ready to answer for some upstreams: what never changes while it plays, and what all environments
/// share that replay the same.
final class Replay: Sendable {
  let cassette: OpenCassette
  let requests: RecordedRequests
  /// Whether any response was coded on the wire.
  let isCodedAnywhere: Bool
  /// Whether any interaction asked for a WebSocket.
  let hasWebSockets: Bool
  /// Whether rules decide what counts as the same request.
  let hasRules: Bool
  /// Whether any recording hangs on a part or a condition that was asked for.
  let hasVariants: Bool
  /// Moves dates from the recording's time to an environment's; nil where they stay.
  let shifter: DateShifter?
  private let setCookies = Guarded<[RecordedSetCookies]?>(nil)
  private let contested = Guarded<Set<String>?>(nil)
  /// Kept for the next who replays the same: its index need not be made again.
  private let original: Replay?
  /// Responses in which nothing had to be changed for the app: the same at any endpoint.
  let common = Guarded(PreparedResponses())

  /// To be asked of ``OpenCassette/replay(_:rules:order:redactor:)``.
  init(
    _ cassette: OpenCassette, _ sought: SoughtInteractions, upstreams: [CassetteHeader.Upstream],
    rules: MatchingRules, order: PlaybackOrder
  ) throws(CodedError) {
    self.cassette = cassette
    requests = try RecordedRequests(sought, of: cassette.location, upstreams: upstreams, rules: rules, order: order)
    let interactions = sought.interactions
    // Each is looked at where it stands: a copy would retain all of its texts.
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

  /// The same with dates moved: for one environment, whose clock they follow.
  func shifted(by shifter: DateShifter?) -> Replay { shifter.map { Replay(self, $0) } ?? self }

  var header: CassetteHeader { cassette.cassette.header }
  var location: CassetteLocation { cassette.location }
  /// The cassette's interactions, with their requests as they would be recorded now.
  var interactions: [Interaction] { requests.interactions }
  var index: CassetteIndex { requests.index }
  var maker: MatchKeyMaker { requests.maker }
  /// The upstreams it answers for.
  var upstreams: [CassetteHeader.Upstream] { requests.upstreams }
  /// What the keys are made by.
  var rules: MatchingRules { requests.rules }
  /// For each upstream, its recorded origins if they differ from the current one.
  var formerOrigins: [[Origin]] { requests.formerOrigins }

  /// The upstream that answered an interaction.
  func upstream(of index: Int) -> Int { Int(requests.assigned[index]) }

  /// All fields by which upstreams set cookies in the recording, in order; found when it is first asked for.
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

  /// Whether a response is the same whatever was answered before, and at hand in one piece.
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
