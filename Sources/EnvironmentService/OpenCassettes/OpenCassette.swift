import Cassettes
import HTTPMessages

/// A cassette as it was read from its files: what all who replay it share, and what never changes.
///
/// It lives as long as somebody replays it.
final class OpenCassette: Sendable {
  private struct Known {
    weak var replay: Replay?
  }

  let location: CassetteLocation
  /// With the lengths of all bodies.
  let cassette: Cassette
  let strings: StringStoreFile
  /// Each file of it as it was when it was read; nil for one that was not there.
  private let stamps: [(path: String, stamp: FileStamp?)]
  /// Whether another reading could give something else without showing in `stamps`.
  private let isSettled: Bool
  private let replays = Guarded<[Known]>([])

  /// Reads it.
  ///
  /// - Parameters:
  ///   - location: where it is.
  ///   - now: the time, in nanoseconds since 1970.
  /// - Throws: an ``EnvironmentError``, as ``CassetteReader/read(_:)`` does, and for bodies that are missing: that is
  ///   told now, not in the middle of a test.
  init(_ location: CassetteLocation, at now: Int) throws(EnvironmentError) {
    let stamps = Self.stamps(of: [location.har, location.strings, location.stringsBefore])
    let stored = try CassetteReader.read(location)
    var cassette = stored.cassette
    let bodies = try cassette.measureBodies(in: location)
    self.location = location
    self.cassette = cassette
    strings = stored.strings
    self.stamps = stamps + Self.stamps(of: bodies)
    isSettled = self.stamps.allSatisfy { $0.stamp?.isSettled(at: now) ?? true }
  }

  private static func stamps(of paths: some Sequence<String>) -> [(path: String, stamp: FileStamp?)] {
    paths.map { ($0, FileStamp($0)) }
  }

  /// Whether reading it anew would give the same, as far as anybody can tell.
  var isUnchanged: Bool { isSettled && stamps.allSatisfy { FileStamp($0.path) == $0.stamp } }

  /// The cassette ready to answer for these upstreams, made at most once for all that have the same, with the same rules
  /// and in the same order: keys are made by the rules.
  ///
  /// - Throws: an ``EnvironmentError`` for a body that cannot be read, or rules that are broken.
  func replay(
    _ upstreams: [CassetteHeader.Upstream], rules: MatchingRules.InForce = .none, order: PlaybackOrder? = nil
  ) throws(EnvironmentError) -> Replay {
    let order = order ?? rules.rules.order ?? .request
    let known = replays.withLock { $0.compactMap(\.replay) }
    let same = known.first { $0.upstreams == upstreams && $0.rules == rules && $0.index.order == order }
    if let same { return same }
    let replay = try Replay(self, upstreams: upstreams, rules: rules, order: order)
    replays.withLock { known in
      known.removeAll { $0.replay == nil }
      known.append(Known(replay: replay))
    }
    return replay
  }
}
