import Basics
import ControlAPI
package import HTTPMessages
import LaunchContract
import PortLeases

/// An error of the daemon, with the answer that the control API gives.
package struct DaemonError: Error, Sendable, CustomStringConvertible {
  /// The HTTP status of the answer.
  package let status: Int
  /// The kind of problem.
  package let title: String
  /// One line: what happened, where, and what to do next. Never contains a secret.
  package let detail: String
  /// The name of a `CodedError.Kind`, if it is one; see ``ProblemDocument/kind``.
  package let kind: String?
  /// Header fields of the answer in addition to `Content-Type` and `Cache-Control`.
  let headers: Headers

  package init(_ status: Int, _ title: String, _ detail: String, headers: Headers = [:], kind: String? = nil) {
    self.status = status
    self.title = title
    self.headers = headers
    self.kind = kind
    self.detail = detail.split(whereSeparator: \.isNewline).joined(separator: " ")
  }

  package var description: String { detail }

  static let closing = DaemonError(
    503, "Daemon is stopping", "start it again with diorama serve, then send the request again",
    headers: ["Retry-After": "1"])

  /// The answer of the control API: `application/problem+json` (RFC 9457).
  var response: Response {
    var headers = headers
    headers.append("Content-Type", "application/problem+json")
    headers.append("Cache-Control", "no-store")
    let document = ProblemDocument(title: title, status: status, detail: detail, kind: kind)
    // Strings and a number always encode.
    let body = (try? JSON.encode(document)).map { Array($0) } ?? []
    return Response(status: status, headers: headers, body: .bytes(body))
  }
}

extension DaemonError {
  /// Converts an error of an environment.
  ///
  /// The cause is the request, or the state of the machine's files and ports, so the status is never a server error.
  ///
  /// The ``Route`` of an operation lists the same statuses; a test compares both.
  init(_ error: CodedError) {
    let (status, title) =
      switch error.kind {
      case .usage: (422, "Invalid environment")
      case .broken: (422, "Cassette broken")
      case .noCassette: (422, "Cassette not found")
      case .noUpstream: (422, "Upstream missing")
      case .cannotWrite: (409, "Cannot write")
      case .inputOutput: (409, "I/O error")
      case .unanswered: (409, "App did not respond in time")
      }
    self.init(status, title, error.message, kind: "\(error.kind)")
  }

  init(_ error: PortError) {
    let (status, title) =
      switch error.kind {
      case .exhausted: (409, "Not enough free ports")
      case .notLeased: (404, "Port not leased")
      case .invalid: (422, "Invalid lease")
      case .notRecorded: (507, "Lease not stored")
      case .system: (503, "Lease failed")
      }
    self.init(status, title, error.message)
  }

  /// Converts the error of a change. Such a change writes only to the daemon's store, so `cannotWrite` becomes 507.
  init(ofChange error: CodedError) {
    if error.kind == .cannotWrite {
      self.init(507, "Change not stored", error.message, kind: error.kind.name)
    } else {
      self.init(error)
    }
  }

  /// Converts an error of the store: usually the disk is full; `unanswered` means that the store is closed.
  init(ofStore error: CodedError) {
    if error.kind == .unanswered {
      self.init(503, "Daemon is stopping", "start it again with diorama serve, then send the request again")
    } else {
      self.init(507, "Environment not stored", "\(error)", kind: CodedError.Kind.cannotWrite.name)
    }
  }

  static func translating<Output>(
    _ body: () throws(CodedError) -> Output
  ) throws(DaemonError) -> Output {
    do { return try body() } catch { throw DaemonError(error) }
  }

  static func translating<Output>(_ body: () throws(PortError) -> Output) throws(DaemonError) -> Output {
    do { return try body() } catch { throw DaemonError(error) }
  }
}
