import Basics
import Foundation
import HTTPMessages
import Stubs

/// Reads a mapping; its id is its name.
func mapping(_ json: String, isTemplate: Bool = false) throws -> StubMapping {
  try MappingReader.mapping(JSON.parse(Array(json.utf8)), isTemplate: isTemplate) { UUID().uuidString.lowercased() }
}

/// A mapping that answers any request with this pattern.
func stub(_ request: String, name: String = "stub", more: String = "") throws -> StubMapping {
  try mapping(#"{"name": "\#(name)", "request": \#(request)\#(more)}"#)
}

/// A request to `http://127.0.0.1:8080`.
func request(
  _ method: String = "GET", _ target: String = "/", _ headers: Headers = [:], _ body: String = ""
) -> StubRequest {
  StubRequest(
    method: method, target: target, headers: headers, body: Array(body.utf8), scheme: "http", host: "127.0.0.1",
    port: 8080, upstream: nil)
}

/// What conditions depend on: 2021-06-14T15:16:17Z.
var context: MatchContext { MatchContext(now: Date(timeIntervalSince1970: 1_623_683_777), timeZone: .gmt) }

extension StubStore {
  /// A store with these stubs, added in order.
  init(_ mappings: StubMapping...) throws {
    self.init()
    for mapping in mappings { try add(mapping) }
  }

  /// The name of the stub that answers.
  mutating func answer(_ request: StubRequest) throws -> String? { try match(request, context)?.name }
}
