import Basics
package import Cassettes
import HTTPMessages

/// A cassette prepared for comparison, with backend names and access to bodies.
package struct Recording {
  package let interactions: [Interaction]
  /// For each interaction, the name of its backend, or the origin if it has no name.
  package let backends: [String]
  private let readBody: (RecordedBody) throws -> [UInt8]

  /// - Parameters:
  ///   - cassette: the cassette.
  ///   - body: reads a recorded body.
  package init(_ cassette: Cassette, body: @escaping (RecordedBody) throws -> [UInt8]) {
    interactions = cassette.interactions
    readBody = body
    let assignment = UpstreamAssignment(cassette.header.upstreams)
    backends = cassette.interactions.map { interaction in
      if let name = interaction.upstream { return name }
      if let index = assignment.upstream(of: interaction) { return cassette.header.upstreams[index].name }
      return RecordedURL(interaction.request.url).origin?.description ?? ""
    }
  }

  /// The response of an interaction.
  package func answer(_ index: Int) throws -> Answer {
    let response = interactions[index].response
    return Answer(
      status: response.status, headers: response.headers, body: try readBody(response.body),
      // A body that could not be decoded cannot be compared with a decoded one.
      isWhole: !response.isBodyAsSent && response.end == .whole && !Answer.isEndless(response.headers["Content-Type"]))
  }

  /// Whether one of these responses is an endless stream, by its type or because the app left it before its end.
  package func isEndless(_ indices: [Int]) -> Bool {
    indices.contains { index in
      let response = interactions[index].response
      return response.end == .open || Answer.isEndless(response.headers["Content-Type"])
    }
  }

  package func requestBody(_ index: Int) throws -> [UInt8] { try readBody(interactions[index].request.body) }

  /// The method and URL, for messages.
  package func title(_ index: Int) -> String {
    "\(interactions[index].request.method) \(interactions[index].request.url.escapedForTerminal)"
  }

  func url(_ index: Int) -> RecordedURL { RecordedURL(interactions[index].request.url) }

  /// Method, backend, and path with `{}` for ids. Equal for requests for the same kind of resource.
  func kind(_ index: Int) -> String {
    "\(interactions[index].request.method) \(backends[index]) \(ChangingName.template(ofPath: url(index).path))"
  }

  /// The match keys of all requests. Requests that count as the same have equal keys.
  ///
  /// - Parameter numbers: a number for each backend.
  /// - Returns: a key for each interaction.
  /// - Throws: errors from reading a body.
  func keys(_ numbers: [String: Int]) throws -> [MatchKey] {
    let maker = MatchKeyMaker()
    return try interactions.indices.map { index in
      var method = interactions[index].request.method
      var target = url(index).target
      var type = interactions[index].request.headers["Content-Type"] ?? ""
      let body = try requestBody(index)
      return method.withUTF8 { method in
        target.withUTF8 { target in
          type.withUTF8 { type in
            body.withUnsafeBytes { body in
              maker.key(
                method: UnsafeRawBufferPointer(method), upstream: numbers[backends[index]] ?? -1,
                target: UnsafeRawBufferPointer(target), contentType: UnsafeRawBufferPointer(type), body: body)
            }
          }
        }
      }
    }
  }
}

extension Answer {
  /// Whether a body with this `Content-Type` is an endless stream.
  package static func isEndless(_ contentType: String?) -> Bool {
    MediaType(contentType).essence == "text/event-stream"
  }
}
