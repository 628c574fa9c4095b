import Basics
package import Cassettes

extension Cassette {
  /// Combines the files of other tools into one cassette, in order.
  ///
  /// - Parameters:
  ///   - foreign: the files, in playback order.
  ///   - upstreams: all backends by name. An interaction belongs to the one with its URL's origin, unless a HAR written
  ///   by Diorama names another.
  ///   - recordedAt: the recording date in RFC 3339 format. If nil, it is taken from the files: the recording date of a
  ///   HAR written by Diorama, otherwise the earliest time of an interaction.
  ///   - otherwise: the recording date in RFC 3339 format if the files contain no date.
  package init(
    importing foreign: [ForeignCassette], upstreams: [CassetteHeader.Upstream], recordedAt: String?, otherwise: String
  ) {
    let headers = foreign.map(\.header)
    var interactions = foreign.flatMap(\.interactions)
    let earliest = interactions.compactMap { Instant($0.startedAt) }.min()?.rfc3339
    let recordedAt = recordedAt ?? headers.compactMap(\.recordedAt).first ?? earliest ?? otherwise
    let names = Set(upstreams.map(\.name))
    for index in interactions.indices {
      let origin = RecordedURL(interactions[index].request.url).origin
      let known = interactions[index].upstream.flatMap { names.contains($0) ? $0 : nil }
      interactions[index].upstream = known ?? upstreams.first { $0.origin == origin }?.name
      interactions[index].startedAt = Instant(interactions[index].startedAt)?.rfc3339 ?? recordedAt
    }
    self.init(
      header: CassetteHeader(
        recordedAt: recordedAt, timeZone: headers.compactMap(\.timeZone).first,
        locale: headers.compactMap(\.locale).first, seed: headers.compactMap(\.seed).first, upstreams: upstreams),
      interactions: interactions)
  }
}
