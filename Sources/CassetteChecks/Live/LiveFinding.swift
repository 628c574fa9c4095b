import Cassettes
import HTTPMessages

/// What a live answer says about the recordings of its request.
package struct LiveFinding: Sendable {
  /// The interaction that the answer was compared with.
  package var interaction: Int
  package var method: String
  package var url: String
  /// Drift, and values.
  package var changes: Changes
  /// Changes that may come from another state of the backend.
  package var doubtful: [Change]
  /// The interaction that brought that state about, where there is something doubtful.
  package var after: Int?
  /// What to try, where the backend does not take the recorded credentials.
  package var hint: String?
}

extension LiveFinding {
  /// Compares an answer with what was recorded.
  ///
  /// Of several recordings of the request the one counts that the answer is nearest to: with the same status, and the
  /// fewest changes. What changed is drift, but not where a request recorded before has made what is asked for: then
  /// another status, and fields that come or go, may be another state. A type is no state, and neither is 5xx.
  ///
  /// - Throws: what reading a body throws.
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
