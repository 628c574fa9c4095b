package import Basics
package import HTTPMessages

/// The response of a collection, and what the request changed.
package struct CollectionAnswer: Sendable {
  package var status: Int
  package var headers: Headers
  package var body: [UInt8]
  /// Nil if the request changed nothing.
  package var change: CollectionChange?

  init(_ status: Int, headers: Headers = [:], json: JSON? = nil, change: CollectionChange? = nil) {
    self.status = status
    self.headers = headers
    body = json?.encoded() ?? []
    self.change = change
    if json != nil { self.headers.append("Content-Type", "application/json") }
  }

  /// An error (RFC 9457), with what to do about it.
  ///
  /// - Parameters:
  ///   - status: the status.
  ///   - detail: what happened, and what to do.
  ///   - headers: other header fields.
  ///   - violations: what is wrong with a value, by JSON pointer.
  /// - Returns: the answer.
  static func problem(
    _ status: Int, _ detail: String, headers: Headers = [:], violations: [CollectionViolation] = []
  ) -> CollectionAnswer {
    var members: [JSON.Member] = [
      .init("type", .string("about:blank")), .init("title", .string(titles[status] ?? "Error")),
      .init("status", .int(status)), .init("detail", .string(detail)),
    ]
    if !violations.isEmpty {
      let errors = violations.map {
        JSON.object([JSON.Member("pointer", .string($0.pointer)), JSON.Member("detail", .string($0.detail))])
      }
      members.append(.init("errors", .array(errors)))
    }
    var answer = CollectionAnswer(status, headers: headers)
    answer.headers.append("Content-Type", "application/problem+json")
    answer.body = JSON.object(members).encoded(.pretty) + [0x0A]
    return answer
  }

  private static let titles = [
    400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed", 409: "Conflict", 412: "Precondition Failed",
    413: "Content Too Large", 415: "Unsupported Media Type", 422: "Unprocessable Content", 507: "Insufficient Storage",
  ]
}

/// A part of an item that cannot be stored.
package struct CollectionViolation: Sendable, Equatable {
  /// A JSON pointer into the item (RFC 6901); empty for the whole item.
  package let pointer: String
  package let detail: String
}

/// A change of an item.
package struct CollectionChange: Sendable, Equatable {
  package enum Kind: String, Sendable {
    case created, replaced, patched, removed
  }

  package var kind: Kind
  /// The number of the change among those of all collections, from 1.
  package var number = 0
  /// The name of the collection.
  package let collection: String
  /// The id as text; empty for a single resource.
  package let id: String
  /// The new item, or the removed one.
  package let item: JSON
  /// The item before the change; nil if it was created.
  package let old: JSON?

  /// Its approximate size in bytes of JSON.
  package var size: Int { item.extent.size + (kind == .removed ? 0 : old?.extent.size ?? 0) }
}

/// Why a request to a collection ends early.
enum CollectionRefusal: Error {
  /// The client's mistake.
  case answer(CollectionAnswer)
  /// Anything else, such as a schema that takes too many steps.
  case failure(CodedError)

  static func problem(
    _ status: Int, _ detail: String, headers: Headers = [:], violations: [CollectionViolation] = []
  ) -> Self {
    .answer(.problem(status, detail, headers: headers, violations: violations))
  }
}

/// The conditions of a request on the current version of an item (RFC 9110, 13).
struct CollectionConditions {
  private let ifMatch: [String]?
  private let ifNoneMatch: [String]?

  init(_ headers: Headers) {
    func tags(_ name: String) -> [String]? {
      let values = headers.all(name)
      return values.isEmpty
        ? nil
        : values.flatMap { $0.split(separator: ",") }.map { tag in
          String(tag.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
        }
    }
    ifMatch = tags("If-Match")
    ifNoneMatch = tags("If-None-Match")
  }

  /// The status of the answer that takes the place of performing a request; nil to perform it.
  ///
  /// - Parameters:
  ///   - tag: the ETag of the item; nil if there is none.
  ///   - isRead: whether the method is GET or HEAD.
  /// - Returns: 304, 412 or nil.
  func status(for tag: String?, isRead: Bool) -> Int? {
    if let ifMatch, !ifMatch.contains(where: { tag != nil && ($0 == "*" || $0 == tag) }) { return 412 }
    // The comparison is weak here (RFC 9110, 13.1.2).
    func isSame(_ other: String) -> Bool { (other.hasPrefix("W/") ? String(other.dropFirst(2)) : other) == tag }
    if let ifNoneMatch, ifNoneMatch.contains(where: { tag != nil && ($0 == "*" || isSame($0)) }) {
      return isRead ? 304 : 412
    }
    return nil
  }
}
