import EnvironmentConfiguration
import Foundation
import HTTPMessages
import LaunchContract

/// One operation of the control API: how it is called, what it answers, and what it does.
///
/// The table of these is all that dispatch knows, and all that `/openapi.json` is made from.
struct Route: Sendable {
  let method: String
  let path: PathTemplate
  /// Its name in the document and in the metrics: `provisionEnvironment`.
  let operation: String
  /// What it does, in one sentence.
  let summary: String
  /// Whether no token is needed.
  var isOpen = false
  var parameters: [Parameter] = []
  var body: RequestBody?
  /// Answers that are no problems.
  let answers: [Answer]
  /// Problems beside those that follow from the rest (``Route/allProblems``): what they mean, by status.
  var problems: [Int: String] = [:]
  let perform: @Sendable (Call) async throws -> Response
}

/// An answer that is no problem.
struct Answer: Sendable {
  let status: Int
  let note: String
  /// Schemas by media type; none for an answer without a body.
  let content: [String: Schema]
  /// What each header field says.
  var headers: [String: String] = [:]

  static func json(_ status: Int, _ schema: String, _ note: String, headers: [String: String] = [:]) -> Answer {
    Answer(status: status, note: note, content: ["application/json": .reference(schema)], headers: headers)
  }
}

/// A request that has passed all checks.
struct Call: Sendable {
  let server: ControlServer
  let parameters: ParameterValues
  let headers: Headers
  /// It fits the route's schema.
  let body: [UInt8]

  var operations: any ControlOperations { server.operations }
  /// The environment that the path names.
  var id: String { parameters["id"] ?? "" }

  /// The body as a message.
  ///
  /// - Throws: a ``Problem`` for what the schema cannot say, such as a number that no Double can hold.
  func decode<Message: Decodable>() throws(Problem) -> Message {
    do {
      return try ContractJSON.decode(Message.self, from: Data(body), source: "the body")
    } catch {
      throw Problem(400, "The body cannot be read", error.problem)
    }
  }
}

extension Route {
  /// All problems that it answers: its own, what the checks before it can say, and what the server says before those.
  var allProblems: [Int: String] {
    var all = problems
    func also(_ status: Int, _ note: String) { all[status] = all[status].map { "\($0); or \(note)" } ?? note }
    also(400, "a parameter\(body == nil ? "" : " or the body") does not fit")
    also(403, "the request comes from a web page, was sent to a wrong EnvironmentManager, or is another user's")
    if !isOpen {
      also(401, "the token is missing or wrong")
      also(503, "the daemon is ending")
    }
    if body != nil { also(415, "the body is not of a type that is read here") }
    also(413, "the body is too long")
    also(414, "the target is too long")
    also(431, "the head is too long")
    also(500, "the daemon is broken here, which is to be reported")
    also(501, "the body has another transfer coding than chunked")
    also(503, "there are too many connections")
    return all
  }

  /// The statuses that it can answer: those of the document.
  var statuses: Set<Int> { Set(answers.map(\.status)).union(allProblems.keys) }
}
