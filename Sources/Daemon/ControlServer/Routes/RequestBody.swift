import EnvironmentConfiguration
import HTTPMessages
import HTTPServer
import LaunchContract

/// What a route takes as its body.
struct RequestBody: Sendable {
  /// The name of its schema.
  let schema: String
  var mediaTypes = ["application/json"]

  /// Reads it and holds it against its schema.
  ///
  /// - Parameters:
  ///   - request: what has come.
  ///   - limit: the most bytes.
  /// - Returns: the bytes.
  /// - Throws: a ``Problem``: 415 another type, 413 too long, 400 what does not fit.
  func read(from request: Request, upTo limit: Int) async throws -> [UInt8] {
    try checkType(request.headers)
    let bytes: [UInt8]
    do {
      bytes = try await request.body.collect(upTo: limit)
    } catch is BodyTooLarge {
      throw Problem(413, "The body is too long", "it has more than \(limit) bytes; send less")
    }
    let value: JSON
    do throws(JSONError) {
      value = try JSON.parse(bytes)
    } catch {
      throw Problem(400, "The body cannot be read", bytes.isEmpty ? "it is empty; send {}" : "not JSON: \(error)")
    }
    if let problem = Schemas.named(schema).problem(with: value) {
      throw Problem(400, "The body cannot be read", problem)
    }
    return bytes
  }

  /// A form and a text are what a web page can send without being asked for leave first: so the type is not a nicety.
  private func checkType(_ headers: Headers) throws(Problem) {
    let values = headers.all("Content-Type")
    let parts = (values.first ?? "").split(separator: ";").map { Self.trimmed($0).lowercased() }
    let isUTF8 = parts.dropFirst().allSatisfy { !$0.hasPrefix("charset=") || $0.contains("utf-8") }
    guard values.count == 1, let type = parts.first, mediaTypes.contains(type), isUTF8,
      headers["Content-Encoding"] == nil
    else {
      throw Problem(
        415, "The body is of another type", "send it with Content-Type: \(mediaTypes.joined(separator: " or "))",
        headers: ["Accept": mediaTypes.joined(separator: ", ")])
    }
  }

  private static func trimmed(_ text: Substring) -> Substring {
    var text = text
    while text.first == " " || text.first == "\t" { text.removeFirst() }
    while text.last == " " || text.last == "\t" { text.removeLast() }
    return text
  }
}
