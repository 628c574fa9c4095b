package import HTTPMessages

/// Recorded interactions in the order of their requests, with what has to be known to replay them.
package struct Cassette: Sendable {
  /// What the recording as a whole says of itself.
  package var header: CassetteHeader
  /// In recorded order.
  package var interactions: [Interaction]
  /// Entries of another tool's HAR that cannot be replayed, such as WebSockets: one line for each, with its number
  /// and the reason.
  package var skipped: [String]
  /// Entries of another tool's HAR whose body was not saved, so that they replay with an empty one: one line for each.
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

/// `_diorama` in the HAR's `log`: the world in which the recording was made.
package struct CassetteHeader: Sendable, Equatable {
  /// A backend by name and origin.
  package struct Upstream: Sendable, Equatable, Codable {
    /// As in `--upstream NAME=URL`.
    package var name: String
    /// The backend at the time of the recording.
    package var origin: Origin

    package init(name: String, origin: Origin) {
      self.name = name
      self.origin = origin
    }
  }

  /// Ties the HAR to its string store; nil in a HAR of another tool.
  package var recording: String?
  /// RFC 3339: the instant to which replay freezes the clock. In a HAR of another tool its earliest
  /// `startedDateTime`; nil when it has no entries either.
  package var recordedAt: String?
  /// An IANA name such as `Europe/London`.
  package var timeZone: String?
  /// Such as `en_GB`.
  package var locale: String?
  /// The seed of the string store.
  package var seed: String?
  /// In the order of their declaration.
  package var upstreams: [Upstream]

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
