package import Basics
package import HTTPMessages
import LaunchContract

/// Recorded interactions in the order of their requests, and the environment in which they were recorded.
package struct Cassette: Sendable {
  package var header: CassetteHeader
  /// In recorded order.
  package var interactions: [Interaction]
  /// Entries of another tool's HAR that cannot be replayed, such as WebSockets: one line each, with the number and the
  /// reason.
  package var skipped: [String]
  /// Entries of another tool's HAR whose body was not saved and replays as empty: one line each.
  package var incomplete: [String]

  package init(
    header: CassetteHeader, interactions: [Interaction], skipped: [String] = [], incomplete: [String] = []
  ) {
    self.header = header
    self.interactions = interactions
    self.skipped = skipped
    self.incomplete = incomplete
  }
}

/// The environment in which a recording was made: `log._diorama` in the HAR.
package struct CassetteHeader: Sendable, Equatable {
  /// The name and origin of an upstream.
  package struct Upstream: Sendable, Equatable, Codable {
    /// As in `--upstream NAME=URL`.
    package var name: String
    /// The origin at the time of the recording.
    package var origin: Origin

    package init(name: String, origin: Origin) {
      self.name = name
      self.origin = origin
    }
  }

  /// A resource, such as a test account, with which the recording was made.
  package struct Resource: Sendable, Equatable {
    /// The pool from which it was leased.
    package var pool: String
    /// Its name in the pool.
    package var name: String
    package var attributes: [String: String]
    /// The names of its secrets.
    package var secrets: [String]

    package init(pool: String, name: String, attributes: [String: String], secrets: [String]) {
      self.pool = pool
      self.name = name
      self.attributes = attributes
      self.secrets = secrets
    }
  }

  /// Links the HAR to its string store; nil in another tool's HAR.
  package var recording: String?
  /// The instant at which replay freezes the clock, in RFC 3339. In another tool's HAR, the earliest
  /// `startedDateTime`; nil if it has no entries.
  package var recordedAt: String?
  /// An IANA name such as `Europe/London`.
  package var timeZone: String?
  /// A locale identifier such as `en_GB`.
  package var locale: String?
  /// The seed of the string store.
  package var seed: String?
  /// The schemas of recorded gRPC services by their names: serialized messages `google.protobuf.FileDescriptorSet`.
  package var grpcSchemas: [String: [UInt8]] = [:]
  /// Whether the run failed that made it, so that it is not the cassette.
  package var isOfFailedRun = false
  /// In the order of their declaration.
  package var upstreams: [Upstream]
  /// The origins of an isolated command whose requests were sent to another server (`--map`). Which server is not saved,
  /// because its port may differ in each recording.
  package var mapped: [Origin] = []
  /// The resources of the run, by their names in its configuration.
  package var resources: [String: Resource] = [:]

  package init(
    recording: String? = nil, recordedAt: String? = nil, timeZone: String? = nil, locale: String? = nil,
    seed: String? = nil, upstreams: [Upstream] = []
  ) {
    self.recording = recording
    self.recordedAt = recordedAt
    self.timeZone = timeZone
    self.locale = locale
    self.seed = seed
    self.upstreams = upstreams
  }
}

extension CodedError {
  /// A cassette or string store that cannot be used.
  ///
  /// - Parameters:
  ///   - name: the file's name, as given by its reader.
  ///   - entry: the number of the HAR entry, from 1, if one is at fault.
  ///   - line: the line, from 1, if the text is malformed.
  ///   - column: the column in that line, in Unicode scalars from 1.
  ///   - problem: the problem, such as `response.status is missing`.
  ///   - advice: what to do next.
  package init(
    name: String, entry: Int? = nil, line: Int? = nil, column: Int? = nil, problem: String, advice: String
  ) {
    var place = name
    if let line, let column { place += ": line \(line), column \(column)" }
    if let entry { place += ": entry \(entry)" }
    self.init(.broken, "\(problem); \(advice)", at: place)
  }

  /// What to do about a cassette or string store that is not valid JSON.
  package static let restoring = "restore the file or re-record it"
}
