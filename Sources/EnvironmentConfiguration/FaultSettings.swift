package import Basics
import Foundation

/// A fault of the network or of a backend: which requests it affects, and what happens to them.
///
/// In JSON it is an object, or a text of the same members in short:
///
/// ```json
/// {"fault": "reset", "path": "/orders", "nth": [1]}
/// "reset,path=/orders,nth=1"
/// ```
package struct FaultSettings: Codable, Sendable, Equatable {
  /// How a request fails.
  package enum Kind: String, Codable, Sendable, CaseIterable {
    /// There is no answer until the client or the environment gives up.
    case timeout
    /// The connection is reset before an answer.
    case reset
    /// The connection is closed without a byte.
    case empty
    /// Bytes that are not HTTP are sent, then the connection is closed.
    case garbage
    /// The head of an answer is sent, then a chunk that is not one.
    case malformedChunk
    /// The upstream's endpoint refuses connections, and resets those that are open.
    case refused
    /// The answer's head and the beginning of its body are sent, then the connection is closed.
    case cut
  }

  package var name: String?
  package var upstream: String?
  package var method: String?
  package var path: String?
  /// More conditions, as `request` in a mapping file of WireMock.
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
  /// As in a mapping file of WireMock.
  package var delayDistribution: JSON?
  package var bytesPerSecond: Int?

  package init() {}

  /// Reads an object or its short form.
  ///
  /// - Parameters:
  ///   - json: an object, or a text: items separated by commas, each a kind of fault or a member with its value. `nth` can
  ///     occur more than once.
  ///   - place: the place of the value, for errors.
  /// - Throws: a `CodedError` of kind `broken` for a value that does not fit ``schema``.
  package init(_ json: JSON, at place: String) throws(CodedError) {
    let object = json.string.map { $0.hasPrefix("{") ? JSON(argument: $0) : Self.object(short: $0) } ?? json
    if let problem = Schema.object(Self.schema).problem(with: object, at: place) { throw CodedError(.broken, problem) }
    self = try CodedError.translating(
      at: place, try JSON.decode(Self.self, from: Data(object.encoded()), source: ""))
  }

  /// The object that a text in the short form stands for; its members are not checked.
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
      .optional("name", .line(1...200), "Its name in reports (default: what it does)."),
      .optional("upstream", .line(1...200), "The upstream whose requests it affects (default: all)."),
      .optional("method", .line(1...64), "The method of the requests (default: any)."),
      .optional("path", .line(1...4096), "The path of the requests, such as /orders/{id} (default: any)."),
      .optional("request", .anything, "More conditions, as request in WireMock's mappings."),
      .optional(
        "nth", .array(of: .integer(1...1_000_000_000), count: 1...1000),
        "Which of these requests it affects, counted from 1 (default: all)."),
      .optional("every", .integer(1...1_000_000_000), "It affects every Nth of these requests."),
      .optional("probability", .number(0...1), "How likely it affects a request, drawn from the seed."),
      .optional("limit", .integer(1...1_000_000_000), "How many requests it affects at most."),
      .optional(
        "fault", .text(TextRule(.word(Kind.allCases.map(\.rawValue)), count: 0...64)),
        "How the request fails: no answer, a refused, reset or closed connection, an answer that is broken or cut off."),
      .optional("afterBytes", .integer(0...1 << 40), "For cut: how much of the body is sent (default: half)."),
      .optional("status", .integer(200...599), "The status of an answer in place of the real one."),
      .optional(
        "headers", .map(TextRule(.line, count: 1...200), to: .line(0...8192), atMost: 64), "Its header fields."),
      .optional("body", .text(.any, 0...65_536), "Its body (default: a problem document)."),
      .optional("retryAfterSeconds", .integer(0...86_400 * 366), "Its Retry-After."),
      .optional("delayMilliseconds", .number(0...86_400_000), "A delay on the environment's timeline."),
      .optional("delayDistribution", .anything, "A random delay, as in WireMock's mappings."),
      .optional("bytesPerSecond", .integer(1...1 << 40), "The bandwidth of the answer's body."),
    ],
    note: "A fault of the network or of a backend: which requests it affects, and what happens to them.")
}
