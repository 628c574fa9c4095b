package import Cassettes
import HTTPMessages
import LaunchContract

/// A cassette as it is compared: every interaction with its backend's name, its request's key, its bodies at hand.
package struct Recording {
  package let interactions: [Interaction]
  /// What stands for a backend: its name, else its origin.
  package let backends: [String]
  private let readBody: (RecordedBody) throws -> [UInt8]

  /// - Parameters:
  ///   - cassette: what was recorded.
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

  /// The answer of an interaction.
  package func answer(_ index: Int) throws -> Answer {
    let response = interactions[index].response
    return Answer(
      status: response.status, headers: response.headers, body: try readBody(response.body),
      // What could not be decoded cannot be compared with what can.
      isWhole: !response.isBodyAsSent && !Answer.isEndless(response.headers["Content-Type"]))
  }

  package func requestBody(_ index: Int) throws -> [UInt8] { try readBody(interactions[index].request.body) }

  /// Method and URL, for messages.
  package func title(_ index: Int) -> String {
    "\(interactions[index].request.method) \(interactions[index].request.url.escapedForTerminal)"
  }

  func url(_ index: Int) -> RecordedURL { RecordedURL(interactions[index].request.url) }

  /// Method, backend and path with `{}` for ids: the same for requests for things of one kind.
  func kind(_ index: Int) -> String {
    "\(interactions[index].request.method) \(backends[index]) \(ChangingName.template(ofPath: url(index).path))"
  }

  /// The keys of all requests, the same for those that count as the same.
  ///
  /// - Parameter numbers: a number for each backend.
  /// - Returns: a key for each interaction.
  /// - Throws: what reading a body throws.
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
  /// Whether a body of that `Content-Type` has no end worth waiting for.
  package static func isEndless(_ contentType: String?) -> Bool {
    MediaType(contentType).essence == "text/event-stream"
  }
}
