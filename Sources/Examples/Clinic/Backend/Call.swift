import Foundation
import HTTPMessages

/// A request, taken apart as far as the routes need it.
struct Call {
  var method: String
  /// The path's segments, decoded: `["v1", "users"]`.
  var path: [String]
  var query: [String: String]
  var headers: Headers
  var body: Data
  /// `http://` and the host as the client names us, for the absolute URLs that we answer.
  var origin: String

  /// Reads the whole request; a body of more than 64 KiB is refused by the server.
  init(_ request: Request) async throws {
    guard let url = URLComponents(string: request.target) else {
      throw Replies.Problem.badRequest("the target is no URL")
    }
    method = request.method
    path = url.path.split(separator: "/").map(String.init)
    let items = (url.queryItems ?? []).map { ($0.name, $0.value ?? "") }
    query = Dictionary(items) { first, _ in first }
    headers = request.headers
    body = Data(try await request.body.collect(upTo: 65_536))
    origin = "http://\(request.headers["Host"] ?? "localhost")"
  }

  /// The body's JSON.
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value {
    do {
      return try JSONDecoder().decode(type, from: body)
    } catch {
      throw Replies.Problem.badRequest("the body is not the JSON that this call takes")
    }
  }

  /// The token of `Authorization: Bearer …`.
  var token: String? {
    guard let field = headers["Authorization"], field.hasPrefix("Bearer ") else { return nil }
    return String(field.dropFirst("Bearer ".count))
  }

  /// A cookie's value.
  func cookie(_ name: String) -> String? {
    let pairs = headers.all("Cookie").flatMap { $0.components(separatedBy: "; ") }
    return pairs.first { $0.hasPrefix("\(name)=") }.map { String($0.dropFirst(name.count + 1)) }
  }
}
