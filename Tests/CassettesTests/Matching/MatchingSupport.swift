import HTTPMessages

@testable import Cassettes

/// A request in the tests' notation.
struct Asked {
  var method = "GET"
  var upstream = 0
  var target = "/"
  var type: String?
  var body = ""

  var key: MatchKey {
    var method = method
    var target = target
    var type = type
    let body = Array(body.utf8)
    return method.withUTF8 { method in
      target.withUTF8 { target in
        body.withUnsafeBytes { body in
          func make(_ type: UnsafeRawBufferPointer?) -> MatchKey {
            MatchKeyMaker().key(
              method: UnsafeRawBufferPointer(method), upstream: upstream, target: UnsafeRawBufferPointer(target),
              contentType: type, body: body)
          }
          return type?.withUTF8 { make(UnsafeRawBufferPointer($0)) } ?? make(nil)
        }
      }
    }
  }
}

extension Interaction {
  /// A recorded request with any response.
  static func recorded(
    _ method: String = "GET", _ url: String, upstream: String? = nil, type: String? = nil, body: String = ""
  ) -> Interaction {
    var headers: Headers = ["Accept": "*/*"]
    if let type { headers.append("content-type", type) }
    return Interaction(
      upstream: upstream, startedAt: "2018-10-08T09:00:00Z", milliseconds: 1,
      request: RecordedRequest(method: method, url: url, headers: headers, body: .bytes(Array(body.utf8))),
      response: RecordedResponse(status: 200, reason: "OK", headers: [:], body: .empty))
  }
}

/// Reads a body that is stored in the cassette itself, as in all these tests.
func inlineBody(_ body: RecordedBody) throws -> [UInt8] {
  guard case .bytes(let bytes) = body else { throw NoSuchBody() }
  return bytes
}

/// Like ``inlineBody(_:)``, for an index.
func noFiles(_ interaction: Int, _ key: inout KeyStream) throws { throw NoSuchBody() }

struct NoSuchBody: Error, CustomStringConvertible {
  var description: String { "no such file" }
}
