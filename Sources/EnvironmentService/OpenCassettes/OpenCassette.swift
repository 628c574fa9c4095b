import Basics
import Transforms
import Cassettes
import HTTPMessages

/// A cassette as it was read from its files: what all who replay it share, and what never changes.
///
/// It lives as long as somebody replays it.
final class OpenCassette: Sendable {
  private struct Known {
    weak var replay: Replay?
    /// Whether it is for who has neither rules nor credentials to take out of requests.
    var isPlain: Bool
    /// Whether its requests are to the byte those of the file.
    var isAsRecorded: Bool
  }

  let location: CassetteLocation
  /// With the lengths of all bodies.
  let cassette: Cassette
  let strings: StringStoreFile
  /// Each file of it as it was when it was read; nil for one that was not there.
  private let stamps: [(path: String, stamp: FileStamp?)]
  /// Whether another reading could give something else without showing in `stamps`.
  private let isSettled: Bool
  /// Whether bodies of requests may be coded, as they are in others' files: ours are decoded.
  let hasCodedRequests: Bool
  private let replays = Guarded<[Known]>([])

  /// Reads it.
  ///
  /// - Parameters:
  ///   - location: where it is.
  ///   - now: the time, in nanoseconds since 1970.
  /// - Throws: a ``CodedError``, as ``CassetteReader/read(_:)`` does, and for bodies that are missing: that is
  ///   told now, not in the middle of a test.
  init(_ location: CassetteLocation, at now: Int) throws(CodedError) {
    let stamps = Self.stamps(of: [location.har, location.strings, location.stringsBefore])
    let stored = try CassetteReader.read(location)
    var cassette = stored.cassette
    let bodies = try cassette.measureBodies(in: location)
    self.location = location
    self.cassette = cassette
    let interactions = cassette.interactions
    // Each is looked at where it stands: a copy would retain all of its texts.
    hasCodedRequests = interactions.indices.contains {
      interactions[$0].request.headers["Content-Encoding"] != nil
    }
    strings = stored.strings
    self.stamps = stamps + Self.stamps(of: bodies)
    isSettled = self.stamps.allSatisfy { $0.stamp?.isSettled(at: now) ?? true }
  }

  private static func stamps(of paths: some Sequence<String>) -> [(path: String, stamp: FileStamp?)] {
    paths.map { ($0, FileStamp($0)) }
  }

  /// Whether reading it anew would give the same, as far as anybody can tell.
  var isUnchanged: Bool { isSettled && stamps.allSatisfy { FileStamp($0.path) == $0.stamp } }

  /// The cassette ready to answer for these upstreams, shared with all that have the same, with the same rules and in the
  /// same order, where nothing is taken out of its requests: keys are made of what is left of them, by the rules.
  ///
  /// - Parameters:
  ///   - upstreams: for which it answers.
  ///   - rules: what counts as the same request.
  ///   - order: in which interactions play; nil: what the rules say.
  ///   - redactor: what it takes out of requests it takes out before they are matched, of recorded ones as of those that
  ///     come.
  /// - Returns: one that others may share, unless the redactor takes something out of a recorded request.
  /// - Throws: a ``CodedError`` for a body that cannot be read, or rules that are broken.
  func replay(
    _ upstreams: [CassetteHeader.Upstream], rules: MatchingRules.InForce = .none, order: PlaybackOrder? = nil,
    redactor: Redactor
  ) throws(CodedError) -> Replay {
    let order = order ?? rules.rules.order ?? .request
    func known(_ isMeant: (Known) -> Bool) -> Replay? {
      replays.withLock { $0.filter(isMeant).compactMap(\.replay) }
        .first { $0.upstreams == upstreams && $0.rules == rules && $0.index.order == order }
    }
    let isPlain = !redactor.changesRequests
    if isPlain, let same = known(\.isPlain) { return same }
    let sought = try SoughtInteractions(self, redactor, byRules: !rules.rules.rules.isEmpty)
    if !isPlain, sought.areAsRecorded, let same = known(\.isAsRecorded) { return same }
    let replay = try Replay(self, sought, upstreams: upstreams, rules: rules, order: order)
    guard isPlain || sought.areAsRecorded else { return replay }
    replays.withLock { known in
      known.removeAll { $0.replay == nil }
      known.append(Known(replay: replay, isPlain: isPlain, isAsRecorded: sought.areAsRecorded))
    }
    return replay
  }
}
