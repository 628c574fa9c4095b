package import Basics
import Transforms
package import Cassettes
package import EnvironmentConfiguration
import HTTPMessages

/// Redacts a cassette imported from another tool as if Diorama had recorded it: headers that carry credentials, and
/// the values that rules select.
package struct ImportRedaction {
  private let redactor: Redactor
  /// The number of redacted values.
  package private(set) var count = 0

  /// - Parameter rules: the rules to apply in addition to the defaults.
  /// - Throws: a ``CodedError`` naming the first invalid rule.
  package init(_ rules: RedactionRules) throws(CodedError) {
    redactor = Redactor([], token: "", rules: try rules.compiled())
  }

  /// Returns the cassette as Diorama would have recorded it. All bodies must be in memory.
  package mutating func redact(_ cassette: Cassette) -> Cassette {
    var cassette = cassette
    let redactor = redactor
    for index in cassette.interactions.indices {
      var interaction = cassette.interactions[index]
      change(&interaction.request.url) { redactor.redactURL($0) }
      redact(&interaction.request.headers, &interaction.request.body, isResponse: false)
      if !interaction.response.isBodyAsSent {
        redact(&interaction.response.headers, &interaction.response.body, isResponse: true)
      } else {
        redact(&interaction.response.headers)
      }
      redact(&interaction.response.trailers)
      if let frames = interaction.webSocket {
        let redacted = frames.map(redactor.redact)
        count += zip(frames, redacted).count { $0.message != $1.message }
        interaction.webSocket = redacted
      }
      cassette.interactions[index] = interaction
    }
    return cassette
  }

  private mutating func redact(_ headers: inout Headers, _ body: inout RecordedBody, isResponse: Bool) {
    var isChanged = false
    if case .bytes(let bytes) = body {
      let redacted = redactor.redact(decoded: bytes, of: headers, isResponse: isResponse)
      isChanged = redacted != bytes
      if isChanged {
        count += max(1, Self.marks(in: redacted) - Self.marks(in: bytes))
        body = .bytes(redacted)
      }
    }
    redact(&headers)
    if isChanged { headers = redactor.redact(headers, ofChanged: true, length: body.length) }
  }

  private mutating func redact(_ headers: inout Headers) {
    let redacted = redactor.redact(headers)
    count += zip(headers.fields, redacted.fields).count { $0.value != $1.value }
    headers = redacted
  }

  private mutating func change(_ text: inout String, _ redacted: (String) -> String) {
    let clean = redacted(text)
    guard clean != text else { return }
    count += max(1, Self.marks(in: Array(clean.utf8)) - Self.marks(in: Array(text.utf8)))
    text = clean
  }

  /// The number of redaction marks that a text may contain, in any spelling.
  private static func marks(in text: [UInt8]) -> Int {
    let word = Array("redacted".utf8)
    var count = 0
    var index = 0
    while index + word.count <= text.count {
      if text[index] == word[0], text[index..<(index + word.count)].elementsEqual(word) {
        count += 1
        index += word.count
      } else {
        index += 1
      }
    }
    return count
  }
}
