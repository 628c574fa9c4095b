import Cassettes
import HTTPMessages

/// The combined shapes of a cassette's responses. Responses to the same kind of request with the same status are
/// merged, which shows which members are always present and which are optional.
package struct KnownShapes {
  private let recording: Recording
  private var shapes: [String: JSONShape] = [:]

  /// - Throws: errors from reading a body.
  package init(_ recording: Recording) throws {
    self.recording = recording
    for index in recording.interactions.indices {
      let answer = try recording.answer(index)
      let body = BodyShape(answer.body, contentType: answer.headers["Content-Type"])
      guard case .tree(let value, _) = body else { continue }
      let key = key(of: index)
      shapes[key] = shapes[key]?.union(JSONShape(value)) ?? JSONShape(value)
    }
  }

  /// The combined shape for an interaction's response; nil if its body has no fields.
  func shape(of index: Int) -> JSONShape? { shapes[key(of: index)] }

  private func key(of index: Int) -> String {
    "\(recording.kind(index)) \(recording.interactions[index].response.status)"
  }
}
