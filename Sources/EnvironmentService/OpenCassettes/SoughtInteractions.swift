import Cassettes
import HTTPMessages

/// A cassette's interactions with their requests as an environment would record them now, to be matched with what it would
/// record of those that come: rules may have come since. What is recorded does not change by it.
struct SoughtInteractions {
  private(set) var interactions: [Interaction]
  /// Whether nothing had to be changed.
  private(set) var areAsRecorded = true

  /// - Parameters:
  ///   - cassette: whose they are.
  ///   - redactor: the environment's.
  ///   - byRules: whether there are rules of matching: by them header fields may count.
  /// - Throws: an ``EnvironmentError`` for a body that cannot be read.
  init(_ cassette: OpenCassette, _ redactor: Redactor, byRules: Bool) throws(EnvironmentError) {
    interactions = cassette.cassette.interactions
    guard redactor.changesRequests || cassette.hasCodedRequests || byRules else { return }
    for index in interactions.indices {
      let recorded = interactions[index].request
      let url = redactor.redactURL(recorded.url)
      if url != recorded.url { change { $0[index].request.url = url } }
      if byRules {
        let headers = redactor.redact(recorded.headers)
        if headers != recorded.headers { change { $0[index].request.headers = headers } }
      }
      guard recorded.body.length > 0 else { continue }
      let body = try CassetteReader.bytes(of: recorded.body, in: cassette.location)
      let redacted = redactor.redact(body, of: recorded.headers)
      if redacted != body { change { $0[index].request.body = .bytes(redacted) } }
    }
  }

  private mutating func change(_ body: (inout [Interaction]) -> Void) {
    body(&interactions)
    areAsRecorded = false
  }
}
