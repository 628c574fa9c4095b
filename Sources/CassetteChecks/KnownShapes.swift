import Cassettes
import HTTPMessages

/// What the recordings of a cassette say of the answers' shapes, all together: of things of one kind, answered with one
/// status, what all have and what only some have.
package struct KnownShapes {
  private let recording: Recording
  private var shapes: [String: JSONShape] = [:]

  /// - Throws: what reading a body throws.
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

  /// What is known of an interaction's answer; nil where it has no fields.
  func shape(of index: Int) -> JSONShape? { shapes[key(of: index)] }

  private func key(of index: Int) -> String {
    "\(recording.kind(index)) \(recording.interactions[index].response.status)"
  }
}
