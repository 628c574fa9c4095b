package import Basics
import Foundation

/// A network or backend fault: which requests it affects, and what happens to them.
///
/// In JSON it is an object, or a string with the same members in a short form:
///
/// ```json
/// {"fault": "reset", "path": "/orders", "nth": [1]}
/// "reset,path=/orders,nth=1"
/// ```
package struct FaultSettings: Codable, Sendable, Equatable {
  /// How a request fails.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    /// No response is sent until the client gives up or the environment ends.
    case timeout
    /// The connection is reset before a response.
    case reset
    /// The connection is closed without a response.
    case empty
    /// Bytes that aren't HTTP are sent, then the connection is closed.
    case garbage
    /// The head of a response is sent, then an invalid chunk.
    case malformedChunk
    /// The upstream's endpoint refuses connections, and resets open ones.
    case refused
    /// The response's head and the beginning of its body are sent, then the connection is closed.
    case cut
  }

  package var name: String?
  package var upstream: String?
  package var method: String?
  package var path: String?
  /// More conditions, as `request` in a WireMock mapping.
  package var request: JSON?
  package var nth: [Int]?
  package var every: Int?
  package var probability: Double?
  package var limit: Int?
  package var fault: Kind?
  package var afterBytes: Int?
  package var status: Int?
  package var headers: [String: String]?
  package var body: String?
  package var retryAfterSeconds: Int?
  package var delayMilliseconds: Double?
  /// As in a WireMock mapping.
  package var delayDistribution: JSON?
  package var bytesPerSecond: Int?

  package init() {}

  /// Reads an object or its short form.
  ///
  /// - Parameters:
  ///   - json: an object, or a string of comma-separated items, each a kind of fault or a member with its value. `nth`
  ///     may occur more than once.
  ///   - place: the place of the value, for errors.
  /// - Throws: a `CodedError` of kind `broken` for a value that does not fit ``schema``.
  package init(_ json: JSON, at place: String) throws(CodedError) {
    let object = json.string.map { $0.hasPrefix("{") ? JSON(argument: $0) : Self.object(short: $0) } ?? json
    if let problem = Schema.object(Self.schema).problem(with: object, at: place) { throw CodedError(.broken, problem) }
    self = try CodedError.translating(
      at: place, try JSON.decode(Self.self, from: Data(object.encoded()), source: ""))
  }

  /// The object for a string in the short form; its members are not checked.
  private static func object(short text: String) -> JSON {
    var members: [JSON.Member] = []
    for item in text.split(separator: ",") {
      let parts = item.split(separator: "=", maxSplits: 1).map { $0.trimmingPrefix(" ") }
      guard parts.count == 2, let name = parts.first.map(String.init) else {
        members.append(.init("fault", .string(String(parts.first ?? ""))))
        continue
      }
      let value = String(parts[1])
      let isText = ["name", "upstream", "method", "path", "fault", "body"].contains(name)
      let json = isText ? .string(value) : JSON(argument: value)
      if name == "nth", let index = members.firstIndex(where: { $0.key == name }) {
        members[index] = .init(name, .array((members[index].value.array ?? []) + [json]))
      } else {
        members.append(.init(name, name == "nth" ? .array([json]) : json))
      }
    }
    return .object(members)
  }

  /// The schema of the object.
  static let schema = ObjectRule(
    members: [
      .optional("name", .line(1...200), "The name in reports (default: a description of the fault)."),
      .optional("upstream", .line(1...200), "The upstream whose requests are affected (default: all)."),
      .optional("method", .line(1...64), "The method of the requests (default: any)."),
      .optional("path", .line(1...4096), "The path of the requests, such as /orders/{id} (default: any)."),
      .optional("request", .anything, "More conditions: a WireMock request pattern."),
      .optional(
        "nth", .array(of: .integer(1...1_000_000_000), count: 1...1000),
        "Which of the matching requests are affected, counted from 1 (default: all)."),
      .optional("every", .integer(1...1_000_000_000), "Affects every Nth matching request."),
      .optional("probability", .number(0...1), "The probability that a request is affected, drawn from the seed."),
      .optional("limit", .integer(1...1_000_000_000), "The maximum number of requests that are affected."),
      .optional(
        "fault", .text(TextRule(.word(Kind.allCases.map(\.rawValue)), count: 0...64)),
        "How requests fail: no response, a refused, reset or closed connection, or a broken or truncated response."),
      .optional("afterBytes", .integer(0...1 << 40), "For cut: how many bytes of the body are sent (default: half)."),
      .optional("status", .integer(200...599), "The status of a response that replaces the real one."),
      .optional(
        "headers", .map(TextRule(.line, count: 1...200), to: .line(0...8192), atMost: 64),
        "The replacement's header fields."),
      .optional("body", .text(.any, 0...65_536), "The replacement's body (default: a problem document)."),
      .optional("retryAfterSeconds", .integer(0...86_400 * 366), "The replacement's Retry-After, in seconds."),
      .optional("delayMilliseconds", .number(0...86_400_000), "A delay on the environment's timeline."),
      .optional("delayDistribution", .anything, "A random delay, as in WireMock mappings."),
      .optional("bytesPerSecond", .integer(1...1 << 40), "The bandwidth of the response body."),
    ],
    note: "A network or backend fault: which requests it affects, and what happens to them.")
}
