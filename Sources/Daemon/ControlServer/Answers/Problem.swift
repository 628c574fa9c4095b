import ControlAPI
import HTTPMessages
import LaunchContract

/// An error as the control API answers it: `application/problem+json` (RFC 9457).
struct Problem: Error, Sendable {
  let status: Int
  let title: String
  /// What, where and what to do next, in one line.
  let detail: String
  let headers: Headers
  /// As ``ProblemDocument/kind`` has it.
  let kind: String?

  init(_ status: Int, _ title: String, _ detail: String, headers: Headers = [:], kind: String? = nil) {
    self.status = status
    self.title = title
    self.detail = detail
    self.headers = headers
    self.kind = kind
  }

  init(_ error: DaemonError) {
    self.init(error.status, error.title, error.detail, kind: error.kind)
  }

  /// The daemon ends.
  static let closing = Problem(
    503, "The daemon is ending", "start it again with diorama serve, then ask again", headers: ["Retry-After": "1"])

  var response: Response {
    var headers = headers
    headers.append("Content-Type", "application/problem+json")
    headers.append("Cache-Control", "no-store")
    let document = ProblemDocument(title: title, status: status, detail: detail, kind: kind)
    // Texts and a number can always be written.
    let body = (try? ContractJSON.encode(document)).map { Array($0) } ?? []
    return Response(status: status, headers: headers, body: .bytes(body))
  }
}
