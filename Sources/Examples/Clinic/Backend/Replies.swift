import Foundation
import HTTPMessages

/// Answers in the shapes that all routes share.
enum Replies {
  /// A JSON document.
  static func json(_ status: Int, _ value: some Encodable) throws -> Response {
    Response(status: status, headers: ["Content-Type": "application/json"], body: .bytes(try encoded(value)))
  }

  /// Sends the client on, to an absolute URL.
  static func seeOther(_ location: String) -> Response {
    Response(status: 303, headers: ["Location": location])
  }

  private static func encoded(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return [UInt8](try encoder.encode(value))
  }

  /// A refusal, thrown by routes and answered as `application/problem+json` (RFC 9457).
  struct Problem: Error, Encodable {
    var status: Int
    var title: String
    var detail: String
    /// The methods for a 405.
    var allow: String?

    static func badRequest(_ detail: String) -> Problem { Problem(status: 400, title: "Bad request", detail: detail) }
    static func notFound(_ detail: String) -> Problem { Problem(status: 404, title: "Not found", detail: detail) }
    static func conflict(_ detail: String) -> Problem { Problem(status: 409, title: "Conflict", detail: detail) }
    static func unauthorized(_ detail: String) -> Problem {
      Problem(status: 401, title: "Who are you", detail: detail)
    }

    func response() throws -> Response {
      var response = try json(status, self)
      response.headers.set("Content-Type", "application/problem+json")
      if let allow { response.headers.append("Allow", allow) }
      if status == 401 { response.headers.append("WWW-Authenticate", "Bearer") }
      return response
    }
  }
}
