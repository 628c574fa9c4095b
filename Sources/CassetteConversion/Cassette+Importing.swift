package import Cassettes

extension Cassette {
  /// One cassette of what other tools have recorded, file after file.
  ///
  /// - Parameters:
  ///   - foreign: in the order in which they are to be played.
  ///   - upstreams: every backend, by name; an interaction belongs to the one with its URL's origin, unless a HAR of ours
  ///     names another.
  ///   - recordedAt: RFC 3339; where nil, what the files say: of a HAR of ours its recording date, else the earliest time
  ///     of an interaction.
  ///   - otherwise: RFC 3339: the recording date where nothing says one.
  package init(
    importing foreign: [ForeignCassette], upstreams: [CassetteHeader.Upstream], recordedAt: String?, otherwise: String
  ) {
    let headers = foreign.map(\.header)
    var interactions = foreign.flatMap(\.interactions)
    let earliest = interactions.compactMap { HAR.Timestamp($0.startedAt) }.min()?.rfc3339
    let recordedAt = recordedAt ?? headers.compactMap(\.recordedAt).first ?? earliest ?? otherwise
    let names = Set(upstreams.map(\.name))
    for index in interactions.indices {
      let origin = RecordedURL(interactions[index].request.url).origin
      let known = interactions[index].upstream.flatMap { names.contains($0) ? $0 : nil }
      interactions[index].upstream = known ?? upstreams.first { $0.origin == origin }?.name
      interactions[index].startedAt = HAR.Timestamp(interactions[index].startedAt)?.rfc3339 ?? recordedAt
    }
    self.init(
      header: CassetteHeader(
        recordedAt: recordedAt, timeZone: headers.compactMap(\.timeZone).first,
        locale: headers.compactMap(\.locale).first, seed: headers.compactMap(\.seed).first, upstreams: upstreams),
      interactions: interactions)
  }
}
