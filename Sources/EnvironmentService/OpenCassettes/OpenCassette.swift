import Basics
import EnvironmentConfiguration
import GRPCSchemas
import Transforms
import Cassettes
import HTTPMessages

/// A cassette as read from its files: the immutable part that all environments replaying it share.
final class OpenCassette: Sendable {
  private struct Known {
    weak var replay: Replay?
    /// Whether no redaction that could change requests was applied.
    var isPlain: Bool
    /// Whether its requests are identical to those in the file.
    var isAsRecorded: Bool
  }

  let location: CassetteLocation
  /// With the lengths of all bodies.
  let cassette: Cassette
  let strings: StringStoreFile
  /// Each of its files as it was when it was read; nil for a file that did not exist.
  private let stamps: [(path: String, stamp: FileStamp?)]
  /// Whether every later change of a file would show in `stamps`.
  private let isSettled: Bool
  /// Whether request bodies may have a content coding, as in other tools' files. Ours are stored decoded.
  let hasCodedRequests: Bool
  private let replays = Guarded<[Known]>([])

  /// Reads a cassette.
  ///
  /// - Parameters:
  ///   - location: the cassette's location.
  ///   - now: the current time, in nanoseconds since 1970.
  /// - Throws: a ``CodedError``, as ``CassetteReader/read(_:)`` does, and for missing bodies, so that it fails
  ///   now and not in the middle of a test.
  init(_ location: CassetteLocation, at now: Int) throws(CodedError) {
    let stamps = Self.stamps(of: [location.har, location.strings, location.stringsBefore])
    let stored = try CassetteReader.read(location)
    var cassette = stored.cassette
    let bodies = try cassette.measureBodies(in: location)
    self.location = location
    self.cassette = cassette
    let interactions = cassette.interactions
    // Accessed in place: a copy would retain all of its texts.
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

  /// Whether the files are unchanged, as far as their stamps can tell.
  var isUnchanged: Bool { isSettled && stamps.allSatisfy { FileStamp($0.path) == $0.stamp } }

  /// The cassette, ready to answer for these upstreams. It is shared by all callers with the same upstreams, rules and
  /// order, unless redaction changes its requests: match keys are made of the redacted requests.
  ///
  /// - Parameters:
  ///   - upstreams: the upstreams it answers for.
  ///   - rules: the matching rules.
  ///   - order: the order in which interactions play; nil for the rules' order.
  ///   - redactor: redacts recorded and incoming requests before they are matched.
  /// - Returns: a replay, shared unless the redactor changes a recorded request.
  /// - Throws: a ``CodedError`` for a body that cannot be read, or invalid rules.
  func replay(
    _ upstreams: [CassetteHeader.Upstream], rules: MatchingRules = MatchingRules(), order: PlaybackOrder? = nil,
    redactor: Redactor
  ) throws(CodedError) -> Replay {
    let order = order ?? rules.order ?? .request
    // Rules may name fields of gRPC messages.
    let schemas = rules.rules.isEmpty || redactor.schemas?.isEmpty ?? true ? nil : redactor.schemas?.snapshot
    func known(_ isMeant: (Known) -> Bool) -> Replay? {
      guard schemas == nil else { return nil }
      return replays.withLock { $0.filter(isMeant).compactMap(\.replay) }
        .first { $0.upstreams == upstreams && $0.rules == rules && $0.index.order == order }
    }
    let isPlain = !redactor.changesRequests
    if isPlain, let same = known(\.isPlain) { return same }
    let sought = try SoughtInteractions(self, redactor, byRules: !rules.rules.isEmpty)
    if !isPlain, sought.areAsRecorded, let same = known(\.isAsRecorded) { return same }
    let replay = try Replay(self, sought, upstreams: upstreams, rules: rules, order: order, schemas: schemas)
    guard schemas == nil, isPlain || sought.areAsRecorded else { return replay }
    replays.withLock { known in
      known.removeAll { $0.replay == nil }
      known.append(Known(replay: replay, isPlain: isPlain, isAsRecorded: sought.areAsRecorded))
    }
    return replay
  }
}
