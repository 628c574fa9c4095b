@testable import CassetteChecks
import HTTPMessages

@testable import Cassettes

extension Changes {
  /// The messages about changes of shape.
  var lines: [String] { shape.map(\.description) }
  var valueLines: [String] { values.map(\.description) }
}

extension Answer {
  static func json(_ text: String, status: Int = 200, headers: Headers = [:]) -> Answer {
    var headers = headers
    headers.append("Content-Type", "application/json")
    return Answer(status: status, headers: headers, body: Array(text.utf8))
  }

  static func of(_ type: String, _ text: String) -> Answer {
    Answer(status: 200, headers: ["Content-Type": type], body: Array(text.utf8))
  }
}

/// The changes between two JSON responses.
func changes(_ recorded: String, _ live: String) -> Changes {
  Answer.json(recorded).changes(to: .json(live), method: "GET", known: nil)
}

extension Recording {
  /// A recording of interactions with bodies in memory.
  static func of(_ interactions: Interaction..., upstreams: [CassetteHeader.Upstream] = []) -> Recording {
    Recording(Cassette(header: CassetteHeader(upstreams: upstreams), interactions: interactions)) { body in
      guard case .bytes(let bytes) = body else { return [] }
      return bytes
    }
  }
}

extension Interaction {
  /// An interaction with the upstream `api`, answered with JSON.
  static func call(
    _ method: String, _ target: String, sends body: String = "", status: Int = 200, _ answer: String = "",
    _ headers: Headers = ["Content-Type": "application/json"]
  ) -> Interaction {
    Interaction(
      upstream: "api", startedAt: "2018-10-08T09:00:00.125Z", milliseconds: 12.5,
      request: RecordedRequest(
        method: method, url: "https://dev.api1.com\(target)",
        headers: body.isEmpty ? [:] : ["Content-Type": "application/json"], body: .bytes(Array(body.utf8))),
      response: RecordedResponse(status: status, reason: "OK", headers: headers, body: .bytes(Array(answer.utf8))))
  }

  /// The same with these header fields.
  func asked(with headers: Headers) -> Interaction {
    var interaction = self
    interaction.request.headers = headers
    return interaction
  }
}
