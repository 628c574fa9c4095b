import Cassettes
package import HTTPMessages

/// The requests to send to the backends to check whether a recording is still valid, and those that are not sent.
package struct LiveQuestions {
  /// One request for all interactions that recorded it.
  package struct Question: Sendable {
    /// The indices of the interactions, in order.
    package var interactions: [Int]
    /// The name of the backend.
    package var backend: String
    /// The request to send, without connection-specific fields.
    package var request: Request
    /// The names of header fields that are not sent because their recorded values are redacted.
    package var redacted: [String]
  }

  /// Interactions whose requests are not sent, with the reason.
  package struct Left: Sendable, Equatable {
    package var interactions: [Int]
    package var reason: String

    package init(interactions: [Int], reason: String) {
      self.interactions = interactions
      self.reason = reason
    }
  }

  /// A header field that is sent instead of the recorded one.
  package struct Replacement: Sendable {
    package var backend: String
    package var name: String
    package var value: String

    package init(backend: String, name: String, value: String) {
      self.backend = backend
      self.name = name
      self.value = value
    }
  }

  /// The requests in the order of their first interactions.
  package private(set) var questions: [Question] = []
  package private(set) var left: [Left] = []

  /// - Throws: errors from reading a body.
  package init(_ recording: Recording, replacing replacements: [Replacement] = []) throws {
    var numbers: [String: Int] = [:]
    for backend in recording.backends where numbers[backend] == nil { numbers[backend] = numbers.count }
    let keys = try recording.keys(numbers)
    var places: [MatchKey: Int] = [:]
    for (index, interaction) in recording.interactions.enumerated() {
      if let reason = Self.reason(toLeave: interaction) {
        leave(index, reason)
      } else if let place = places[keys[index]] {
        questions[place].interactions.append(index)
      } else {
        places[keys[index]] = questions.count
        let own = replacements.filter { $0.backend == recording.backends[index] }
        let (headers, redacted) = Self.headers(interaction.request.headers, replacing: own)
        questions.append(
          Question(
            interactions: [index], backend: recording.backends[index],
            request: Request(
              method: interaction.request.method, target: recording.url(index).target, headers: headers,
              body: .bytes(try recording.requestBody(index))), redacted: redacted))
      }
    }
  }

  private mutating func leave(_ index: Int, _ reason: String) {
    if let place = left.firstIndex(where: { $0.reason == reason }) {
      left[place].interactions.append(index)
    } else {
      left.append(Left(interactions: [index], reason: reason))
    }
  }

  private static func reason(toLeave interaction: Interaction) -> String? {
    let method = interaction.request.method
    guard !interaction.asksForWebSocket else { return "a WebSocket is not repeated" }
    guard SafeMethod.contains(method) else { return "\(method) is not repeated: it may change something" }
    guard !RedactedPart.isIn(interaction.request.url) else { return "a part of the URL is redacted" }
    // A 304 depends on the app's cache; without that cache the response would be another one.
    guard interaction.response.status != 304 else { return "304 says nothing of what there is" }
    return nil
  }

  /// The recorded fields that are still meaningful.
  private static func headers(_ recorded: Headers, replacing replacements: [Replacement]) -> (Headers, [String]) {
    var headers = recorded
    headers.removeHopByHop()
    var redacted: [String] = []
    headers.fields = headers.fields.filter { field in
      let name = field.name.lowercased()
      guard !dropped.contains(name), !name.hasPrefix(":") else { return false }
      guard !replacements.contains(where: { $0.name.equalsIgnoringASCIICase(name) }) else { return false }
      guard RedactedPart.isIn(field.value) else { return true }
      redacted.append(field.name)
      return false
    }
    if recorded["Accept-Encoding"] != nil {
      let accepted = recorded.all("Accept-Encoding").joined(separator: ",").lowercased()
      let known = ["gzip", "deflate", "br"].filter { accepted.utf8.firstRange(of: $0.utf8) != nil }
      headers.append("Accept-Encoding", known.isEmpty ? "identity" : known.joined(separator: ", "))
    }
    for replacement in replacements { headers.append(replacement.name, replacement.value) }
    return (headers, redacted)
  }

  /// Conditional requests would be answered with 304, `Host` is set for the backend, and only codings that we can
  /// decode are accepted.
  private static let dropped: Set<String> = [
    "if-none-match", "if-modified-since", "if-match", "if-unmodified-since", "if-range", "host", "content-length",
    "accept-encoding", "expect",
  ]
}
