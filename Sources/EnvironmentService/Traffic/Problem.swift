import ControlAPI
import Foundation
import HTTPMessages

/// An error response of Diorama itself, as `application/problem+json` (RFC 9457).
struct Problem: Error, Sendable {
  var status: Int
  var title: String
  /// What happened, where, and what to do next.
  var detail: String
  /// Header fields in addition to `Content-Type`.
  var headers: Headers = [:]
  /// JSON members in addition to those of the RFC.
  var extra: [String: Extra] = [:]

  enum Extra: Encodable, Sendable {
    case text(String)
    case request(method: String, url: String)
    case nearest([Report.Nearest])
    case fix(Report.Fix)

    func encode(to encoder: any Encoder) throws {
      switch self {
      case .text(let text): try text.encode(to: encoder)
      case .request(let method, let url): try ["method": method, "url": url].encode(to: encoder)
      case .nearest(let nearest): try nearest.encode(to: encoder)
      case .fix(let fix): try fix.encode(to: encoder)
      }
    }
  }

  static let contentType = "application/problem+json"

  var response: Response {
    var headers = headers
    headers.append("Content-Type", Self.contentType)
    return Response(status: status, headers: headers, body: .bytes(Array(json)))
  }

  private var json: Data {
    var members: [String: Extra] = ["title": .text(title), "detail": .text(detail)]
    members.merge(extra) { $1 }
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    // Encoding strings cannot fail. If it did, the empty response would still have the status.
    var data = (try? encoder.encode(Document(status: status, members: members))) ?? Data()
    data.append(0x0A)
    return data
  }

  private struct Document: Encodable {
    let status: Int
    let members: [String: Extra]

    func encode(to encoder: any Encoder) throws {
      var container = encoder.container(keyedBy: Name.self)
      try container.encode("about:blank", forKey: Name("type"))
      try container.encode(status, forKey: Name("status"))
      for (name, value) in members { try container.encode(value, forKey: Name(name)) }
    }
  }

  private struct Name: CodingKey {
    let stringValue: String
    init(_ name: String) { stringValue = name }
    init?(stringValue: String) { self.stringValue = stringValue }
    var intValue: Int? { nil }
    init?(intValue: Int) { nil }
  }
}
