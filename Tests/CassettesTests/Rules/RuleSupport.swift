import Foundation
import HTTPMessages
import LaunchContract

@testable import Cassettes

/// Rules as a file has them.
func rules(_ json: String) throws -> MatchingRules {
  try MatchingRules.read(Array(json.utf8), name: "r.json")
}

/// A request to one of two upstreams, `api` (https://a.test) and `b` (http://a.test:81).
struct Sent {
  var method = "GET"
  var upstream = 0
  var target = "/"
  var headers: Headers = [:]
  var body = ""

  init(
    _ method: String = "GET", upstream: Int = 0, _ target: String = "/", type: String? = nil, headers: Headers = [:],
    _ body: String = ""
  ) {
    self.method = method
    self.upstream = upstream
    self.target = target
    self.headers = headers
    if let type { self.headers.append("Content-Type", type) }
    self.body = body
  }

  static let upstreams = [
    CassetteHeader.Upstream(name: "api", origin: Origin(scheme: "https", host: "a.test", port: 443)),
    CassetteHeader.Upstream(name: "b", origin: Origin(scheme: "http", host: "a.test", port: 81)),
  ]

  func keys(_ json: String?) throws -> RequestKeys {
    let book = try json.map { try RuleBook(try rules($0), upstreams: Self.upstreams, source: "r.json") }
    return try MatchKeyMaker(book).keys(
      method: method, upstream: upstream, target: target, headers: headers, body: Array(body.utf8))
  }
}

/// Whether two requests count as the same by rules; without any, as INTERFACE.md has it.
func areSame(_ one: Sent, _ other: Sent, _ json: String? = nil) throws -> Bool {
  try one.keys(json).key == other.keys(json).key
}
