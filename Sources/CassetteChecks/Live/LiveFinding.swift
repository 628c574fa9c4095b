import Cassettes
import HTTPMessages

/// The result of comparing a live response with the recordings of its request.
package struct LiveFinding: Sendable {
  /// The index of the interaction that the response was compared with.
  package var interaction: Int
  package var method: String
  package var url: String
  /// Shape changes that count as drift, and value changes.
  package var changes: Changes
  /// Changes that may be due to another state of the backend.
  package var doubtful: [Change]
  /// The index of the interaction that may have caused this state; nil if no change is doubtful.
  package var after: Int?
  /// Advice if the backend rejects the recorded credentials.
  package var hint: String?
}

extension LiveFinding {
  /// Compares a response with the recordings of its request.
  ///
  /// With several recordings, the closest one counts: the one with the same status and the fewest changes. Changes are
  /// drift, unless an earlier recorded request may have created the requested resource. Then another status, and added
  /// or removed fields, may be due to another state. Changed types and 5xx statuses never are.
  ///
  /// - Throws: errors from reading a body.
  package init(
    _ live: Answer, to question: LiveQuestions.Question, in recording: Recording, known: KnownShapes
  ) throws {
    let method = question.request.method
    var best: (index: Int, changes: Changes)?
    for index in question.interactions {
      let changes = try recording.answer(index).changes(to: live, method: method, known: known.shape(of: index))
      if best.map({ Self.rank(changes) < Self.rank($0.changes) }) ?? true { best = (index, changes) }
    }
    let (index, changes) = best ?? (question.interactions[0], Changes())
    interaction = index
    self.method = method
    url = recording.interactions[index].request.url
    self.changes = changes
    doubtful = []
    let mayBeState = changes.shape.contains { Self.mayBeState($0, status: live.status) }
    if mayBeState,
      let writer = try StateDependencyFinder(recording).writer(
        before: index, isRefused: [401, 403].contains(live.status))
    {
      after = writer
      doubtful = changes.shape.filter { Self.mayBeState($0, status: live.status) }
      self.changes.shape.removeAll { Self.mayBeState($0, status: live.status) }
    }
    hint = Self.hint(live, recording.interactions[index], question)
  }

  private static func rank(_ changes: Changes) -> (Int, Int, Int) {
    (changes.shape.contains { $0.kind == .status } ? 1 : 0, changes.shape.count, changes.valueCount)
  }

  private static func mayBeState(_ change: Change, status: Int) -> Bool {
    switch change.kind {
    case .gone, .added: true
    case .status: status < 500
    case .type, .contentType, .value: false
    }
  }

  private static func hint(_ live: Answer, _ interaction: Interaction, _ question: LiveQuestions.Question) -> String? {
    guard [401, 403].contains(live.status), live.status != interaction.response.status else { return nil }
    let names = ["Authorization", "Cookie"].filter { interaction.request.headers[$0] != nil }
    let name = question.redacted.first ?? names.first
    let why = question.redacted.isEmpty ? "may be out of date" : "is redacted"
    return name.map { "the recorded \($0) \(why); give one with --header \(question.backend)/\($0)=env:VAR" }
  }
}
