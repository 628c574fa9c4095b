import Foundation
import HTTPMessages

/// A parsed request.
struct Call {
  var method: String
  /// The path's segments, decoded: `["v1", "users"]`.
  var path: [String]
  var query: [String: String]
  var headers: Headers
  var body: Data
  /// `http://` and the client's `Host`, for absolute URLs in responses.
  var origin: String

  /// Reads the complete request. The server rejects a body of more than 64 KiB.
  init(_ request: Request) async throws {
    guard let url = URLComponents(string: request.target) else {
      throw Replies.Problem.badRequest("the request target is not a URL")
    }
    method = request.method
    path = url.path.split(separator: "/").map(String.init)
    let items = (url.queryItems ?? []).map { ($0.name, $0.value ?? "") }
    query = Dictionary(items) { first, _ in first }
    headers = request.headers
    body = Data(try await request.body.collect(upTo: 65_536))
    origin = "http://\(request.headers["Host"] ?? "localhost")"
  }

  /// Decodes the body.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    do {
      return try JSONDecoder().decode(type, from: body)
    } catch {
      throw Replies.Problem.badRequest("the body is not the expected JSON")
    }
  }

  /// The token of `Authorization: Bearer …`.
  var token: String? {
    guard let field = headers["Authorization"], field.hasPrefix("Bearer ") else { return nil }
    return String(field.dropFirst("Bearer ".count))
  }

  /// The value of a cookie.
  func cookie(_ name: String) -> String? {
    let pairs = headers.all("Cookie").flatMap { $0.components(separatedBy: "; ") }
    return pairs.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
  }
}

/// The responses that all routes share.
enum Replies {
  /// A JSON document.
  static func json(_ status: Int, _ value: some Encodable) throws -> Response {
    Response(status: status, headers: ["Content-Type": "application/json"], body: .bytes(try encoded(value)))
  }

  /// Redirects the client to an absolute URL.
  static func seeOther(_ location: String) -> Response {
    Response(status: 303, headers: ["Location": location])
  }

  private static func encoded(_ value: some Encodable) throws -> [UInt8] {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return [UInt8](try encoder.encode(value))
  }

  /// An error of a route, sent as `application/problem+json` (RFC 9457).
  struct Problem: Error, Encodable {
    var status: Int
    var title: String
    var detail: String
    /// The allowed methods, for status 405.
    var allow: String?

    static func badRequest(_ detail: String) -> Problem { Problem(status: 400, title: "Bad request", detail: detail) }
    static func notFound(_ detail: String) -> Problem { Problem(status: 404, title: "Not found", detail: detail) }
    static func conflict(_ detail: String) -> Problem { Problem(status: 409, title: "Conflict", detail: detail) }
    static func unauthorized(_ detail: String) -> Problem {
      Problem(status: 401, title: "Unauthorized", detail: detail)
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
