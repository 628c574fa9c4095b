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
      var request = recorded
      request.url = redactor.redactURL(recorded.url)
      if byRules { request.headers = redactor.redact(recorded.headers) }
      if recorded.body.length > 0 {
        let body = try CassetteReader.bytes(of: recorded.body, in: cassette.location)
        let redacted = redactor.redact(body, of: recorded.headers)
        if redacted != body { request.body = .bytes(redacted) }
      }
      guard request != recorded else { continue }
      interactions[index].request = request
      areAsRecorded = false
    }
  }
}
